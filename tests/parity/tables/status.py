"""The conditions in the status of a CR."""

from __future__ import annotations

import re
from typing import Any

from tests.parity.rows import Facts, Row, within
from tests.parity.stage import conditions

STARTED = ("True", "Running", "Running reconciliation")

AWAITING = ("True", "Successful", "Awaiting next reconciliation")

SUCCEEDED = ("True", "Successful", "Last reconciliation succeeded")

NO_MORE = ("False", "Successful", "Last reconciliation succeeded")

BLANK = ("False", "", "")

ABSENT = (None, None, None)


def state(facts: Facts, name: str, place: int, kind: str) -> Any:
    """Status, reason and message of a condition in one of the states that the object went through."""
    found = facts[f"{name} states"][place].get(kind, {})
    return found.get("status"), found.get("reason"), found.get("message")


def since(facts: Facts, name: str, place: int, kind: str) -> Any:
    return facts[f"{name} states"][place][kind]["lastTransitionTime"]


def result(facts: Facts, name: str, place: int, kind: str) -> Any:
    return facts[f"{name} states"][place].get(kind, {}).get("ansibleResult")


def success(facts: Facts, name: str) -> Any:
    return conditions(facts[name]).get("Successful", {}).get("status")


STATUS = (
    Row(
        id="status-start-running",
        says="start: Running",
        batch="status",
        seen=lambda f: state(f, "lived", 0, "Running"),
        expected=STARTED,
    ),
    Row(
        id="status-start-no-result",
        says="without ansibleResult",
        batch="status",
        seen=lambda f: result(f, "lived", 0, "Running"),
        expected=None,
    ),
    Row(
        id="status-start-successful-absent",
        says="Successful is not made",
        batch="status",
        seen=lambda f: state(f, "lived", 0, "Successful"),
        expected=ABSENT,
    ),
    Row(
        id="status-start-failure-absent",
        says="nor Failure",
        batch="status",
        seen=lambda f: state(f, "lived", 0, "Failure"),
        expected=ABSENT,
    ),
    Row(
        id="status-success-running",
        says="success: Running stays True",
        batch="status",
        seen=lambda f: state(f, "lived", 1, "Running"),
        expected=AWAITING,
    ),
    Row(
        id="status-success-result",
        says="with the recap's counters",
        batch="status",
        seen=lambda f: within(
            {"ok": 4, "changed": 1, "skipped": 1, "failures": 0}, result(f, "lived", 1, "Running")
        ),
    ),
    Row(
        id="status-success-completion",
        says="and the time of the recap",
        batch="status",
        seen=lambda f: bool(
            re.fullmatch(
                r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,7}[1-9])?\+00:00",
                result(f, "lived", 1, "Running")["completion"],
            )
        ),
    ),
    Row(
        id="status-success-successful",
        says="success: Successful",
        batch="status",
        seen=lambda f: state(f, "lived", 1, "Successful"),
        expected=SUCCEEDED,
    ),
    Row(
        id="status-success-failure",
        says="success: Failure is False and blank",
        batch="status",
        seen=lambda f: state(f, "lived", 1, "Failure"),
        expected=BLANK,
    ),
    Row(
        id="status-success-keys",
        says="type, status, lastTransitionTime, reason and message are always there",
        batch="status",
        seen=lambda f: all(
            {"type", "status", "lastTransitionTime", "reason", "message"} <= set(item)
            for item in f["lived states"][1].values()
        ),
    ),
    Row(
        id="status-again-running",
        says="the next start: Running",
        batch="status",
        seen=lambda f: state(f, "lived", 2, "Running"),
        expected=STARTED,
    ),
    Row(
        id="status-again-no-result",
        says="without ansibleResult",
        batch="status",
        seen=lambda f: result(f, "lived", 2, "Running"),
        expected=None,
    ),
    Row(
        id="status-again-successful",
        says="Successful is False, the rest of it kept",
        batch="status",
        seen=lambda f: state(f, "lived", 2, "Successful"),
        expected=NO_MORE,
    ),
    Row(
        id="status-again-failure",
        says="Failure is left alone",
        batch="status",
        seen=lambda f: state(f, "lived", 2, "Failure"),
        expected=BLANK,
    ),
    Row(
        id="status-again-success",
        says="and success again",
        batch="status",
        seen=lambda f: state(f, "lived", 3, "Successful"),
        expected=SUCCEEDED,
    ),
    Row(
        id="status-failed-running",
        says="failed run: Running is False, the rest of it kept",
        batch="status",
        seen=lambda f: state(f, "lived", 5, "Running"),
        expected=("False", "Running", "Running reconciliation"),
    ),
    Row(
        id="status-failed-successful",
        says="failed run: Successful is False and blank",
        batch="status",
        seen=lambda f: state(f, "lived", 5, "Successful"),
        expected=BLANK,
    ),
    Row(
        id="status-failed-failure",
        says="failed run: Failure with the message",
        batch="status",
        seen=lambda f: state(f, "lived", 5, "Failure"),
        expected=("True", "Failed", "as asked"),
    ),
    Row(
        id="status-failed-result",
        says="and with the counters",
        batch="status",
        seen=lambda f: within({"failures": 1}, result(f, "lived", 5, "Failure")),
    ),
    Row(
        id="status-failed-first-successful",
        says="a first run that fails makes Successful, too",
        batch="status",
        seen=lambda f: state(f, "failed", 1, "Successful"),
        expected=BLANK,
    ),
    Row(
        id="status-failing-start",
        says="the start after a failed run leaves Failure True",
        batch="status",
        seen=lambda f: state(f, "failed", 2, "Failure"),
        expected=("True", "Failed", "as asked"),
    ),
    Row(
        id="status-failing-start-running",
        says="and Running is True",
        batch="status",
        seen=lambda f: state(f, "failed", 2, "Running"),
        expected=STARTED,
    ),
    Row(
        id="status-recovered-failure",
        says="success after failure: Failure is False and blank",
        batch="status",
        seen=lambda f: state(f, "failed", -1, "Failure"),
        expected=BLANK,
    ),
    Row(
        id="status-recovered-no-result",
        says="without ansibleResult",
        batch="status",
        seen=lambda f: result(f, "failed", -1, "Failure"),
        expected=None,
    ),
    Row(
        id="status-error-running",
        says="status error: Running is False, the rest of it kept",
        batch="status",
        seen=lambda f: state(f, "refused", -1, "Running"),
        expected=("False", *AWAITING[1:]),
    ),
    Row(
        id="status-error-result",
        says="ansibleResult included",
        batch="status",
        seen=lambda f: result(f, "refused", -1, "Running") is not None,
    ),
    Row(
        id="status-error-successful",
        says="status error: Successful is False, the rest of it kept",
        batch="status",
        seen=lambda f: state(f, "refused", -1, "Successful"),
        expected=NO_MORE,
    ),
    Row(
        id="status-transition-kept",
        says="lastTransitionTime stays while the status does",
        batch="status",
        seen=lambda f: since(f, "lived", 1, "Running") == since(f, "lived", 0, "Running"),
    ),
    Row(
        id="status-transition-kept-again",
        says="over many runs",
        batch="status",
        seen=lambda f: since(f, "lived", 4, "Running") == since(f, "lived", 0, "Running"),
    ),
    Row(
        id="status-transition-flip",
        says="and is renewed when it flips",
        batch="status",
        seen=lambda f: since(f, "lived", 2, "Successful") > since(f, "lived", 1, "Successful"),
        mended=True,
    ),
    Row(
        id="status-localhost",
        says="counters are those of localhost",
        batch="status",
        seen=lambda f: conditions(f["others"])["Failure"]["ansibleResult"]["failures"],
        expected=0,
    ),
)

ROWS = (*STATUS,)
