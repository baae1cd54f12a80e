"""4. Reconcile semantics."""

# fmt: off

from __future__ import annotations

import re
import socket
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


def failure(facts: Facts, name: str) -> Any:
    found = conditions(facts[name]).get("Failure", {})
    return found.get("status"), found.get("message")


def success(facts: Facts, name: str) -> Any:
    return conditions(facts[name]).get("Successful", {}).get("status")


TRIGGERS = (
    Row("4.1-created", "a new CR runs", "triggers", lambda f: f["labelled first"], 1),
    Row("4.1-start", "every existing CR runs at start", "triggers", lambda f: f["existing"], 1),
    Row("4.1-start-unselected", "if the selector matches", "triggers", lambda f: f["unselected"], 0),
    Row("4.1-spec", "a new generation runs", "triggers", lambda f: f["spec changed"], 2),
    Row("4.1-status", "a change of the status alone does not", "triggers", lambda f: f["status changed"], 1),
    Row("4.1-labels", "nor one of the labels", "triggers", lambda f: f["labels changed"], 1),
    Row("4.1-annotations", "nor one of the annotations", "triggers", lambda f: f["annotations changed"], 1),
    Row("4.1-annotations-watched", "but with watchAnnotationsChanges it does", "triggers", lambda f: f["annotations watched"], 2),
    Row("4.1-selector", "a CR that the selector does not match does not run", "triggers", lambda f: f["unselected"], 0),
    Row("4.1-selector-later", "a label that makes it match runs it", "triggers", lambda f: f["selected later"], 1, mended=True),
    Row("4.1-selector-timers", "dependents and timers ask the selector, too", reason="tests/unit/control/test_plan.py"),
    Row("4.1-selector-spec", "a spec change of one that does not match does not run", "triggers", lambda f: f["unselected spec"], 0),
    Row("4.1-generation-0", "a kind without generation runs at every update", reason="core kinds only; tests/unit/control/test_triggers.py"),
    Row("4.1-workers", "<workers> runs of a kind go on at a time", "triggers", lambda f: f["pair met"], [True, True]),
    Row("4.1-workers-one", "one with MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>=1", "triggers", lambda f: f["single met"], [False, False]),
    Row("4.1-workers-deprecated", "WORKER_<KIND>_<GROUP> counts where the other is not set", "triggers", lambda f: f["worker met"], [True, True]),
    Row("4.1-one-at-a-time", "never two runs of one CR at once", reason="tests/robustness/test_operator_kills.py"),
)

FLOW = (
    Row("4.2-period-unparsable", "an unparsable reconcile-period annotation is a status error", "status", lambda f: state(f, "refused", -1, "Failure"), ("True", "Failed", 'Unable to parse reconcile period annotation: time: missing unit in duration "30"')),
    Row("4.2-period-no-run", "and nothing runs", "status", lambda f: f["refused runs"], 0),
    Row("4.2-no-finalizer-terminated", "a CR that goes without our finalizer does not run", "triggers", lambda f: f["terminated"], 1),
    Row("4.2-no-status-subresource", "a kind without status subresource runs", "status", lambda f: f["plain ran"], mended=True),
    Row("4.2-unable", "a run that cannot start: Unable to run reconciliation", "inputs", lambda f: f["failure"]["message"].startswith("Unable to run reconciliation")),
    Row("4.2-no-stats", "a run without recap is a failure that shows the last lines", "status", lambda f: failure(f, "broken")[0] == "True" and "no_such_module_anywhere" in failure(f, "broken")[1], mended=True),
    Row("4.2-status-errors-unmanaged", "status errors are not written with manageStatus false", "status", lambda f: f["wrong"].get("status"), None, mended=True),
    Row("4.2-unmanaged", "with manageStatus false the status is left alone", "status", lambda f: f["quiet"].get("status"), None),
    Row("4.2-exit-code", "the exit code is never used", reason="no content ends with a recap of nothing but successes and an exit code that is not 0"),
)

