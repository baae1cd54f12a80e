"""The warm engine with real Ansible: what it forks from, what it notices, and what a run does when parts die."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from runner.config.watches import Engine
from runner.errors import RunError
from runner.execute.executor import Executor
from runner.kube.clock import boottime
from tests.fixtures.ansible_release import only_where_warm
from tests.fixtures.engine import children, of_runs, serving, waiting
from tests.fixtures.waiting import until
from tests.fixtures.warm import PATIENCE, Bench, MarkedExecutor

pytestmark = [only_where_warm, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def executor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MarkedExecutor]:
    """For all tests that need no executor with a life of its own."""
    executor = MarkedExecutor(tmp_path_factory.mktemp("executor"))
    yield executor
    await executor.close()
    assert executor.processes() == set()


@pytest_asyncio.fixture(loop_scope="module")
async def warm(tmp_path: Path, executor: MarkedExecutor) -> AsyncIterator[Bench]:
    """Its zygotes are ready; tests may kill them, for the next test gets others."""
    await executor.warm_up()
    bench = Bench(tmp_path, executor)
    yield bench
    await bench.close()


@pytest_asyncio.fixture(loop_scope="module")
async def own(tmp_path: Path) -> AsyncIterator[Bench]:
    """With an executor of its own, whose zygotes are not started."""
    bench = Bench(tmp_path, MarkedExecutor(tmp_path / "runner"))
    yield bench
    await bench.close()
    await bench.executor.close()


async def test_a_run_says_that_it_was_warm(warm: Bench) -> None:
    outcome = await warm.run("- debug:")
    assert (outcome.succeeded, outcome.engine, outcome.why_cold) == (True, Engine.WARM, "")
    assert warm.artifact("engine") == "warm"


async def test_a_run_may_ask_to_be_cold(warm: Bench) -> None:
    outcome = await warm.run("- debug:", engine=Engine.COLD)
    assert (outcome.succeeded, outcome.engine, outcome.why_cold) == (True, Engine.COLD, "")


async def test_a_run_that_cannot_be_warm_is_cold_and_says_why(warm: Bench) -> None:
    await warm.run("- debug:")
    (warm.run_directory / "project/ansible.cfg").touch()
    outcome = await warm.run("- debug:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.COLD)
    assert "ansible.cfg" in outcome.why_cold
    assert warm.artifact("engine") == f"cold: {outcome.why_cold}"


async def test_a_run_that_waits_for_its_processes_has_the_time_that_was_granted_meanwhile(own: Bench) -> None:
    """As a leader grants it with each renewal of its lease, while what runs are forked from is still starting."""

    async def grant() -> None:
        while True:
            own.executor.extend(boottime() + 1.0)
            await asyncio.sleep(0.1)

    granting = asyncio.create_task(grant())
    outcome = await own.run("- pause: {seconds: 1}")
    granting.cancel()
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


async def test_what_lies_in_the_directory_of_all_runs_is_neither_imported_nor_read(own: Bench) -> None:
    """Whoever could put something there would have it run by the processes that all runs are forked from."""
    runner, imported = own.executor.root, own.directory / "imported"
    (runner / ".zygotes").mkdir(parents=True)
    for place in (runner, runner / ".zygotes"):
        (place / "dataclasses.py").write_text(f"open('{imported}', 'w')")
        (place / "ansible.cfg").write_text("[defaults]\nnonsense")
    outcome = await own.run("- ping:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)
    assert not imported.exists()


LATE = """#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

