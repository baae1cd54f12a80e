"""What is a failed run, and what is an error before one."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row
from tests.parity.stage import conditions
from tests.parity.tables.status import state, success


def failure(facts: Facts, name: str) -> Any:
    found = conditions(facts[name]).get("Failure", {})
    return found.get("status"), found.get("message")


FLOW = (
    Row(
        id="run-period-unparsable",
        says="an unparsable reconcile-period annotation is a status error",
        batch="status",
        seen=lambda f: state(f, "refused", -1, "Failure"),
        expected=(
            "True",
            "Failed",
            'Unable to parse reconcile period annotation: time: missing unit in duration "30"',
        ),
    ),
    Row(
        id="run-period-no-run",
        says="and nothing runs",
        batch="status",
        seen=lambda f: f["refused runs"],
        expected=0,
    ),
    Row(
        id="run-no-finalizer-terminated",
        says="a CR that goes without our finalizer does not run",
        batch="triggers",
        seen=lambda f: f["terminated"],
        expected=1,
    ),
    Row(
        id="run-no-status-subresource",
        says="a kind without status subresource runs",
        batch="status",
        seen=lambda f: f["plain ran"],
        mended=True,
    ),
    Row(
        id="run-unable",
        says="a run that cannot start: Unable to run reconciliation",
        batch="inputs",
        seen=lambda f: f["failure"]["message"].startswith("Unable to run reconciliation"),
    ),
    Row(
        id="run-no-stats",
        says="a run without recap is a failure that shows the last lines",
        batch="status",
        seen=lambda f: failure(f, "broken")[0] == "True" and "no_such_module_anywhere" in failure(f, "broken")[1],
        mended=True,
    ),
    Row(
        id="run-status-errors-unmanaged",
        says="status errors are not written with manageStatus false",
        batch="status",
        seen=lambda f: f["wrong"].get("status"),
        expected=None,
        mended=True,
    ),
    Row(
        id="run-unmanaged",
        says="with manageStatus false the status is left alone",
        batch="status",
        seen=lambda f: f["quiet"].get("status"),
        expected=None,
    ),
    Row(
        id="run-exit-code",
        says="the exit code is never used",
        reason="no content ends with a recap of nothing but successes and an exit code that is not 0",
    ),
)

FAILURES = (
    Row(
        id="failure-failed",
        says="a failed task is a failure, with its msg",
        batch="status",
        seen=lambda f: failure(f, "lived"),
        expected=("True", "as asked"),
    ),
    Row(
        id="failure-ignored",
        says="one with ignore_errors is not",
        batch="status",
        seen=lambda f: success(f, "ignored"),
        expected="True",
    ),
    Row(
        id="failure-rescued",
        says="a rescued one is not",
        batch="status",
        seen=lambda f: (success(f, "rescued"), failure(f, "rescued")[0]),
        expected=("True", "False"),
        mended=True,
    ),
    Row(
        id="failure-loop",
        says="a loop with failed items is one; goMessages has the Go operator's text of it",
        batch="status",
        seen=lambda f: failure(f, "worded loop"),
        expected=("True", "One or more items failed"),
    ),
    Row(
        id="failure-loop-told",
        says="by default it is told by what its items failed with",
        batch="status",
        seen=lambda f: failure(f, "loop"),
        expected=("True", "item 1\nitem 2"),
        mended=True,
    ),
    Row(
        id="failure-retried",
        says="a retry is none",
        batch="status",
        seen=lambda f: success(f, "retried"),
        expected="True",
    ),
    Row(
        id="failure-unreachable",
        says="an unreachable host is one",
        batch="status",
        seen=lambda f: failure(f, "unreachable")[0],
        expected="True",
        mended=True,
    ),
    Row(
        id="failure-no-hosts",
        says="no hosts matched is none",
        batch="status",
        seen=lambda f: success(f, "nohost"),
        expected="True",
    ),
    Row(
        id="failure-no-log",
        says="no_log hides the message; goMessages has the Go operator's text of it",
        batch="status",
        seen=lambda f: failure(f, "worded hidden"),
        expected=("True", "unknown playbook failure"),
    ),
    Row(
        id="failure-no-log-told",
        says="by default the message names the task, and says that its output is hidden",
        batch="status",
        seen=lambda f: failure(f, "hidden"),
        expected=(
            "True",
            "A task failed, and no_log hides its output (ansible.builtin.fail, roles/case/tasks/hidden.yml:2)",
        ),
        mended=True,
    ),
    Row(
        id="failure-words",
        says="what a task's fail says is the message, with and without goMessages",
        batch="status",
        seen=lambda f: {failure(f, "lived"), failure(f, "worded fail")},
        expected={("True", "as asked")},
    ),
    Row(
        id="failure-any-host",
        says="every host counts, the messages in order",
        batch="status",
        seen=lambda f: sorted(str(failure(f, "others")[1]).splitlines()),
        expected=["first failed", "second failed"],
    ),
    Row(
        id="failure-long",
        says="a result above 700000 characters has no message",
        reason="an artefact of the Go operator's transport",
    ),
    Row(
        id="failure-async",
        says="a failed async task is none by itself",
        reason="tests/unit/execute/test_outcome.py",
    ),
)

ROWS = (
    *FLOW,
    *FAILURES,
)
