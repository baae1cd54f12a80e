"""Both executors with real Ansible and no cluster: each ending of a run, and that nothing outlives it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from runner.config.watches import Content, Engine
from runner.errors import RunError
from runner.execute.budget import Limits
from runner.execute.executor import Executor
from runner.execute.outcome import Ending
from runner.execute.run import Event, Run
from tests.fixtures.ansible_release import only_where_warm
from tests.fixtures.marks import mark
from tests.fixtures.waiting import until
from tests.fixtures.warm import Bench, MarkedExecutor

pytestmark = pytest.mark.asyncio(loop_scope="module")
ENGINES = [Engine.COLD, pytest.param(Engine.WARM, marks=only_where_warm)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def executor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MarkedExecutor]:
    """For all tests that need no executor with its own limits, environment or directory."""
    executor = MarkedExecutor(tmp_path_factory.mktemp("executor"))
    yield executor
    await executor.close()
    assert executor.processes() == set()


@pytest_asyncio.fixture(loop_scope="module", params=ENGINES)
async def bench(tmp_path: Path, executor: MarkedExecutor, request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path, executor, request.param)
    yield bench
    await bench.close()


Own = Callable[..., Bench]


@pytest_asyncio.fixture(loop_scope="module", params=ENGINES)
async def own(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Own]:
    """Makes a bench with an executor of its own, for runs with more environment than is usual."""
    benches: list[Bench] = []

    def make(limits: Limits | None = None, **environment: str) -> Bench:
        executor = MarkedExecutor(tmp_path / "runner", environment, limits)
        benches.append(Bench(tmp_path, executor, request.param))
        return benches[-1]

    yield make
    for bench in benches:
        await bench.close()
        await bench.executor.close()


async def test_a_successful_run_says_what_it_did(bench: Bench) -> None:
    outcome = await bench.run("- set_stats: {data: {answer: 42}}\n- command: 'true'")

    assert outcome.succeeded
    assert outcome.stats is not None
    assert (outcome.stats.ok, outcome.stats.changed, outcome.stats.failures) == (2, 1, 0)
    assert outcome.data == {"answer": 42}


async def test_events_come_in_order_while_the_run_goes_on(bench: Bench) -> None:
    go_on = bench.directory / "go-on"
    task = asyncio.create_task(bench.run(f"- debug: {{msg: first}}\n- wait_for: {{path: {go_on}, sleep: 1}}"))
    await until(lambda: any(event["event"] == "runner_on_ok" for event in bench.events))
    assert not task.done()
    go_on.touch()
    await task

    counters = [event["counter"] for event in bench.events]
    assert counters == list(range(1, len(counters) + 1))


LARGE = {"text": "x" * 900_000, "list": ["y" * 99] * 1000}
PRINTED = "\n".join(f"- debug: {{msg: '{{{{ text }}}} {number}'}}" for number in range(4))


def most_verbose(bench: Bench) -> int:
    """Warm runs have at most 2."""
    return 7 if bench.engine is Engine.COLD else 2


async def test_artifacts_of_runs_with_large_specs_at_verbosity_7_stay_within_the_limits(own: Own) -> None:
    bench = own(Limits(32 << 20, 12 << 20))
    root = bench.directory / "runner"
    for number in range(3):
        for name in ("one", "two", "three"):
            key = replace(bench.key, name=name)
            run = bench.a_run(PRINTED, verbosity=most_verbose(bench), max_artifacts=100, extra_vars=LARGE, key=key)
            assert (await bench.executor.run(run)).succeeded
            newest = root / f"cache.example.com/v1/Memcached/default/{name}/artifacts/{run.ident}"
            assert json.loads((newest / "run.json").read_text())["result"] == "succeeded"
            used = [path.lstat().st_blocks * 512 for path in root.rglob("*")]
            assert sum(used) < 32 << 20, (number, name)
            assert bench.executor.budget.bytes < 32 << 20
    await bench.executor.forget(replace(bench.key, name="three"))
    before = bench.executor.budget.bytes
    await bench.executor.forget(replace(bench.key, name="two"))
    assert bench.executor.budget.bytes < before


async def test_run_that_writes_more_than_its_object_may_have_succeeds_and_says_what_was_left_out(
    own: Own,
) -> None:
    bench = own(Limits(0, 5 << 20))
    outcome = await bench.run(PRINTED, verbosity=most_verbose(bench), extra_vars=LARGE)

    assert outcome.succeeded
    assert len([event for event in bench.events if event["event"] == "runner_on_ok"]) == 4
    assert json.loads(bench.artifact("run.json"))["leftOut"] > 0
    assert "more characters were left out" in bench.artifact("stdout")[-200:]
    assert sum(path.lstat().st_size for path in bench.run_directory.rglob("*")) < 7 << 20


async def test_the_artifacts_are_those_of_ansible_runner(bench: Bench) -> None:
    await bench.run("- debug: {msg: hello}")

    latest = bench.run_directory / "artifacts/latest"
    names = {path.name for path in latest.iterdir()}
    assert names >= {"command", "stdout", "stderr", "rc", "status", "job_events"}
    assert (bench.artifact("rc"), bench.artifact("status")) == ("0", "successful")
    assert "hello" in bench.artifact("stdout")
    assert len(list((latest / "job_events").glob("*.json"))) == len(bench.events)
    assert latest.readlink().is_absolute()


async def test_the_command_is_the_one_the_go_operator_leads_to(bench: Bench) -> None:
    run = bench.a_run("- debug:", ansible_args="'--tags all'", verbosity=1, extra_vars={"a": 1})
    await bench.executor.run(run, lambda *_: None)

    command = json.loads(bench.artifact("command"))
    directory = str(bench.run_directory)
    assert Path(command["command"][0]).name == "ansible-playbook"
    assert command["command"][1:] == [
        *("--tags", "all"),
        *("-i", f"{directory}/inventory"),
        *("-e", f"@{directory}/env/extravars"),
        "-v",
        str(run.content.path),
    ]
    assert command["cwd"] == f"{directory}/project"
    assert command["env"]["KUBECONFIG"] == command["env"]["K8S_AUTH_KUBECONFIG"] == f"{directory}/kubeconfig"


async def test_a_role_runs_from_wherever_it_is(tmp_path: Path, own: Own) -> None:
    role, other = tmp_path / "roles/web", tmp_path / "others/helper"
    for path, tasks in ((role, "- include_role: {name: helper}"), (other, "- debug: {msg: 'helped {{ size }}'}")):
        (path / "tasks").mkdir(parents=True)
        (path / "tasks/main.yml").write_text(tasks)
    bench = own(ANSIBLE_ROLES_PATH=str(other.parent))
    outcome = await bench.run("", content=Content(role, is_role=True), gather_facts=False, extra_vars={"size": 3})

    assert outcome.succeeded
    assert "helped 3" in bench.artifact("stdout")
    assert list((bench.run_directory / "project").iterdir()) == []


async def test_a_failed_task_fails_the_run(bench: Bench) -> None:
    outcome = await bench.run("- fail: {msg: no such luck}")

    assert not outcome.succeeded
    assert outcome.messages == ("no such luck",)
    assert (outcome.return_code, bench.artifact("status")) == (2, "failed")


async def test_an_ignored_failure_is_none(bench: Bench) -> None:
    outcome = await bench.run("- fail: {msg: never mind}\n  ignore_errors: true")

    assert outcome.succeeded


RESCUED = """
- block: [{fail: {msg: rescued}}]
  rescue: [{debug: {msg: to the rescue}}]
