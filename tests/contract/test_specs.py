"""The process that validates by argument specs, as the operator asks it."""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runner.errors import BusyError, ExceededError, RunError
from runner.execute import specs as module
from runner.execute.fork.inside.supervisor import descendants
from runner.execute.fork.zygote import ENDED_WITHIN
from runner.execute.specs import LARGE, Specs
from tests.fixtures.descriptors import open_descriptors
from tests.fixtures.waiting import until

SPECS = """
argument_specs:
  main:
    options:
      size: {type: int, required: true}
      members: {type: list, elements: dict, options: {name: {type: str}, size: {type: int}}}
"""


@pytest.fixture
async def specs(tmp_path: Path) -> AsyncIterator[Specs]:
    specs = Specs(tmp_path / "place", {})
    yield specs
    await specs.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "role" / "meta" / "argument_specs.yml"
    path.parent.mkdir(parents=True)
    path.write_text(SPECS)
    return path


async def test_nothing_is_started_before_the_first_question(specs: Specs, file: Path) -> None:
    assert specs.starts == 0
    assert await specs.mistakes(file, {"size": 1}) == []
    assert specs.starts == 1


async def test_many_questions_are_answered_each_by_its_own(specs: Specs, file: Path) -> None:
    answers = await asyncio.gather(
        *(specs.mistakes(file, {"size": "x" if odd % 2 else odd, "pad": "y" * odd * 40}) for odd in range(100))
    )
    assert [bool(answer) for answer in answers] == [bool(odd % 2) for odd in range(100)]


async def test_a_file_that_has_changed_is_read_again(specs: Specs, file: Path) -> None:
    assert await specs.mistakes(file, {"size": 1}) == []
    file.write_text("argument_specs: {main: {options: {size: {choices: [2]}}}}")
    assert len(await specs.mistakes(file, {"size": 1})) == 1


async def test_a_server_that_was_killed_is_started_again_when_it_is_needed(specs: Specs, file: Path) -> None:
    await specs.mistakes(file, {})
    os.kill((await specs.start()).pid, signal.SIGKILL)
    assert len(await specs.mistakes(file, {})) == 1
    assert len(await specs.mistakes(file, {"pad": "x" * LARGE})) == 1
    assert specs.starts == 2


async def test_workers_that_were_killed_while_they_had_nothing_to_do_are_replaced(
    specs: Specs, file: Path
) -> None:
    await asyncio.gather(*(specs.mistakes(file, {}) for _ in range(10)))
    for pid in descendants((await specs.start()).pid):
        os.kill(pid, signal.SIGKILL)
    assert len(await specs.mistakes(file, {})) == 1
    assert specs.starts == 1


MANY: dict[str, Any] = {"size": 1, "members": [{}] * 300_000}
"""An etcd full of empty maps, which take Ansible's validator seconds."""


async def test_values_that_take_too_much_processor_time_have_an_answer_of_their_own(
    specs: Specs, file: Path
) -> None:
    with pytest.raises(ExceededError, match=r"takes more than .* s (of processor time )?to validate"):
        await specs.mistakes(file, MANY)
    assert specs.starts == 1


async def test_values_that_take_too_much_memory_have_an_answer_of_their_own(specs: Specs, file: Path) -> None:
    with pytest.raises(ExceededError, match="takes more than 128 MiB of memory to validate"):
        await specs.mistakes(file, {"size": 1, "pad": "x" * 100_000_000})
    assert len(await specs.mistakes(file, {})) == 1
    assert specs.starts == 1


async def test_a_worker_that_somebody_killed_has_nobody_say(specs: Specs, file: Path) -> None:
    asking = asyncio.create_task(specs.mistakes(file, MANY))
    server = await specs.start()
    await until(lambda: bool(descendants(server.pid)))
    os.kill(descendants(server.pid)[0], signal.SIGKILL)
    with pytest.raises(RunError, match="was ended before it answered"):
        await asking


@pytest.mark.parametrize("bad", [MANY, {"size": "1e999999999"}], ids=["many items", "a large number"])
async def test_beside_values_that_take_too_much_others_are_answered_in_time(
    specs: Specs, file: Path, bad: dict[str, Any]
) -> None:
    await specs.mistakes(file, {"size": 1})
    alone = [await seconds(specs.mistakes(file, {"size": 1})) for _ in range(100)]
    beside = []

    async def ask_for_too_much() -> None:
        for _ in range(2):
            with suppress(ExceededError, BusyError):
                await specs.mistakes(file, bad)

    asking = asyncio.gather(*(ask_for_too_much() for _ in range(5)))
    while not asking.done():
        beside.append(await seconds(specs.mistakes(file, {"size": 1})))
        await asyncio.sleep(0.001)
    await asking
    p95 = statistics.quantiles(beside, n=20)[-1]
    median = statistics.median(alone)
    print(f"good questions: median {median * 1000:.1f} ms alone, p95 {p95 * 1000:.1f} ms beside bad ones")
    assert median < 0.01
    assert p95 < 0.25
    assert specs.starts == 1


async def seconds(asking: Awaitable[list[Mapping[str, Any]]]) -> float:
    """How long an answer takes that is right."""
    began = time.perf_counter()
    assert await asking == []
    return time.perf_counter() - began


async def test_a_short_text_that_takes_too_much_is_denied_and_counts_as_large(specs: Specs, file: Path) -> None:
    with pytest.raises(ExceededError, match="takes more than"):
        await specs.mistakes(file, {"size": "1e999999999"})
    assert specs.starts == 1


async def test_large_questions_find_no_turn_while_others_are_answered(
    specs: Specs, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    await specs.mistakes(file, {})
    asking = asyncio.gather(*(specs.mistakes(file, MANY) for _ in range(4)), return_exceptions=True)
    assert len(await specs.mistakes(file, {})) == 1
    assert {type(answer) for answer in await asking} == {ExceededError, BusyError}


async def test_of_many_mistakes_the_first_are_named(specs: Specs, file: Path) -> None:
    found = await specs.mistakes(file, {"size": 1, "members": [{"name": 1, "more": 2}] * 5000})
    assert len(found) == 20


@pytest.mark.parametrize("text", ["- [", "argument_specs: [1]", "argument_specs: {main: {options: {a: 7}}}"])
async def test_specs_that_cannot_be_used_are_nobodys_verdict(specs: Specs, file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(RunError, match=r"argument_specs\.yml"):
        await specs.mistakes(file, {"a": 1})


async def test_worker_that_answers_during_the_end_is_closed_with_the_others(specs: Specs, file: Path) -> None:
    opened = open_descriptors().items()
    assert await specs.mistakes(file, {"size": 1}) == []
    asking = asyncio.create_task(specs.mistakes(file, {"size": 1}))
    await asyncio.sleep(0)  # until it has asked
    began = time.monotonic()
    await specs.close()
    assert time.monotonic() - began < ENDED_WITHIN
    assert await asking == []
    assert open_descriptors().items() <= opened
