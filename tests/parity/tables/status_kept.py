"""What of the status of a CR stays as others wrote it."""

from __future__ import annotations

from tests.parity.rows import status, within
from tests.parity.stage import conditions
from tests.parity.tables.status import since, state, success

KEPT = (
    status(
        "status-foreign-keys",
        "other keys of the status are kept",
        lambda f: within({"custom": {"kept": [1]}, "ok": 5}, f["foreign"]["status"]),
    ),
    status(
        "status-foreign-condition",
        "conditions of others are kept",
        lambda f: state(f, "foreign", -1, "Foreign"),
        ("False", "Mine", "not yours"),
    ),
    status(
        "status-foreign-transition",
        "with their times",
        lambda f: since(f, "foreign", -1, "Foreign"),
        "2020-01-02T03:04:05Z",
    ),
    status(
        "status-foreign-extra",
        "and with other keys that they have",
        lambda f: f["foreign states"][-1]["Foreign"].get("observedGeneration"),
        7,
        mended=True,
    ),
    status("status-not-a-list", "conditions that are no list are replaced", lambda f: success(f, "text"), "True"),
    status(
        "status-not-a-map",
        "conditions that are no maps are dropped",
        lambda f: sorted(conditions(f["odd"])),
        ["Failure", "Foreign", "Running", "Successful"],
    ),
    status(
        "status-odd-counters",
        "counters that are no numbers do no harm",
        lambda f: success(f, "counters"),
        "True",
        mended=True,
    ),
    status(
        "status-role-writes",
        "what a role writes into the status is kept",
        lambda f: f["writer"]["status"].get("mine"),
        "kept",
    ),
    status("status-role-writes-once", "and costs no second run", lambda f: f["writer runs"], 1),
    status(
        "status-field-manager",
        "the field manager is ansible-operator",
        lambda f: {item["manager"] for item in f["rescued"]["metadata"]["managedFields"]} >= {"ansible-operator"},
    ),
)

ROWS = (*KEPT,)