"""


async def test_a_rescued_failure_is_none(bench: Bench) -> None:
    outcome = await bench.run(RESCUED)

    assert outcome.succeeded


async def test_a_rescued_failure_fails_the_run_where_that_is_asked_for(bench: Bench) -> None:
    outcome = await bench.run(RESCUED, rescued_tasks_fail=True)

    assert outcome.messages == ("rescued",)


async def test_only_the_failure_that_nothing_rescued_is_reported(bench: Bench) -> None:
    nested = """
- block:
    - block: [{fail: {msg: inner}}]
      rescue: [{fail: {msg: in the inner rescue}}]
  rescue: [{debug: {msg: outer rescue}}]
- block: [{fail: {msg: the cause}}]
  always: [{debug: {msg: always}}]
"""
    outcome = await bench.run(RESCUED + nested.lstrip("\n"))

    assert outcome.messages == ("the cause",)


async def test_a_failure_within_a_rescue_is_one(bench: Bench) -> None:
    outcome = await bench.run("- block: [{fail: {msg: first}}]\n  rescue: [{fail: {msg: second}}]")

    assert outcome.messages == ("second",)


async def test_an_unreachable_host_fails_the_run(bench: Bench) -> None:
    outcome = await bench.run(
        "- ping:\n  delegate_to: 127.0.0.1\n  vars: {ansible_connection: ssh, ansible_port: 1}"
    )

    assert not outcome.succeeded
    assert outcome.unreachable
    assert outcome.messages


async def test_an_unreachable_host_that_is_ignored_is_none(bench: Bench) -> None:
    outcome = await bench.run(
        "- ping:\n  ignore_unreachable: true\n  vars: {ansible_connection: ssh, ansible_port: 1}"
    )

    assert outcome.succeeded


async def test_a_playbook_that_cannot_be_parsed_leaves_no_stats_but_says_why(bench: Bench) -> None:
    outcome = await bench.run("- no_such_module: [")

    assert outcome.stats is None
    assert not outcome.succeeded
    assert "ERROR" in outcome.tail


async def test_what_no_log_hides_stays_hidden(bench: Bench) -> None:
    looped = "- debug: {msg: '{{ item }}'}\n  loop: ['{{ password }}']\n  no_log: true"
    failed = "- fail: {msg: '{{ password }}'}\n  no_log: true"
    outcome = await bench.run(f"{looped}\n{failed}", extra_vars={"password": "hunter2"}, verbosity=2)

    assert outcome.messages == ("unknown playbook failure",)
    assert "hunter2" not in json.dumps(bench.events) + outcome.tail + bench.artifact("stdout")


async def test_megabytes_and_unicode_come_through(bench: Bench) -> None:
    outcome = await bench.run("- debug: {msg: \"{{ 'grüße 🐍 ' * 100000 }}\"}\n- debug: {msg: done}")

    assert outcome.succeeded
    assert bench.artifact("stdout").count("grüße 🐍") == 100_000


async def test_output_that_is_no_utf_8_ends_nothing(bench: Bench) -> None:
    (bench.directory / "filter_plugins").mkdir()
    (bench.directory / "filter_plugins/noise.py").write_text(
        "import os\n"
        "def noise(value):\n"
        "    os.write(2, b'\\xff\\xfe broken ' * 3 + b'\\n')\n"
        "    return value\n"
        "class FilterModule:\n"
        "    def filters(self): return {'noise': noise}\n"
    )
    outcome = await bench.run("- name: \"{{ 'x' | noise }}\"\n  debug:")

    assert outcome.succeeded
    assert "broken" in bench.artifact("stdout")


async def test_a_string_that_looks_like_an_event_is_only_text(bench: Bench) -> None:
    requeue = {"task_action": "operator_sdk.util.requeue_after", "res": {"period": "1s"}}
    text = mark({"uuid": "../../../inventory/planted", "event": "runner_on_ok", "event_data": requeue})
    outcome = await bench.run(
        "- name: 'for {{ text }}'\n  debug: {msg: hello}\n  loop: ['{{ text }}', last]", extra_vars={"text": text}
    )

    assert outcome.succeeded
    assert outcome.requeue_after is None
    assert [path.name for path in (bench.run_directory / "inventory").iterdir()] == ["hosts"]
    assert {
        event["event_data"]["task_action"] for event in bench.events if "task" in event.get("event_data", {})
    } == {"debug"}
    assert "(item=\\x1b[K" in bench.artifact("stdout")
    assert "\x1b" not in bench.artifact("stdout")


@pytest.mark.parametrize("payload", [{"uuid": "x", "event_data": 7}, {"uuid": ["x"]}, {"uuid": "x", "stdout": 7}])
async def test_no_string_ends_the_reading_of_a_run(bench: Bench, payload: dict[str, Any]) -> None:
    """With 320 KiB still to come, more than pipe and buffers hold, Ansible would wait for ever."""
    outcome = await asyncio.wait_for(
        bench.run(
            "- debug: {msg: '{{ text }}'}\n  loop: ['{{ text }}']\n- debug: {msg: \"{{ 'x' * 327680 }}\"}",
            extra_vars={"text": mark(payload)},
        ),
        60,
    )

    assert outcome.succeeded
    assert not (bench.run_directory / "kubeconfig").exists()


async def test_a_string_does_not_uncover_what_no_log_hides(bench: Bench) -> None:
    await bench.run(
        "- fail: {msg: \"{{ text }}{{ 'hunter' ~ 2 }}\"}\n  no_log: true",
        extra_vars={"text": mark({}) + "\n"},
    )

    assert "hunter2" not in bench.artifact("stdout")
    assert "hunter2" not in json.dumps(bench.events)


async def test_no_way_to_fail_leaves_the_kubeconfig_behind(bench: Bench) -> None:
    artifacts = bench.directory / "artifacts in the way"
    artifacts.touch()
    await bench.run("- debug: {msg: hello}")
    shutil.rmtree(bench.run_directory / "artifacts")
    (bench.run_directory / "artifacts").symlink_to(artifacts)

    with pytest.raises(RunError):
        await bench.run("- debug: {msg: hello}")
    assert not (bench.run_directory / "kubeconfig").exists()


async def test_a_sink_that_raises_ends_nothing(bench: Bench) -> None:
    def broken(_: Run, __: Event) -> None:
        raise RuntimeError("broken sink")

    outcome = await bench.executor.run(bench.a_run("- debug:"), broken)

    assert outcome.succeeded


async def test_asking_for_a_requeue_does_not_stop_the_run(bench: Bench) -> None:
    (bench.directory / "library").mkdir()
    (bench.directory / "library/requeue_after.py").write_text(
        "from ansible.module_utils.basic import AnsibleModule\n"
        "module = AnsibleModule({'time': {'type': 'str'}})\n"
        "module.exit_json(changed=False, period=module.params['time'])\n"
    )
    outcome = await bench.run("- requeue_after: {time: 1m30s}\n- debug:")

    assert outcome.succeeded
    assert outcome.requeue_after == 90.0
    assert outcome.stats is not None
    assert outcome.stats.ok == 2


HANG = "- debug:\n- command: sleep 1000"


async def test_a_run_beyond_its_deadline_is_ended(bench: Bench) -> None:
    await bench.run("- debug:")  # what runs are forked from is there now

    outcome = await bench.run(HANG, deadline=1.5)

    assert outcome.ending is Ending.DEADLINE
    assert "deadline of 1.5 seconds" in outcome.tail
    assert bench.artifact("status") == "timeout"
    assert bench.executor.processes() == set()


async def test_cancelling_ends_even_what_left_its_session_and_its_parent(bench: Bench) -> None:
    stray = bench.directory / "stray"
    escape = f"setsid sh -c '(trap \"\" TERM; echo $$ >{stray}; while :; do sleep 1; done) & exit' & sleep 1000"
    task = asyncio.create_task(bench.run(f"- shell: |\n    {escape}"))
    await until(stray.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert bench.executor.processes() == set()
    assert bench.artifact("status") == "canceled"
    assert not (bench.run_directory / "kubeconfig").exists()


async def test_a_daemon_ends_with_the_run_that_started_it(bench: Bench) -> None:
    outcome = await bench.run("- command: sleep 1000\n  async: 2000\n  poll: 0")

    assert outcome.succeeded
    assert bench.executor.processes() == set()


async def test_cancelled_at_any_moment_a_run_leaves_nothing(bench: Bench) -> None:
    for turns in (0, 1, 2, 5, 20):
        task = asyncio.create_task(bench.run(HANG))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bench.executor.processes() == set()
        assert not (bench.run_directory / "kubeconfig").exists()


OPERATOR = """
import asyncio, sys
from pathlib import Path
from runner.execute.run import Run
from runner.execute.executor import Executor
from runner.objects import GroupVersionKind, ObjectKey
from runner.config.watches import Content, Engine
directory, playbook = map(Path, sys.argv[1:3])
key = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "default", sys.argv[4])
content = Content(playbook, is_role=False)
run = Run("killed", key, "uid", content, {}, "kubeconfig text", engine=Engine(sys.argv[3]))
asyncio.run(Executor(directory).run(run, lambda *_: None))
"""


async def test_the_runs_of_a_killed_operator_end_and_the_next_one_waits_for_that(bench: Bench) -> None:
    started = bench.directory / "started"
    stubborn = f"- shell: |\n    trap '' TERM; touch {started}; while :; do sleep 1; done"
    playbook = bench.a_run(stubborn).content.path
    operator = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OPERATOR, str(bench.directory / "runner"), str(playbook), bench.engine),
        bench.key.name,
        env={**os.environ, **bench.executor.environment},
    )
    await until(started.exists)
    operator.kill()
    await operator.wait()
    assert len(bench.executor.processes()) > 1

    left: list[int] = []
    next_executor = Executor(bench.directory / "runner")
    outcome = await next_executor.run(bench.a_run("- debug:"), lambda *_: left.extend(bench.executor.processes()))
    await next_executor.close()

    assert outcome.succeeded
    assert left == []


async def test_two_runs_of_one_object_never_overlap(bench: Bench) -> None:
    spans: list[str] = []

    async def one(name: str) -> None:
        run = bench.a_run("- debug:")
        await bench.executor.run(run, lambda *_: spans.append(name))

    await asyncio.gather(one("a"), one("b"))

    assert spans == sorted(spans) or spans == sorted(spans, reverse=True)


async def test_of_the_artifacts_the_newest_stay(bench: Bench) -> None:
    first, second = (bench.a_run("- meta: noop", max_artifacts=1) for _ in range(2))
    await bench.executor.run(first, lambda *_: None)
    await bench.executor.run(second, lambda *_: None)

    assert {path.name for path in (bench.run_directory / "artifacts").iterdir()} == {second.ident, "latest"}


async def test_when_memory_runs_out_the_run_is_killed_before_the_operator(bench: Bench) -> None:
    await bench.run("- command: cat /proc/self/oom_score_adj\n  register: own\n- debug: {var: own.stdout}")

    (shown,) = (
        event["event_data"]["res"]["own.stdout"]
        for event in bench.events
        if "own.stdout" in str(event.get("event_data", {}).get("res", {}))
    )
    assert int(shown) > int(Path("/proc/self/oom_score_adj").read_text())


async def test_a_run_that_runs_out_of_memory_fails_alone(bench: Bench) -> None:
    (bench.directory / "filter_plugins").mkdir()
    (bench.directory / "filter_plugins/greedy.py").write_text(
        "import resource\n"
        "def greedy(size):\n"
        "    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "    return len('x' * size)\n"
        "class FilterModule:\n"
        "    def filters(self): return {'greedy': greedy}\n"
    )
    refused = await bench.run("- debug: {msg: '{{ (2**30) | greedy }}'}")
    (bench.directory / "filter_plugins/greedy.py").unlink()
    after = await bench.run("- debug: {msg: \"{{ ('x' * 2**30) | length }}\"}")

    assert (refused.succeeded, after.succeeded) == (False, True)


async def test_all_that_is_written_is_private(bench: Bench) -> None:
    previous = os.umask(0)
    try:
        await bench.run("- debug:")
    finally:
        os.umask(previous)

    written = list(bench.run_directory.rglob("*"))
    ours = [path for path in written if not path.is_symlink() and path.name != "fact_cache"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in ours if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in ours if path.is_dir()} == {0o700}


async def test_secrets_are_no_arguments(bench: Bench) -> None:
    await bench.run("- debug:", extra_vars={"password": "hunter2"})

    command = json.loads(bench.artifact("command"))
    assert "hunter2" not in " ".join(command["command"])


async def test_a_run_that_cannot_start_says_what_to_do(tmp_path: Path, own: Own) -> None:
    bench = own(ANSIBLE_INVENTORY=str(tmp_path / "missing"))

    with pytest.raises(RunError, match=r"ANSIBLE_INVENTORY names .*missing"):
        await bench.run("- debug:")


async def test_arguments_that_no_shell_understands_are_refused(bench: Bench) -> None:
    with pytest.raises(RunError, match="No closing quotation"):
        await bench.run("- debug:", ansible_args='--tags "')

    assert not (bench.run_directory / "kubeconfig").exists()


async def test_forgetting_an_object_removes_its_directory_and_the_parents_it_empties(own: Own) -> None:
    bench = own()
    await bench.run("- meta: noop")
    await bench.executor.forget(bench.key)

    of_all_runs = bench.directory / "runner/.zygotes"
    assert [path for path in (bench.directory / "runner").iterdir() if path != of_all_runs] == []


async def test_forgetting_waits_for_the_run(bench: Bench) -> None:
    task = asyncio.create_task(bench.run("- debug:"))
    await until(lambda: bench.events)
    await bench.executor.forget(bench.key)

    assert task.done()
    assert (await task).succeeded
