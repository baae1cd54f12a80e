"""The warm engine where its processes do not answer, or no more files can be opened: every wait has an end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio

from runner.config.watches import Engine
from runner.errors import RunError, UnsureError
from runner.execute.fork import engine
from runner.execute.fork import zygote as zygotes
from runner.execute.outcome import Ending
from tests.fixtures.ansible_release import only_where_warm
from tests.fixtures.descriptors import no_more_than, open_descriptors
from tests.fixtures.engine import children, of_runs, serving
from tests.fixtures.waiting import until
from tests.fixtures.warm import PATIENCE, Bench, MarkedExecutor

pytestmark = [only_where_warm, pytest.mark.asyncio(loop_scope="module")]

ZYGOTES = ("plays", "modules")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def executor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MarkedExecutor]:
    executor = MarkedExecutor(tmp_path_factory.mktemp("executor"))
    yield executor
    await executor.close()
    assert executor.processes() == set()


@pytest_asyncio.fixture(loop_scope="module")
async def warm(tmp_path: Path, executor: MarkedExecutor) -> AsyncIterator[Bench]:
    """Its zygotes are ready; tests may stop or kill them, for the next test gets others."""
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A zygote is killed soon when it does not answer."""
    monkeypatch.setattr(zygotes, "ANSWERS_WITHIN", 2.0)
    monkeypatch.setattr(engine, "_LOOK_AFTER", 0.5)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """As by SIGSTOP, until it is killed or this ends."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("zygote", ZYGOTES)
async def test_a_deadline_comes_though_a_zygote_does_not_answer(warm: Bench, zygote: str) -> None:
    began = time.monotonic()
    with stopped(getattr(warm, zygote)):
        outcome = await warm.run(f"- shell: touch {warm.directory}/ran", deadline=1.0)
    assert outcome.ending is Ending.DEADLINE
    assert time.monotonic() - began < 6
    assert (await warm.run("- ping:")).succeeded
    assert not (warm.directory / "ran").exists()


@pytest.mark.parametrize("zygote", ZYGOTES)
async def test_a_run_can_be_cancelled_though_a_zygote_does_not_answer(warm: Bench, zygote: str) -> None:
    with stopped(getattr(warm, zygote)):
        run = asyncio.create_task(warm.run(f"- shell: touch {warm.directory}/ran"))
        await until(lambda: is_asked(warm, zygote))
        run.cancel()
        async with asyncio.timeout(6):
            with pytest.raises(asyncio.CancelledError):
                await run
    assert (await warm.run("- ping:")).succeeded
    assert not (warm.directory / "ran").exists()


def is_asked(bench: Bench, zygote: str) -> bool:
    """Whether an answer of this zygote is awaited."""
    pair = bench.executor.engine._pair
    return bool(pair and getattr(pair, zygote)._asked)


async def test_a_deadline_comes_though_a_zygote_hangs_while_it_starts(own: Bench) -> None:
    run = asyncio.create_task(own.run("- ping:", deadline=1.5))
    await until(lambda: zygotes_of(own))
    with stopped(zygotes_of(own)[0]):
        async with asyncio.timeout(6):
            assert (await run).ending is Ending.DEADLINE


def zygotes_of(bench: Bench) -> list[int]:
    """The zygotes of its executor that are alive, also while they start."""
    alive = []
    for pid in children(os.getpid()):
        with suppress(OSError):
            kind = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[-3:-2]
            environ = Path(f"/proc/{pid}/environ").read_text()
            if kind in (["plays"], ["modules"]) and bench.executor.mark in environ:
                alive.append(pid)
    return alive


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("zygote", ZYGOTES)
async def test_a_zygote_that_does_not_answer_is_replaced_and_the_run_is_done_once(
    warm: Bench, zygote: str
) -> None:
    before = getattr(warm, zygote)
    with stopped(before):
        outcome = await warm.run(f"- shell: echo x >> {warm.directory}/ledger")
    assert (outcome.succeeded, outcome.engine) == (True, Engine.WARM)
    assert getattr(warm, zygote) != before
    assert (warm.directory / "ledger").read_text() == "x\n"


async def test_a_run_is_not_started_again_when_it_is_not_certain_that_it_has_not_begun(
    warm: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here, because the zygote cannot be killed."""
    monkeypatch.setattr(zygotes, "SURE_WITHIN", 0.1)
    monkeypatch.setattr(zygotes, "ENDED_WITHIN", 0.1)
    assert warm.executor.engine._pair
    plays = warm.executor.engine._pair.plays
    monkeypatch.setattr(plays, "kill", lambda: None)
    with stopped(warm.plays):
        with pytest.raises(UnsureError, match="cannot be ended"):
            await warm.run(f"- shell: touch {warm.directory}/ran")
        monkeypatch.undo()
        plays.kill()
    assert (await warm.run("- ping:")).succeeded
    assert not (warm.directory / "ran").exists()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("zygote", ZYGOTES)