STATUS = (
    Row("4.3-start-running", "start: Running", "status", lambda f: state(f, "lived", 0, "Running"), STARTED),
    Row("4.3-start-no-result", "without ansibleResult", "status", lambda f: result(f, "lived", 0, "Running"), None),
    Row("4.3-start-successful-absent", "Successful is not made", "status", lambda f: state(f, "lived", 0, "Successful"), ABSENT),
    Row("4.3-start-failure-absent", "nor Failure", "status", lambda f: state(f, "lived", 0, "Failure"), ABSENT),
    Row("4.3-success-running", "success: Running stays True", "status", lambda f: state(f, "lived", 1, "Running"), AWAITING),
    Row("4.3-success-result", "with the recap's counters", "status", lambda f: within({"ok": 4, "changed": 1, "skipped": 1, "failures": 0}, result(f, "lived", 1, "Running"))),
    Row("4.3-success-completion", "and the time of the recap", "status", lambda f: bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,7}[1-9])?\+00:00", result(f, "lived", 1, "Running")["completion"]))),
    Row("4.3-success-successful", "success: Successful", "status", lambda f: state(f, "lived", 1, "Successful"), SUCCEEDED),
    Row("4.3-success-failure", "success: Failure is False and blank", "status", lambda f: state(f, "lived", 1, "Failure"), BLANK),
    Row("4.3-success-keys", "type, status, lastTransitionTime, reason and message are always there", "status", lambda f: all({"type", "status", "lastTransitionTime", "reason", "message"} <= set(item) for item in f["lived states"][1].values())),
    Row("4.3-again-running", "the next start: Running", "status", lambda f: state(f, "lived", 2, "Running"), STARTED),
    Row("4.3-again-no-result", "without ansibleResult", "status", lambda f: result(f, "lived", 2, "Running"), None),
    Row("4.3-again-successful", "Successful is False, the rest of it kept", "status", lambda f: state(f, "lived", 2, "Successful"), NO_MORE),
    Row("4.3-again-failure", "Failure is left alone", "status", lambda f: state(f, "lived", 2, "Failure"), BLANK),
    Row("4.3-again-success", "and success again", "status", lambda f: state(f, "lived", 3, "Successful"), SUCCEEDED),
    Row("4.3-failed-running", "failed run: Running is False, the rest of it kept", "status", lambda f: state(f, "lived", 5, "Running"), ("False", "Running", "Running reconciliation")),
    Row("4.3-failed-successful", "failed run: Successful is False and blank", "status", lambda f: state(f, "lived", 5, "Successful"), BLANK),
    Row("4.3-failed-failure", "failed run: Failure with the message", "status", lambda f: state(f, "lived", 5, "Failure"), ("True", "Failed", "as asked")),
    Row("4.3-failed-result", "and with the counters", "status", lambda f: within({"failures": 1}, result(f, "lived", 5, "Failure"))),
    Row("4.3-failed-first-successful", "a first run that fails makes Successful, too", "status", lambda f: state(f, "failed", 1, "Successful"), BLANK),
    Row("4.3-failing-start", "the start after a failed run leaves Failure True", "status", lambda f: state(f, "failed", 2, "Failure"), ("True", "Failed", "as asked")),
    Row("4.3-failing-start-running", "and Running is True", "status", lambda f: state(f, "failed", 2, "Running"), STARTED),
    Row("4.3-recovered-failure", "success after failure: Failure is False and blank", "status", lambda f: state(f, "failed", -1, "Failure"), BLANK),
    Row("4.3-recovered-no-result", "without ansibleResult", "status", lambda f: result(f, "failed", -1, "Failure"), None),
    Row("4.3-error-running", "status error: Running is False, the rest of it kept", "status", lambda f: state(f, "refused", -1, "Running"), ("False", *AWAITING[1:])),
    Row("4.3-error-result", "ansibleResult included", "status", lambda f: result(f, "refused", -1, "Running") is not None),
    Row("4.3-error-successful", "status error: Successful is False, the rest of it kept", "status", lambda f: state(f, "refused", -1, "Successful"), NO_MORE),
    Row("4.3-transition-kept", "lastTransitionTime stays while the status does", "status", lambda f: since(f, "lived", 1, "Running") == since(f, "lived", 0, "Running")),
    Row("4.3-transition-kept-again", "over many runs", "status", lambda f: since(f, "lived", 4, "Running") == since(f, "lived", 0, "Running")),
    Row("4.3-transition-flip", "and is renewed when it flips", "status", lambda f: since(f, "lived", 2, "Successful") > since(f, "lived", 1, "Successful"), mended=True),
    Row("4.3-foreign-keys", "other keys of the status are kept", "status", lambda f: within({"custom": {"kept": [1]}, "ok": 5}, f["foreign"]["status"])),
    Row("4.3-foreign-condition", "conditions of others are kept", "status", lambda f: state(f, "foreign", -1, "Foreign"), ("False", "Mine", "not yours")),
    Row("4.3-foreign-transition", "with their times", "status", lambda f: since(f, "foreign", -1, "Foreign"), "2020-01-02T03:04:05Z"),
    Row("4.3-foreign-extra", "and with other keys that they have", "status", lambda f: f["foreign states"][-1]["Foreign"].get("observedGeneration"), 7, mended=True),
    Row("4.3-not-a-list", "conditions that are no list are replaced", "status", lambda f: success(f, "text"), "True"),
    Row("4.3-not-a-map", "conditions that are no maps are dropped", "status", lambda f: sorted(conditions(f["odd"])), ["Failure", "Foreign", "Running", "Successful"]),
    Row("4.3-odd-counters", "counters that are no numbers do no harm", "status", lambda f: success(f, "counters"), "True", mended=True),
    Row("4.3-role-writes", "what a role writes into the status is kept", "status", lambda f: f["writer"]["status"].get("mine"), "kept"),
    Row("4.3-role-writes-once", "and costs no second run", "status", lambda f: f["writer runs"], 1),
    Row("4.3-localhost", "counters are those of localhost", "status", lambda f: conditions(f["others"])["Failure"]["ansibleResult"]["failures"], 0),
)