AnsibleModule({}).exit_json()
"""


async def test_collections_are_found_in_a_directory_that_appears_while_runs_are_warm(tmp_path: Path) -> None:
    executor = MarkedExecutor(tmp_path / "runner", {"HOME": str(tmp_path / "home")})
    bench = Bench(tmp_path, executor)
    try:
        assert (await bench.run("- debug:")).succeeded
        modules = tmp_path / "home/.ansible/collections/ansible_collections/my/own/plugins/modules"
        modules.mkdir(parents=True)
        (modules / "late.py").write_text(LATE)
        outcome = await bench.run("- my.own.late:")
    finally:
        await executor.close()
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


async def test_a_run_that_can_be_neither_warm_nor_cold_fails_and_says_why(warm: Bench) -> None:
    await warm.run("- debug:")
    (warm.run_directory / "project/ansible.cfg").touch()
    with pytest.raises(RunError, match=r"cannot be warm.*ansible\.cfg"):
        await warm.run("- debug:", engine=Engine.WARM)


async def test_modules_are_forked_and_not_started(warm: Bench) -> None:
    shown = "- shell: cat /proc/$PPID/stat\n  register: module\n"
    outcome = await warm.run(shown + "- set_stats: {data: {stat: '{{ module.stdout }}'}}")
    assert outcome.succeeded
    parent = int(str(outcome.data["stat"]).rpartition(")")[2].split()[1])
    assert parent in children(warm.modules)


async def test_a_killed_zygote_of_plays_is_replaced(warm: Bench) -> None:
    os.kill(warm.plays, signal.SIGKILL)
    outcome = await warm.run("- debug:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


async def test_a_killed_zygote_of_modules_is_replaced(warm: Bench) -> None:
    os.kill(warm.modules, signal.SIGKILL)
    outcome = await warm.run("- ping:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_runs_are_warm_again_soon_after_a_zygote_was_killed_while_it_started(
    own: Bench, zygote: str
) -> None:
    starting = asyncio.create_task(own.executor.warm_up())
    await until(lambda: starting_zygote(own, zygote))
    os.kill(starting_zygote(own, zygote), signal.SIGKILL)
    with pytest.raises(RunError, match="cannot start"):
        await starting

    async with asyncio.timeout(PATIENCE):
        while (await own.run("- debug:")).engine is not Engine.WARM:
            pass


def starting_zygote(own: Bench, kind: str) -> int:
    """The id of the process that is to be this one, 0 while there is none; the executor tells when it is ready."""
    for pid in own.executor.processes():
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if kind in command and "-c" in command:
                return pid
    return 0


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_a_run_outlives_the_zygotes_it_came_from(warm: Bench, zygote: str) -> None:
    begun, go_on = warm.directory / "begun", warm.directory / "go-on"
    tasks = f"- file: {{path: {begun}, state: touch}}\n- wait_for: {{path: {go_on}, sleep: 1}}\n- ping:"
    run = asyncio.create_task(warm.run(tasks))
    await until(begun.exists)
    os.kill(getattr(warm, zygote), signal.SIGKILL)
    go_on.touch()
    assert (await run).succeeded


HANGING = "- shell: echo x >> {ledger}; touch {begun}; sleep 1000"


@pytest.mark.parametrize("which", ["supervisor", "play", "host", "module"])
async def test_a_run_that_loses_a_process_fails_once_and_leaves_nothing(warm: Bench, which: str) -> None:
    """The task ran once, the object can be run again, and every process of the run is gone."""
    ledger, begun = warm.directory / "ledger", warm.directory / "begun"
    run = asyncio.create_task(warm.run(HANGING.format(ledger=ledger, begun=begun)))
    await until(begun.exists)
    plays, modules = serving(warm.plays), serving(warm.modules)
    victim = {
        "supervisor": plays[0],
        "play": plays[1],
        "host": modules[0],
        "module": modules[1],
    }
    os.kill(victim[which], signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        outcome = await run
    await until(lambda: not of_runs(warm.executor.zygotes))
    assert not outcome.succeeded
    assert ledger.read_text() == "x\n"
    assert (await warm.run("- ping:")).succeeded


async def test_a_worker_that_is_killed_fails_the_run(warm: Bench) -> None:
    """A task with a timeout has a worker of its own."""
    ledger, begun = warm.directory / "ledger", warm.directory / "begun"
    run = asyncio.create_task(warm.run(HANGING.format(ledger=ledger, begun=begun) + "\n  timeout: 900"))
    await until(begun.exists)
    os.kill(serving(warm.plays)[2], signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        outcome = await run
    await until(lambda: not of_runs(warm.executor.zygotes))
    assert not outcome.succeeded
    assert ledger.read_text() == "x\n"


async def test_what_a_module_leaves_behind_ends_with_the_run(warm: Bench) -> None:
    left = warm.directory / "left"
    outcome = await warm.run(
        f"- shell: setsid sh -c 'echo $$ > {left}; exec sleep 1000' > /dev/null 2>&1 &\n"
        f"- wait_for: {{path: {left}}}"
    )
    assert outcome.succeeded
    assert not Path(f"/proc/{left.read_text().strip()}").exists()


async def test_a_module_that_crashes_takes_down_itself_only(warm: Bench) -> None:
    outcome = await warm.run(
        "- command: 'true'\n  environment: {A: b}\n"
        "- shell: kill -SEGV $PPID\n  ignore_errors: true\n  register: crash\n"
        "- ping:\n- set_stats: {data: {rc: '{{ crash.rc }}'}}"
    )
    assert outcome.succeeded
    assert outcome.data["rc"] in (139, "139")


async def test_runs_do_not_see_each_others_environment(warm: Bench) -> None:
    with_it = "- command: printenv ONLY_ONE\n  environment: {ONLY_ONE: here}\n"
    without = "- command: printenv ONLY_ONE\n  register: other\n  failed_when: other.rc == 0"
    assert (await warm.run(with_it + without)).succeeded
    assert (await warm.run(without)).succeeded


async def test_no_descriptor_of_the_engine_is_seen_by_a_module(warm: Bench) -> None:
    shown = "- command: ls -l /proc/self/fd\n  register: fds\n- set_stats: {data: {fds: '{{ fds.stdout_lines }}'}}"
    warm_ones = (await warm.run(shown)).data["fds"]
    cold_ones = (await warm.run(shown, engine=Engine.COLD)).data["fds"]
    assert len(warm_ones) == len(cold_ones)


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_a_process_that_has_served_a_run_serves_the_next_one(warm: Bench, zygote: str) -> None:
    await warm.run("- ping:")  # what this module is has to be found out once
    await warm.run("- ping:")
    before = children(getattr(warm, zygote))
    await warm.run("- ping:")
    assert children(getattr(warm, zygote)) == before
    assert len(before) == 1


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_a_process_that_was_killed_while_it_waited_is_not_asked(warm: Bench, zygote: str) -> None:
    await warm.run("- ping:")
    for pid in waiting({getattr(warm, zygote)}):
        os.kill(pid, signal.SIGKILL)
    outcome = await warm.run("- ping:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


async def test_modules_of_a_sibling_stand_back_as_its_plays_do(warm: Bench, tmp_path: Path) -> None:
    told = tmp_path / "nice"
    run = warm.a_run(f"- ansible.builtin.shell: nice >> {told}\n")
    sibling = Executor(tmp_path / "sibling", warm.executor.environment, sibling=warm.executor)
    try:
        for executor in (warm.executor, sibling, warm.executor):
            assert (await executor.run(run, lambda *_: None)).succeeded
    finally:
        await sibling.close()
    usual, stands_back, again = (int(line) for line in told.read_text().split())
    assert (stands_back, again) == (min(usual + 10, 19), usual)


async def test_few_processes_wait_for_runs(own: Bench) -> None:
    """However many there were at once."""
    await own.run("- ping:")
    gate = own.directory / "gate"
    runs = [
        asyncio.create_task(
            own.run(f"- wait_for: {{path: {gate}, sleep: 1}}", key=replace(own.key, name=f"run-{number}"))
        )
        for number in range(10)
    ]
    await until(lambda: len(children(own.plays)) == 10)
    gate.touch()
    assert all(outcome.succeeded for outcome in await asyncio.gather(*runs))
    await until(lambda: len(children(own.plays)) <= 8 and len(children(own.modules)) <= 8)


async def test_waiting_processes_end_with_the_engine(own: Bench) -> None:
    await own.run("- ping:")
    left = waiting(own.executor.zygotes)
    await own.executor.close()
    assert left
    assert not any(Path(f"/proc/{pid}").exists() for pid in left)


async def test_many_runs_leave_nothing(warm: Bench) -> None:
    def state() -> tuple[int, int]:
        descriptors = sum(
            len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), *warm.executor.zygotes)
        )
        temporary = len(list((warm.executor.root / ".tmp").rglob("*")))
        return descriptors, temporary

    for _ in range(3):
        await warm.run("- ping:\n- command: 'true'")
    await until(lambda: not of_runs(warm.executor.zygotes))
    before = state()
    for _ in range(20):
        await warm.run("- ping:\n- command: 'true'")
    await until(lambda: all(now <= then for now, then in zip(state(), before, strict=True)))
