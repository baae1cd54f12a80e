"""The conditions in the status of a CR."""

from __future__ import annotations

import re
from typing import Any

from tests.parity.rows import Facts, status, within
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
    status("status-start-running", "start: Running", lambda f: state(f, "lived", 0, "Running"), STARTED),
    status("status-start-no-result", "without ansibleResult", lambda f: result(f, "lived", 0, "Running"), None),
    status(
        "status-start-successful-absent",
        "Successful is not made",
        lambda f: state(f, "lived", 0, "Successful"),
        ABSENT,
    ),
    status("status-start-failure-absent", "nor Failure", lambda f: state(f, "lived", 0, "Failure"), ABSENT),
    status(
        "status-success-running",
        "success: Running stays True",
        lambda f: state(f, "lived", 1, "Running"),
        AWAITING,
    ),
    status(
        "status-success-result",
        "with the recap's counters",
        lambda f: within({"ok": 4, "changed": 1, "skipped": 1, "failures": 0}, result(f, "lived", 1, "Running")),
    ),
    status(
        "status-success-completion",
        "and the time of the recap",
        lambda f: bool(
            re.fullmatch(
                r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,7}[1-9])?\+00:00",
                result(f, "lived", 1, "Running")["completion"],
            )
        ),
    ),
    status(
        "status-success-successful", "success: Successful", lambda f: state(f, "lived", 1, "Successful"), SUCCEEDED
    ),
    status(
        "status-success-failure",
        "success: Failure is False and blank",
        lambda f: state(f, "lived", 1, "Failure"),
        BLANK,
    ),
    status(
        "status-success-keys",
        "type, status, lastTransitionTime, reason and message are always there",
        lambda f: all(
            {"type", "status", "lastTransitionTime", "reason", "message"} <= set(item)
            for item in f["lived states"][1].values()
        ),
    ),
    status("status-again-running", "the next start: Running", lambda f: state(f, "lived", 2, "Running"), STARTED),
    status("status-again-no-result", "without ansibleResult", lambda f: result(f, "lived", 2, "Running"), None),
    status(
        "status-again-successful",
        "Successful is False, the rest of it kept",
        lambda f: state(f, "lived", 2, "Successful"),
        NO_MORE,
    ),
    status("status-again-failure", "Failure is left alone", lambda f: state(f, "lived", 2, "Failure"), BLANK),
    status("status-again-success", "and success again", lambda f: state(f, "lived", 3, "Successful"), SUCCEEDED),
    status(
        "status-failed-running",
        "failed run: Running is False, the rest of it kept",
        lambda f: state(f, "lived", 5, "Running"),
        ("False", "Running", "Running reconciliation"),
    ),
    status(
        "status-failed-successful",
        "failed run: Successful is False and blank",
        lambda f: state(f, "lived", 5, "Successful"),
        BLANK,
    ),
    status(
        "status-failed-failure",
        "failed run: Failure with the message",
        lambda f: state(f, "lived", 5, "Failure"),
        ("True", "Failed", "as asked"),
    ),
    status(
        "status-failed-result",
        "and with the counters",
        lambda f: within({"failures": 1}, result(f, "lived", 5, "Failure")),
    ),
    status(
        "status-failed-first-successful",
        "a first run that fails makes Successful, too",
        lambda f: state(f, "failed", 1, "Successful"),
        BLANK,
    ),
    status(
        "status-failing-start",
        "the start after a failed run leaves Failure True",
        lambda f: state(f, "failed", 2, "Failure"),
        ("True", "Failed", "as asked"),
    ),
    status(
        "status-failing-start-running", "and Running is True", lambda f: state(f, "failed", 2, "Running"), STARTED
    ),
    status(
        "status-recovered-failure",
        "success after failure: Failure is False and blank",
        lambda f: state(f, "failed", -1, "Failure"),
        BLANK,
    ),
    status(
        "status-recovered-no-result", "without ansibleResult", lambda f: result(f, "failed", -1, "Failure"), None
    ),
    status(
        "status-error-running",
        "status error: Running is False, the rest of it kept",
        lambda f: state(f, "refused", -1, "Running"),
        ("False", *AWAITING[1:]),
    ),
    status(
        "status-error-result", "ansibleResult included", lambda f: result(f, "refused", -1, "Running") is not None
    ),
    status(
        "status-error-successful",
        "status error: Successful is False, the rest of it kept",
        lambda f: state(f, "refused", -1, "Successful"),
        NO_MORE,
    ),
    status(
        "status-transition-kept",
        "lastTransitionTime stays while the status does",
        lambda f: since(f, "lived", 1, "Running") == since(f, "lived", 0, "Running"),
    ),
    status(
        "status-transition-kept-again",
        "over many runs",
        lambda f: since(f, "lived", 4, "Running") == since(f, "lived", 0, "Running"),
    ),
    status(
        "status-transition-flip",
        "and is renewed when it flips",
        lambda f: since(f, "lived", 2, "Successful") > since(f, "lived", 1, "Successful"),
        mended=True,
    ),
    status(
        "status-localhost",
        "counters are those of localhost",
        lambda f: conditions(f["others"])["Failure"]["ansibleResult"]["failures"],
        0,
    ),
)

ROWS = (*STATUS,)
