"""What a custom resource's status says at each moment of a reconcile. Pure.

Each function gets the object as read last and gives its whole new status: everything that is not ours stays.
"""

from __future__ import annotations

from typing import Any

from runner.control.conditions import (
    FAILURE,
    RUNNING,
    SUCCESSFUL,
    Condition,
    Moment,
    conditions_of,
    find,
    put,
    status_of,
    unset,
)
from runner.control.fields import Fields, merged
from runner.execute.run import Ending, Outcome, Stats
from runner.objects import Body

Status = dict[str, Any]

LONGEST_MESSAGE = 32768
"""What metav1.Condition allows in a message, in characters."""

INTERRUPTED = "Interrupted"


def running(body: Body, moment: Moment) -> Status:
    """A run starts. Failure stays as it is: it is True until the next success."""
    status = status_of(body)
    conditions = conditions_of(status)
    put(conditions, moment, _condition(RUNNING, "True", "Running", "Running reconciliation"))
    unset(conditions, moment, SUCCESSFUL)
    return {**status, "conditions": conditions}


def succeeded(body: Body, moment: Moment, stats: Stats | None, fields: Fields = ()) -> Status:
    status = merged(status_of(body), fields)
    conditions = conditions_of(status)
    awaiting = _condition(RUNNING, "True", "Successful", "Awaiting next reconciliation", stats)
    put(conditions, moment, awaiting)
    put(conditions, moment, _condition(SUCCESSFUL, "True", "Successful", "Last reconciliation succeeded"))
    put(conditions, moment, _condition(FAILURE, "False", "", ""), always=True)
    return {**status, "conditions": conditions}


def failed(body: Body, moment: Moment, message: str, stats: Stats | None, fields: Fields = ()) -> Status:
    status = merged(status_of(body), fields)
    conditions = conditions_of(status)
    unset(conditions, moment, RUNNING)
    put(conditions, moment, _condition(SUCCESSFUL, "False", "", ""))
    put(conditions, moment, _condition(FAILURE, "True", "Failed", message, stats), always=True)
    return {**status, "conditions": conditions}


def refused(body: Body, moment: Moment, message: str) -> Status:
    """Nothing was run: the object asks for something impossible, or the run could not be started."""
    status = status_of(body)
    conditions = conditions_of(status)
    unset(conditions, moment, RUNNING)
    unset(conditions, moment, SUCCESSFUL)
    put(conditions, moment, _condition(FAILURE, "True", "Failed", message), always=True)
    return {**status, "conditions": conditions}


def interrupted(body: Body, moment: Moment) -> Status:
    """The operator stopped during a run: that is no failure of the object, but nothing runs any more."""
    status = status_of(body)
    conditions = conditions_of(status)
    current = find(conditions, RUNNING)
    if current is None or (current.get("status"), current.get("reason")) != ("True", "Running"):
        return status
    message = "The operator stopped during a run; it starts anew when the operator does"
    put(conditions, moment, _condition(RUNNING, "False", INTERRUPTED, message))
    return {**status, "conditions": conditions}


def failure_message(outcome: Outcome) -> str | None:
    """Why a run counts as failed; None if it does not."""
    if outcome.succeeded:
        return None
    messages = outcome.messages
    if outcome.ending is Ending.DEADLINE:
        messages += ("The run was stopped because it took longer than its deadline",)
    elif outcome.unreachable and not messages:
        messages = ("A host was unreachable",)
    if messages:
        return "\n".join(messages)[:LONGEST_MESSAGE]
    return f"Ansible ended without a recap, exit code {outcome.return_code}\n{outcome.tail}".rstrip()[
        -LONGEST_MESSAGE:
    ]


def failing_with(body: Body) -> str | None:
    """The message of the Failure condition while that is True."""
    failure = find(conditions_of(status_of(body)), FAILURE)
    return str(failure.get("message", "")) if failure and failure.get("status") == "True" else None


def _condition(kind: str, value: str, reason: str, message: str, stats: Stats | None = None) -> Condition:
    condition: Condition = {"type": kind, "status": value, "reason": reason, "message": message}
    if stats is not None:
        condition["ansibleResult"] = {
            "ok": stats.ok,
            "changed": stats.changed,
            "skipped": stats.skipped,
            "failures": stats.failures,
            "completion": stats.completion,
        }
    return condition
