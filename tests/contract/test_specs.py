"""The process that validates by argument specs, as the operator asks it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runner.errors import RunError
from runner.execute.specs import Specs


@pytest.fixture
async def specs(tmp_path: Path) -> AsyncIterator[Specs]:
    specs = Specs(tmp_path / "place", {})
    yield specs
    await specs.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "role" / "meta" / "argument_specs.yml"
    path.parent.mkdir(parents=True)
    path.write_text("argument_specs: {main: {options: {size: {type: int, required: true}}}}")
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


async def test_a_process_that_was_killed_is_started_again(specs: Specs, file: Path) -> None:
    await specs.mistakes(file, {})
    os.kill((await specs.start()).pid, signal.SIGKILL)
    assert len(await specs.mistakes(file, {})) == 1
    assert specs.starts == 2


@pytest.mark.parametrize("text", ["- [", "argument_specs: [1]", "argument_specs: {main: {options: {a: 7}}}"])
async def test_specs_that_cannot_be_used_are_nobodys_verdict(specs: Specs, file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(RunError, match=r"argument_specs\.yml"):
        await specs.mistakes(file, {"a": 1})
