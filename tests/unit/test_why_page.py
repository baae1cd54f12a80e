"""docs/how-to/why-did-it-run.md says what the code does."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runner.config.watches import Content
from runner.control.reasons import described, told
from runner.control.request import Reason, Reasons, Trigger
from runner.execute.artifacts import about, over
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Run
from runner.objects import GroupVersionKind, ObjectKey

PAGE = (Path(__file__).parents[2] / "docs/how-to/why-did-it-run.md").read_text()
SAMPLE = json.loads(PAGE.partition("```json\n")[2].partition("```")[0])
INTERNAL = {Trigger.GONE, Trigger.SELECTED}
"""No run has them for a reason."""


def test_the_page_explains_every_trigger() -> None:
    listed = set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE))
    assert listed - {"run.json"} == set(Trigger) - INTERNAL


def test_the_sample_of_run_json_is_what_a_run_leaves() -> None:
    edited = SAMPLE["reasons"][0]
    owner = ObjectKey(
        GroupVersionKind.of(SAMPLE["apiVersion"], SAMPLE["kind"]), SAMPLE["namespace"], SAMPLE["name"]
    )
    dependent = ObjectKey(GroupVersionKind.of(edited["apiVersion"], edited["kind"]), owner.namespace, owner.name)
    reason = Reason(Trigger.DEPENDENT, dependent, edited["manager"], tuple(edited["fields"]), edited["time"])
    started = datetime(2030, 1, 31, 9, 0, 0, 125000, UTC)
    why = {
        "reasons": described(Reasons((reason,)), started),
        "attempt": 2,
        "previous": "succeeded",
        "because": [told(reason)],
        "server": SAMPLE["server"],
        "names": SAMPLE["names"],
    }
    content = Content(Path(SAMPLE["content"]), is_role=True)
    run = Run(
        SAMPLE["id"], owner, SAMPLE["uid"], content, {}, "", generation=3, watches=SAMPLE["watches"], why=why
    )
    outcome = Outcome(Ending.FINISHED, 0, Stats(ok=2, changed=1), changed=("Run memcached",))
    found = over(about(run, "warm", "", started), outcome, started + timedelta(seconds=1))
    assert list(found.items()) == list(SAMPLE.items())
    assert told(reason) == "Deployment shop/example changed by kubectl-edit: spec.replicas"