async def test_a_zygote_that_stops_answering_in_a_run_does_not_keep_the_object_locked(
    warm: Bench, zygote: str
) -> None:
    begun, go_on = warm.directory / "begun", warm.directory / "go-on"
    run = asyncio.create_task(
        warm.run(f"- file: {{path: {begun}, state: touch}}\n- wait_for: {{path: {go_on}, sleep: 1}}")
    )
    await until(begun.exists)
    with stopped(getattr(warm, zygote)):
        go_on.touch()
        assert (await run).succeeded
        async with asyncio.timeout(PATIENCE):
            assert (await warm.run("- ping:")).succeeded


@pytest.mark.parametrize("zygote", ZYGOTES)
async def test_the_engine_can_be_closed_though_a_zygote_does_not_answer(own: Bench, zygote: str) -> None:
    await own.run("- ping:")
    with stopped(getattr(own, zygote)):
        async with asyncio.timeout(PATIENCE):
            await own.executor.close()
    assert not zygotes_of(own)


@pytest.mark.parametrize("zygote", ZYGOTES)
async def test_zygotes_that_are_replaced_are_reaped(warm: Bench, zygote: str) -> None:
    others = set(children(os.getpid())) - warm.executor.zygotes
    os.kill(getattr(warm, zygote), signal.SIGKILL)
    assert (await warm.run("- ping:")).succeeded
    await until(lambda: set(children(os.getpid())) - others == warm.executor.zygotes)


@pytest.mark.parametrize("zygote", ZYGOTES)
async def test_a_zygote_that_is_killed_in_a_run_does_not_change_its_exit_code(warm: Bench, zygote: str) -> None:
    begun, go_on = warm.directory / "begun", warm.directory / "go-on"
    run = asyncio.create_task(
        warm.run(f"- file: {{path: {begun}, state: touch}}\n- wait_for: {{path: {go_on}, sleep: 1}}")
    )
    await until(begun.exists)
    os.kill(getattr(warm, zygote), signal.SIGKILL)
    go_on.touch()
    outcome = await run
    assert (outcome.succeeded, outcome.return_code) == (True, 0)


@pytest.mark.usefixtures("impatient")
async def test_a_host_that_does_not_answer_is_killed_at_the_end_of_its_run(warm: Bench) -> None:
    await warm.run("- ping:")
    [host] = children(warm.modules)
    run = asyncio.create_task(
        warm.run(f"- wait_for: {{path: {warm.directory}/go-on, sleep: 1}}\n  register: x\n- meta: noop")
    )
    await until(lambda: of_runs({warm.modules}))
    (warm.directory / "go-on").touch()
    await until(lambda: not of_runs({warm.modules}))
    with stopped(host):
        async with asyncio.timeout(PATIENCE):
            assert (await run).succeeded
            assert (await warm.run("- ping:")).succeeded


async def test_a_supervisor_that_does_not_answer_is_killed_with_what_it_has_started(
    warm: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.execute.child._END_WITHIN", 0.5)
    begun = warm.directory / "begun"
    run = asyncio.create_task(warm.run(f"- shell: touch {begun}; sleep 1000"))
    await until(begun.exists)
    supervisor = serving(warm.plays)[0]
    with stopped(supervisor):
        run.cancel()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(asyncio.CancelledError):
                await run
    await until(lambda: not of_runs(warm.executor.zygotes))


@pytest.mark.parametrize("how", [Engine.WARM, Engine.COLD])
async def test_runs_are_warm_again_after_a_shortage_of_files(warm: Bench, how: Engine) -> None:
    """However far a run has come with those that there were: it is a run error, and nothing is left of it."""
    await warm.run("- ping:", engine=how)
    await until(lambda: not of_runs(warm.executor.zygotes))
    before = open_descriptors()
    more, succeeded = 0, False
    while not succeeded:
        ledger = warm.directory / f"ledger-{more}"
        run = warm.a_run(f"- shell: echo x >> {ledger}", engine=how)
        with no_more_than(more), suppress(RunError):
            succeeded = (await warm.executor.run(run, lambda *_: None)).succeeded
        assert not ledger.exists() or ledger.read_text() == "x\n"
        await until(lambda: not of_runs(warm.executor.zygotes))
        more += 1
        assert more < 24
    outcome = await warm.run("- ping:", engine=how)
    assert (outcome.succeeded, outcome.engine) == (True, how)
    await until(lambda: len(open_descriptors()) <= len(before))
