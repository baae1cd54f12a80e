"""What runs a CR, at once or later."""

from __future__ import annotations

from tests.parity.rows import status, triggers, untested

TRIGGERS = (
    triggers("trigger-created", "a new CR runs", lambda f: f["labelled first"], 1),
    triggers("trigger-start", "every existing CR runs at start", lambda f: f["existing"], 1),
    triggers("trigger-start-unselected", "if the selector matches", lambda f: f["unselected"], 0),
    triggers("trigger-spec", "a new generation runs", lambda f: f["spec changed"], 2),
    triggers("trigger-status", "a change of the status alone does not", lambda f: f["status changed"], 1),
    triggers("trigger-labels", "nor one of the labels", lambda f: f["labels changed"], 1),
    triggers("trigger-annotations", "nor one of the annotations", lambda f: f["annotations changed"], 1),
    triggers(
        "trigger-annotations-watched",
        "but with watchAnnotationsChanges it does",
        lambda f: f["annotations watched"],
        2,
    ),
    triggers(
        "trigger-selector", "a CR that the selector does not match does not run", lambda f: f["unselected"], 0
    ),
    triggers(
        "trigger-selector-later",
        "a label that makes it match runs it",
        lambda f: f["selected later"],
        1,
        mended=True,
    ),
    untested(
        "trigger-selector-timers", "dependents and timers ask the selector, too", "tests/unit/control/test_plan.py"
    ),
    triggers(
        "trigger-selector-spec",
        "a spec change of one that does not match does not run",
        lambda f: f["unselected spec"],
        0,
    ),
    untested(
        "trigger-generation-0",
        "a kind without generation runs at every update",
        "core kinds only; tests/unit/control/test_triggers.py",
    ),
    triggers("trigger-workers", "<workers> runs of a kind go on at a time", lambda f: f["pair met"], [True, True]),
    triggers(
        "trigger-workers-one",
        "one with MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>=1",
        lambda f: f["single met"],
        [False, False],
    ),
    triggers(
        "trigger-workers-deprecated",
        "WORKER_<KIND>_<GROUP> counts where the other is not set",
        lambda f: f["worker met"],
        [True, True],
    ),
    untested(
        "trigger-one-at-a-time", "never two runs of one CR at once", "tests/robustness/test_operator_kills.py"
    ),
)

REQUEUE = (
    untested("requeue-after", "requeue_after sets the next run", "tests/integration/test_requeue_after.py"),
    untested(
        "requeue-bad",
        "a bad period is an error",
        "tests/integration/test_requeue_after.py, tests/unit/execute/test_outcome.py",
    ),
    untested(
        "requeue-kept",
        "the run goes on, with its kubeconfig, and no other overlaps",
        "tests/integration/test_requeue_after.py",
    ),
    untested("requeue-finalizer", "in a finalizer it only requeues", "tests/integration/test_requeue_after.py"),
)

NEXT = (
    triggers("next-success-period", "after a success the period decides", lambda f: f["by annotation"] >= 3),
    triggers("next-period-zero", "0 means never", lambda f: f["annotated never"], 1),
    status(
        "next-backoff",
        "after a failure back-off decides, the period is ignored",
        lambda f: f["failed retries"] >= 3,
    ),
    untested(
        "next-backoff-fast", "which begins in milliseconds", "a run takes longer: tests/unit/control/test_queue.py"
    ),
    triggers("next-terminated", "nothing after a CR is gone", lambda f: f["terminated"], 1),
    untested("next-not-found", "a CR that is gone is forgotten", "tests/unit/control/test_reconciler.py"),
    triggers(
        "next-deleted-meanwhile",
        "a CR deleted during its run is finalized after it",
        lambda f: f["deleted meanwhile"],
        [False, True],
    ),
)

ROWS = (
    *TRIGGERS,
    *REQUEUE,
    *NEXT,
)