FAILURES = (
    Row("4.4-failed", "a failed task is a failure, with its msg", "status", lambda f: failure(f, "lived"), ("True", "as asked")),
    Row("4.4-ignored", "one with ignore_errors is not", "status", lambda f: success(f, "ignored"), "True"),
    Row("4.4-rescued", "a rescued one is not", "status", lambda f: (success(f, "rescued"), failure(f, "rescued")[0]), ("True", "False"), mended=True),
    Row("4.4-loop", "a loop with failed items is one", "status", lambda f: failure(f, "loop"), ("True", "One or more items failed")),
    Row("4.4-retried", "a retry is none", "status", lambda f: success(f, "retried"), "True"),
    Row("4.4-unreachable", "an unreachable host is one", "status", lambda f: failure(f, "unreachable")[0], "True", mended=True),
    Row("4.4-no-hosts", "no hosts matched is none", "status", lambda f: success(f, "nohost"), "True"),
    Row("4.4-no-log", "no_log hides the message", "status", lambda f: failure(f, "hidden"), ("True", "unknown playbook failure")),
    Row("4.4-any-host", "every host counts, the messages in order", "status", lambda f: sorted(str(failure(f, "others")[1]).splitlines()), ["first failed", "second failed"]),
    Row("4.4-long", "a result above 700000 characters has no message", reason="an artefact of the Go operator's transport"),
    Row("4.4-async", "a failed async task is none by itself", reason="tests/unit/execute/test_run.py"),
)

REQUEUE = (
    Row("4.5-requeue", "requeue_after sets the next run", reason="tests/integration/test_requeue_after.py"),
    Row("4.5-requeue-bad", "a bad period is an error", reason="tests/integration/test_requeue_after.py, tests/unit/execute/test_run.py"),
    Row("4.5-requeue-kept", "the run goes on, with its kubeconfig, and no other overlaps", reason="tests/integration/test_requeue_after.py"),
    Row("4.5-requeue-finalizer", "in a finalizer it only requeues", reason="tests/integration/test_requeue_after.py"),
)

