"""Runs one after the other: nothing of the first is seen by the second, but what was edited between them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.corpus.case import Case
from tests.corpus.compare import Observation, difference
from tests.corpus.executors import COLD, OTHERS, Make
from tests.corpus.observe import observe
from tests.corpus.stage import KEY, Stage
from tests.corpus.trial import Trial

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

SEQUENCES = Path(__file__).with_name("sequences")
WAYS = [pytest.param(name, id=name.replace(" ", "-")) for name in OTHERS]
OBSERVER = Case("observer", content="observer.yml")
POISONS = {"poison": 0, "killed": 137}
"""Playbook -> the return code of stock Ansible."""

SHADOW = """#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

AnsibleModule({}).exit_json(ping="a ping that was not there before")
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("poison", POISONS)
async def test_nothing_of_a_run_is_seen_by_the_next(poison: str, way: str, trial: Trial) -> None:
    [alone] = await _observed("isolation", [OBSERVER], COLD, trial)
    assert alone.outcome["return_code"] == 0, alone.artifacts["stdout"]["text"]
    before = Case(poison, content=f"{poison}.yml")
    poisoned, after = await _observed("isolation", [before, OBSERVER], OTHERS[way], trial)

    assert poisoned.outcome["return_code"] == POISONS[poison], poisoned.artifacts["stdout"]["text"]
    _are_the_same(alone, after)


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_edited_on_disk_is_seen_by_the_next_run(way: str, trial: Trial) -> None:
    stock = await _edited(COLD, trial)
    other = await _edited(OTHERS[way], trial)

    assert "first" not in json.dumps(stock[1].events), "an edit is not seen even by stock Ansible"
    for one, another in zip(stock, other, strict=True):
        _are_the_same(one, another)


async def _observed(project: str, runs: list[Case], make: Make, trial: Trial) -> list[Observation]:
    """What is seen of runs in a row, by one executor, of the playbooks of one project."""
    seen = []
    async with trial.lend(make, project) as lent:
        for case in runs:
            await lent.executor.forget(KEY)
            trial.stage.lay_out(SEQUENCES / project)
            seen.append(await observe(case, lent.executor, trial.stage))
    return seen


async def _edited(make: Make, trial: Trial) -> list[Observation]:
    """Three runs of a project: as it is, with each file edited in place, and with each file replaced."""
    case = Case("edited", extra_vars={})
    seen = []
    async with trial.lend(make, case.name) as lent:
        await lent.executor.forget(KEY)
        trial.stage.lay_out(SEQUENCES / "edited")
        for edit in (None, "other", "third"):
            if edit:
                _edit(trial.stage, edit, replace=edit == "third")
            await lent.executor.forget(KEY)
            seen.append(await observe(case, lent.executor, trial.stage))
    return seen


def _edit(stage: Stage, word: str, *, replace: bool) -> None:
    """Put `word`, which is as long, where the last one was; and let a module appear, or vanish."""
    last = "other" if replace else "first"
    files = [path for place in (stage.project, stage.home) for path in place.rglob("*") if path.is_file()]
    for path in files:
        content = path.read_bytes()
        if last.encode() not in content:
            continue
        target = path.with_name(f".{path.name}.new") if replace else path
        target.write_bytes(content.replace(last.encode(), word.encode()))
        if replace:
            shutil.copymode(path, target)
            target.replace(path)
    shadow = stage.project / "library/ping.py"
    if replace:
        shadow.unlink()
    else:
        shadow.parent.mkdir()
        shadow.write_text(SHADOW)


def _are_the_same(one: Observation, other: Observation) -> None:
    if found := difference(one, other):
        pytest.fail("\n".join(["the runs are not the same:", *found]), pytrace=False)
