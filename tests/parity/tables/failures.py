"""What is a failed run, and what is an error before one."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, inputs, status, triggers, untested
from tests.parity.stage import conditions
from tests.parity.tables.status import state, success


def failure(facts: Facts, name: str) -> Any:
    found = conditions(facts[name]).get("Failure", {})
    return found.get("status"), found.get("message")


FLOW = (
    status(
        "run-period-unparsable",
        "an unparsable reconcile-period annotation is a status error",
        lambda f: state(f, "refused", -1, "Failure"),
        (
            "True",
            "Failed",
            'Unable to parse reconcile period annotation: time: missing unit in duration "30"',
        ),
    ),
    status("run-period-no-run", "and nothing runs", lambda f: f["refused runs"], 0),
    triggers(
        "run-no-finalizer-terminated",
        "a CR that goes without our finalizer does not run",
        lambda f: f["terminated"],
        1,
    ),
    status(
        "run-no-status-subresource",
        "a kind without status subresource runs",
        lambda f: f["plain ran"],
        mended=True,
    ),
    inputs(
        "run-unable",
        "a run that cannot start: Unable to run reconciliation",
        lambda f: f["failure"]["message"].startswith("Unable to run reconciliation"),
    ),
    status(
        "run-no-stats",
        "a run without recap is a failure that shows the last lines",
        lambda f: failure(f, "broken")[0] == "True" and "no_such_module_anywhere" in failure(f, "broken")[1],
        mended=True,
    ),
    status(
        "run-status-errors-unmanaged",
        "status errors are not written with manageStatus false",
        lambda f: f["wrong"].get("status"),
        None,
        mended=True,
    ),
    status(
        "run-unmanaged",
        "with manageStatus false the status is left alone",
        lambda f: f["quiet"].get("status"),
        None,
    ),
    untested(
        "run-exit-code",
        "the exit code is never used",
        "no content ends with a recap of nothing but successes and an exit code that is not 0",
    ),
)

FAILURES = (
    status(
        "failure-failed",
        "a failed task is a failure, with its msg",
        lambda f: failure(f, "lived"),
        ("True", "as asked"),
    ),
    status("failure-ignored", "one with ignore_errors is not", lambda f: success(f, "ignored"), "True"),
    status(
        "failure-rescued",
        "a rescued one is not",
        lambda f: (success(f, "rescued"), failure(f, "rescued")[0]),
        ("True", "False"),
        mended=True,
    ),
    status(
        "failure-loop",
        "a loop with failed items is one; goMessages has the Go operator's text of it",
        lambda f: failure(f, "worded loop"),
        ("True", "One or more items failed"),
    ),
    status(
        "failure-loop-told",
        "by default it is told by what its items failed with",
        lambda f: failure(f, "loop"),
        ("True", "item 1\nitem 2"),
        mended=True,
    ),
    status("failure-retried", "a retry is none", lambda f: success(f, "retried"), "True"),
    status(
        "failure-unreachable",
        "an unreachable host is one",
        lambda f: failure(f, "unreachable")[0],
        "True",
        mended=True,
    ),
    status("failure-no-hosts", "no hosts matched is none", lambda f: success(f, "nohost"), "True"),
    status(
        "failure-no-log",
        "no_log hides the message; goMessages has the Go operator's text of it",
        lambda f: failure(f, "worded hidden"),
        ("True", "unknown playbook failure"),
    ),
    status(
        "failure-no-log-told",
        "by default the message names the task, and says that its output is hidden",
        lambda f: failure(f, "hidden"),
        (
            "True",
            "A task failed, and no_log hides its output (ansible.builtin.fail, roles/case/tasks/hidden.yml:2)",
        ),
        mended=True,
    ),
    status(
        "failure-words",
        "what a task's fail says is the message, with and without goMessages",
        lambda f: {failure(f, "lived"), failure(f, "worded fail")},
        {("True", "as asked")},
    ),
    status(
        "failure-any-host",
        "every host counts, the messages in order",
        lambda f: sorted(str(failure(f, "others")[1]).splitlines()),
        ["first failed", "second failed"],
    ),
    untested(
        "failure-long",
        "a result above 700000 characters has no message",
        "an artefact of the Go operator's transport",
    ),
    untested("failure-async", "a failed async task is none by itself", "tests/unit/execute/test_outcome.py"),
)

ROWS = (
    *FLOW,
    *FAILURES,
)