NEXT = (
    Row("4.6-success-period", "after a success the period decides", "triggers", lambda f: f["by annotation"] >= 3),
    Row("4.6-period-zero", "0 means never", "triggers", lambda f: f["annotated never"], 1),
    Row("4.6-backoff", "after a failure back-off decides, the period is ignored", "status", lambda f: f["failed retries"] >= 3),
    Row("4.6-backoff-fast", "which begins in milliseconds", reason="a run takes longer: tests/unit/control/test_queue.py"),
    Row("4.6-terminated", "nothing after a CR is gone", "triggers", lambda f: f["terminated"], 1),
    Row("4.6-not-found", "a CR that is gone is forgotten", reason="tests/unit/control/test_reconciler.py"),
    Row("4.6-deleted-meanwhile", "a CR deleted during its run is finalized after it", "triggers", lambda f: f["deleted meanwhile"], [False, True]),
)

FINALIZER = (
    Row("4.7-added", "the finalizer is added before the first run", "triggers", lambda f: f["vars finalizers"], ["parity.example.com/bye"]),
    Row("4.7-seen", "the run sees it", "triggers", lambda f: f["vars seen"], ["parity.example.com/bye"]),
    Row("4.7-vars", "vars alone: the watch's own role runs, with them", "triggers", lambda f: f["vars runs"], ["roles/hello", "roles/hello"]),
    Row("4.7-vars-only-then", "and they are there on the deletion run only", "triggers", lambda f: f["vars farewells"], ["", "vars"]),
    Row("4.7-vars-gone", "after which the CR is gone", "triggers", lambda f: f["vars gone"]),
    Row("4.7-role", "a role runs instead of the watch's", "triggers", lambda f: f["role runs"], ["roles/hello", "roles/bye"]),
    Row("4.7-playbook", "a playbook runs before a role", "triggers", lambda f: f["playbook runs"], ["roles/hello", ""]),
    Row("4.7-failed", "a failed one: Failure is True and the finalizer stays", "triggers", lambda f: f["stubborn"], ("True", ["parity.example.com/bye"])),
    Row("4.7-failed-then", "it is tried again until it succeeds", "triggers", lambda f: f["stubborn gone"]),
    Row("4.7-never-again", "it is not added during a deletion", "triggers", lambda f: f["foreign finalizer"], (2, ["other.example.com/keep"])),
    Row("4.7-wrong-path", "a wrong path beside vars loads and fails", reason="the same code as 4.2-unable; loading: 2.2-finalizer-vars"),
    Row("4.7-selector", "a CR that does not match any more is finalized still", "triggers", lambda f: f["unmatched gone"], mended=True),
)

LEADERSHIP = (
    Row("4.8-lease", "leader election by the Lease <id> in the namespace", "life", lambda f: f["lease"]["leaseDurationSeconds"], 15),
    Row("4.8-lease-identity", "whose holder is <hostname>_<uuid>", "life", lambda f: bool(re.fullmatch(rf"{re.escape(socket.gethostname())}_[0-9a-f-]{{36}}", f["lease"]["holderIdentity"]))),
    Row("4.8-lease-released", "and which is released at the end", "life", lambda f: f["released"] or "", "", mended=True),
    Row("4.8-standby", "only reconciling waits for leadership", reason="tests/robustness/test_leaders.py"),
    Row("4.8-shutdown-written", "a run that ends within the grace period is written", "life", lambda f: f["graceful"], (0, "True"), mended=True),
    Row("4.8-shutdown-cut", "one that does not is ended: exit code 1", "life", lambda f: f["cut short code"], 1),
    Row("4.8-shutdown-children", "with all of its processes", "life", lambda f: f["cut short left"], [], mended=True),
    Row("4.8-field-manager", "the field manager is ansible-operator", "status", lambda f: {item["manager"] for item in f["rescued"]["metadata"]["managedFields"]} >= {"ansible-operator"}),
)

SECTION_4 = (*TRIGGERS, *FLOW, *STATUS, *FAILURES, *REQUEUE, *NEXT, *FINALIZER, *LEADERSHIP)
