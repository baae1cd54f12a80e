"""What runs a CR, at once or later."""

from __future__ import annotations

from tests.parity.rows import Row

TRIGGERS = (
    Row(
        id="trigger-created",
        says="a new CR runs",
        batch="triggers",
        seen=lambda f: f["labelled first"],
        expected=1,
    ),
    Row(
        id="trigger-start",
        says="every existing CR runs at start",
        batch="triggers",
        seen=lambda f: f["existing"],
        expected=1,
    ),
    Row(
        id="trigger-start-unselected",
        says="if the selector matches",
        batch="triggers",
        seen=lambda f: f["unselected"],
        expected=0,
    ),
    Row(
        id="trigger-spec",
        says="a new generation runs",
        batch="triggers",
        seen=lambda f: f["spec changed"],
        expected=2,
    ),
    Row(
        id="trigger-status",
        says="a change of the status alone does not",
        batch="triggers",
        seen=lambda f: f["status changed"],
        expected=1,
    ),
    Row(
        id="trigger-labels",
        says="nor one of the labels",
        batch="triggers",
        seen=lambda f: f["labels changed"],
        expected=1,
    ),
    Row(
        id="trigger-annotations",
        says="nor one of the annotations",
        batch="triggers",
        seen=lambda f: f["annotations changed"],
        expected=1,
    ),
    Row(
        id="trigger-annotations-watched",
        says="but with watchAnnotationsChanges it does",
        batch="triggers",
        seen=lambda f: f["annotations watched"],
        expected=2,
    ),
    Row(
        id="trigger-selector",
        says="a CR that the selector does not match does not run",
        batch="triggers",
        seen=lambda f: f["unselected"],
        expected=0,
    ),
    Row(
        id="trigger-selector-later",
        says="a label that makes it match runs it",
        batch="triggers",
        seen=lambda f: f["selected later"],
        expected=1,
        mended=True,
    ),
    Row(
        id="trigger-selector-timers",
        says="dependents and timers ask the selector, too",
        reason="tests/unit/control/test_plan.py",
    ),
    Row(
        id="trigger-selector-spec",
        says="a spec change of one that does not match does not run",
        batch="triggers",
        seen=lambda f: f["unselected spec"],
        expected=0,
    ),
    Row(
        id="trigger-generation-0",
        says="a kind without generation runs at every update",
        reason="core kinds only; tests/unit/control/test_triggers.py",
    ),
    Row(
        id="trigger-workers",
        says="<workers> runs of a kind go on at a time",
        batch="triggers",
        seen=lambda f: f["pair met"],
        expected=[True, True],
    ),
    Row(
        id="trigger-workers-one",
        says="one with MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>=1",
        batch="triggers",
        seen=lambda f: f["single met"],
        expected=[False, False],
    ),
    Row(
        id="trigger-workers-deprecated",
        says="WORKER_<KIND>_<GROUP> counts where the other is not set",
        batch="triggers",
        seen=lambda f: f["worker met"],
        expected=[True, True],
    ),
    Row(
        id="trigger-one-at-a-time",
        says="never two runs of one CR at once",
        reason="tests/robustness/test_operator_kills.py",
    ),
)

REQUEUE = (
    Row(
        id="requeue-after",
        says="requeue_after sets the next run",
        reason="tests/integration/test_requeue_after.py",
    ),
    Row(
        id="requeue-bad",
        says="a bad period is an error",
        reason="tests/integration/test_requeue_after.py, tests/unit/execute/test_outcome.py",
    ),
    Row(
        id="requeue-kept",
        says="the run goes on, with its kubeconfig, and no other overlaps",
        reason="tests/integration/test_requeue_after.py",
    ),
    Row(
        id="requeue-finalizer",
        says="in a finalizer it only requeues",
        reason="tests/integration/test_requeue_after.py",
    ),
)

NEXT = (
    Row(
        id="next-success-period",
        says="after a success the period decides",
        batch="triggers",
        seen=lambda f: f["by annotation"] >= 3,
    ),
    Row(
        id="next-period-zero",
        says="0 means never",
        batch="triggers",
        seen=lambda f: f["annotated never"],
        expected=1,
    ),
    Row(
        id="next-backoff",
        says="after a failure back-off decides, the period is ignored",
        batch="status",
        seen=lambda f: f["failed retries"] >= 3,
    ),
    Row(
        id="next-backoff-fast",
        says="which begins in milliseconds",
        reason="a run takes longer: tests/unit/control/test_queue.py",
    ),
    Row(
        id="next-terminated",
        says="nothing after a CR is gone",
        batch="triggers",
        seen=lambda f: f["terminated"],
        expected=1,
    ),
    Row(
        id="next-not-found", says="a CR that is gone is forgotten", reason="tests/unit/control/test_reconciler.py"
    ),
    Row(
        id="next-deleted-meanwhile",
        says="a CR deleted during its run is finalized after it",
        batch="triggers",
        seen=lambda f: f["deleted meanwhile"],
        expected=[False, True],
    ),
)

ROWS = (
    *TRIGGERS,
    *REQUEUE,
    *NEXT,
)
