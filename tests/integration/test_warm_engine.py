"""The warm engine with real Ansible: what it forks from, what it notices, and what a run does when parts die."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from runner.config.watches import Engine
from runner.errors import RunError
from runner.execute.executor import Executor
from runner.execute.fork.inside.supervisor import descendants
from runner.kube.clock import boottime
from tests.fixtures.ansible_release import only_where_warm
from tests.fixtures.engine import children, of_runs, waiting
from tests.fixtures.waiting import until
from tests.fixtures.warm import KEY, PATIENCE, Warm

pytestmark = only_where_warm


@pytest.fixture
async def warm(tmp_path: Path) -> AsyncIterator[Warm]:
    warm = Warm(tmp_path)
    await warm.executor.warm_up()
    yield warm
    await warm.executor.close()


async def test_a_run_says_that_it_was_warm(warm: Warm) -> None:
    outcome = await warm.run("- debug:")
    assert (outcome.succeeded, outcome.engine, outcome.why_cold) == (True, Engine.WARM, "")
    assert warm.artifact("engine") == "warm"


async def test_a_run_may_ask_to_be_cold(warm: Warm) -> None:
    outcome = await warm.run("- debug:", engine=Engine.COLD)
    assert (outcome.succeeded, outcome.engine, outcome.why_cold) == (True, Engine.COLD, "")


async def test_a_run_that_cannot_be_warm_is_cold_and_says_why(warm: Warm) -> None:
    await warm.run("- debug:")
    project = warm.directory / "runner/cache.example.com/v1/Memcached/default/one/project"
    (project / "ansible.cfg").touch()
    outcome = await warm.run("- debug:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.COLD)
    assert "ansible.cfg" in outcome.why_cold
    assert warm.artifact("engine") == f"cold: {outcome.why_cold}"


async def test_a_run_that_waits_for_its_processes_has_the_time_that_was_granted_meanwhile(tmp_path: Path) -> None:
    """As a leader grants it with each renewal of its lease, while what runs are forked from is still starting."""
    warm = Warm(tmp_path)

    async def grant() -> None:
        while True:
            warm.executor.extend(boottime() + 0.6)
            await asyncio.sleep(0.1)

    granting = asyncio.create_task(grant())
    outcome = await warm.run("- pause: {seconds: 1}")
    granting.cancel()
    await warm.executor.close()
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


async def test_what_lies_in_the_directory_of_all_runs_is_neither_imported_nor_read(tmp_path: Path) -> None:
    """Whoever could put something there would have it run by the processes that all runs are forked from."""
    runner = tmp_path / "runner"
    (runner / ".zygotes").mkdir(parents=True)
    for place in (runner, runner / ".zygotes"):
        (place / "dataclasses.py").write_text(f"open('{tmp_path}/imported', 'w')")
        (place / "ansible.cfg").write_text("[defaults]\nnonsense")
    warm = Warm(tmp_path)
    outcome = await warm.run("- ping:")
    await warm.executor.close()
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)
    assert not (tmp_path / "imported").exists()


async def test_a_run_that_can_be_neither_warm_nor_cold_fails_and_says_why(warm: Warm) -> None:
    await warm.run("- debug:")
    project = warm.directory / "runner/cache.example.com/v1/Memcached/default/one/project"
    (project / "ansible.cfg").touch()
    with pytest.raises(RunError, match=r"cannot be warm.*ansible\.cfg"):
        await warm.run("- debug:", engine=Engine.WARM)


async def test_modules_are_forked_and_not_started(warm: Warm) -> None:
    outcome = await warm.run(
        "- command: cat /proc/self/stat\n  register: it\n- set_stats: {data: {stat: '{{ it.stdout }}'}}"
    )
    assert outcome.succeeded
    module = (
        "- stat: {path: /}\n- copy: {content: x, dest: '{{ playbook_dir }}/x'}\n"
        "- file: {path: '{{ playbook_dir }}/x', state: absent}"
    )
    before = time.monotonic()
    assert (await warm.run(module)).succeeded
    seconds = time.monotonic() - before
    cold = time.monotonic()
    assert (await warm.run(module, engine=Engine.COLD)).succeeded
    assert seconds < (time.monotonic() - cold) / 2


async def test_a_killed_zygote_of_plays_is_replaced(warm: Warm) -> None:
    os.kill(warm.plays, signal.SIGKILL)
    outcome = await warm.run("- debug:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


async def test_a_killed_zygote_of_modules_is_replaced(warm: Warm) -> None:
    os.kill(warm.modules, signal.SIGKILL)
    outcome = await warm.run("- ping:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_runs_are_warm_again_soon_after_a_zygote_was_killed_while_it_started(
    tmp_path: Path, zygote: str
) -> None:
    warm = Warm(tmp_path)
    starting = asyncio.create_task(warm.executor.warm_up())
    await until(lambda: starting_zygote(zygote))
    os.kill(starting_zygote(zygote), signal.SIGKILL)
    with pytest.raises(RunError, match="cannot start"):
        await starting

    async with asyncio.timeout(PATIENCE):
        while (await warm.run("- debug:")).engine is not Engine.WARM:
            pass
    await warm.executor.close()


def starting_zygote(kind: str) -> int:
    """The id of our child that is to be this one, 0 while there is none; the executor tells when it is ready."""
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if kind in command and "-c" in command:
                return pid
    return 0


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_a_run_outlives_the_zygotes_it_came_from(warm: Warm, zygote: str) -> None:
    begun, go_on = warm.directory / "begun", warm.directory / "go-on"
    tasks = f"- file: {{path: {begun}, state: touch}}\n- wait_for: {{path: {go_on}, sleep: 1}}\n- ping:"
    run = asyncio.create_task(warm.run(tasks))
    await until(begun.exists)
    os.kill(getattr(warm, zygote), signal.SIGKILL)
    go_on.touch()
    assert (await run).succeeded


def family(zygote: int) -> list[int]:
    """A supervisor or host, then what is below it."""
    return descendants(zygote)


HANGING = "- shell: echo x >> {ledger}; touch {begun}; sleep 1000"


@pytest.mark.parametrize("which", ["supervisor", "play", "host", "module"])
async def test_a_run_that_loses_a_process_fails_once_and_leaves_nothing(warm: Warm, which: str) -> None:
    """The task ran once, the object can be run again, and every process of the run is gone."""
    ledger, begun = warm.directory / "ledger", warm.directory / "begun"
    run = asyncio.create_task(warm.run(HANGING.format(ledger=ledger, begun=begun)))
    await until(begun.exists)
    plays, modules = family(warm.plays), family(warm.modules)
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


async def test_a_worker_that_is_killed_fails_the_run(warm: Warm) -> None:
    """A task with a timeout has a worker of its own."""
    ledger, begun = warm.directory / "ledger", warm.directory / "begun"
    run = asyncio.create_task(warm.run(HANGING.format(ledger=ledger, begun=begun) + "\n  timeout: 900"))
    await until(begun.exists)
    os.kill(family(warm.plays)[2], signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        outcome = await run
    await until(lambda: not of_runs(warm.executor.zygotes))
    assert not outcome.succeeded
    assert ledger.read_text() == "x\n"


async def test_what_a_module_leaves_behind_ends_with_the_run(warm: Warm) -> None:
    left = warm.directory / "left"
    outcome = await warm.run(
        f"- shell: setsid sh -c 'echo $$ > {left}; exec sleep 1000' > /dev/null 2>&1 &\n"
        f"- wait_for: {{path: {left}}}"
    )
    assert outcome.succeeded
    assert not Path(f"/proc/{left.read_text().strip()}").exists()


async def test_a_module_that_crashes_takes_down_itself_only(warm: Warm) -> None:
    outcome = await warm.run(
        "- command: 'true'\n  environment: {A: b}\n"
        "- shell: kill -SEGV $PPID\n  ignore_errors: true\n  register: crash\n"
        "- ping:\n- set_stats: {data: {rc: '{{ crash.rc }}'}}"
    )
    assert outcome.succeeded
    assert outcome.data["rc"] in (139, "139")


async def test_runs_do_not_see_each_others_environment(warm: Warm) -> None:
    with_it = "- command: printenv ONLY_ONE\n  environment: {ONLY_ONE: here}\n"
    without = "- command: printenv ONLY_ONE\n  register: other\n  failed_when: other.rc == 0"
    assert (await warm.run(with_it + without)).succeeded
    assert (await warm.run(without)).succeeded


async def test_no_descriptor_of_the_engine_is_seen_by_a_module(warm: Warm) -> None:
    shown = "- command: ls -l /proc/self/fd\n  register: fds\n- set_stats: {data: {fds: '{{ fds.stdout_lines }}'}}"
    warm_ones = (await warm.run(shown)).data["fds"]
    cold_ones = (await warm.run(shown, engine=Engine.COLD)).data["fds"]
    assert len(warm_ones) == len(cold_ones)


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_a_process_that_has_served_a_run_serves_the_next_one(warm: Warm, zygote: str) -> None:
    await warm.run("- ping:")  # what this module is has to be found out once
    await warm.run("- ping:")
    before = children(getattr(warm, zygote))
    await warm.run("- ping:")
    assert children(getattr(warm, zygote)) == before
    assert len(before) == 1


@pytest.mark.parametrize("zygote", ["plays", "modules"])
async def test_a_process_that_was_killed_while_it_waited_is_not_asked(warm: Warm, zygote: str) -> None:
    await warm.run("- ping:")
    for pid in waiting({getattr(warm, zygote)}):
        os.kill(pid, signal.SIGKILL)
    outcome = await warm.run("- ping:")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)


async def test_modules_of_a_sibling_stand_back_as_its_plays_do(warm: Warm, tmp_path: Path) -> None:
    told = tmp_path / "nice"
    run = warm.a_run(f"- ansible.builtin.shell: nice >> {told}\n")
    sibling = Executor(tmp_path / "sibling", {"ANSIBLE_LOCALHOST_WARNING": "False"}, sibling=warm.executor)
    try:
        for executor in (warm.executor, sibling, warm.executor):
            assert (await executor.run(run, lambda *_: None)).succeeded
    finally:
        await sibling.close()
    usual, stands_back, again = (int(line) for line in told.read_text().split())
    assert (stands_back, again) == (min(usual + 10, 19), usual)


async def test_few_processes_wait_for_runs(warm: Warm) -> None:
    """However many there were at once."""
    await warm.run("- ping:")
    gate = warm.directory / "gate"
    runs = [
        asyncio.create_task(
            warm.run(f"- wait_for: {{path: {gate}, sleep: 1}}", key=replace(KEY, name=f"run-{number}"))
        )
        for number in range(10)
    ]
    await until(lambda: len(children(warm.plays)) == 10)
    gate.touch()
    assert all(outcome.succeeded for outcome in await asyncio.gather(*runs))
    await until(lambda: len(children(warm.plays)) <= 8 and len(children(warm.modules)) <= 8)


async def test_waiting_processes_end_with_the_engine(warm: Warm) -> None:
    await warm.run("- ping:")
    left = waiting(warm.executor.zygotes)
    await warm.executor.close()
    assert left
    assert not any(Path(f"/proc/{pid}").exists() for pid in left)


async def test_many_runs_leave_nothing(warm: Warm) -> None:
    def state() -> tuple[int, int]:
        descriptors = sum(
            len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), *warm.executor.zygotes)
        )
        temporary = len(list((warm.directory / "runner/.tmp").rglob("*")))
        return descriptors, temporary

    for _ in range(3):
        await warm.run("- ping:\n- command: 'true'")
    await until(lambda: not of_runs(warm.executor.zygotes))
    before = state()
    for _ in range(20):
        await warm.run("- ping:\n- command: 'true'")
    await until(lambda: all(now <= then for now, then in zip(state(), before, strict=True)))
