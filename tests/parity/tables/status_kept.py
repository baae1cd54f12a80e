"""What of the status of a CR stays as others wrote it."""

from __future__ import annotations

from tests.parity.rows import Row, within
from tests.parity.stage import conditions
from tests.parity.tables.status import since, state, success

KEPT = (
    Row(
        id="status-foreign-keys",
        says="other keys of the status are kept",
        batch="status",
        seen=lambda f: within({"custom": {"kept": [1]}, "ok": 5}, f["foreign"]["status"]),
    ),
    Row(
        id="status-foreign-condition",
        says="conditions of others are kept",
        batch="status",
        seen=lambda f: state(f, "foreign", -1, "Foreign"),
        expected=("False", "Mine", "not yours"),
    ),
    Row(
        id="status-foreign-transition",
        says="with their times",
        batch="status",
        seen=lambda f: since(f, "foreign", -1, "Foreign"),
        expected="2020-01-02T03:04:05Z",
    ),
    Row(
        id="status-foreign-extra",
        says="and with other keys that they have",
        batch="status",
        seen=lambda f: f["foreign states"][-1]["Foreign"].get("observedGeneration"),
        expected=7,
        mended=True,
    ),
    Row(
        id="status-not-a-list",
        says="conditions that are no list are replaced",
        batch="status",
        seen=lambda f: success(f, "text"),
        expected="True",
    ),
    Row(
        id="status-not-a-map",
        says="conditions that are no maps are dropped",
        batch="status",
        seen=lambda f: sorted(conditions(f["odd"])),
        expected=["Failure", "Foreign", "Running", "Successful"],
    ),
    Row(
        id="status-odd-counters",
        says="counters that are no numbers do no harm",
        batch="status",
        seen=lambda f: success(f, "counters"),
        expected="True",
        mended=True,
    ),
    Row(
        id="status-role-writes",
        says="what a role writes into the status is kept",
        batch="status",
        seen=lambda f: f["writer"]["status"].get("mine"),
        expected="kept",
    ),
    Row(
        id="status-role-writes-once",
        says="and costs no second run",
        batch="status",
        seen=lambda f: f["writer runs"],
        expected=1,
    ),
    Row(
        id="status-field-manager",
        says="the field manager is ansible-operator",
        batch="status",
        seen=lambda f: (
            {item["manager"] for item in f["rescued"]["metadata"]["managedFields"]} >= {"ansible-operator"}
        ),
    ),
)

ROWS = (*KEPT,)
