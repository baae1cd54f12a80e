"""Who reconciles, and what becomes of runs when the operator stops."""

from __future__ import annotations

import re
import socket

from tests.parity.rows import Row

LEADERSHIP = (
    Row(
        id="leader-lease",
        says="leader election by the Lease <id> in the namespace",
        batch="life",
        seen=lambda f: f["lease"]["leaseDurationSeconds"],
        expected=15,
    ),
    Row(
        id="leader-lease-identity",
        says="whose holder is <hostname>_<uuid>",
        batch="life",
        seen=lambda f: bool(
            re.fullmatch(rf"{re.escape(socket.gethostname())}_[0-9a-f-]{{36}}", f["lease"]["holderIdentity"])
        ),
    ),
    Row(
        id="leader-lease-released",
        says="and which is released at the end",
        batch="life",
        seen=lambda f: f["released"] or "",
        expected="",
        mended=True,
    ),
    Row(
        id="leader-standby",
        says="only reconciling waits for leadership",
        reason="tests/robustness/test_leaders.py",
    ),
)

SHUTDOWN = (
    Row(
        id="shutdown-written",
        says="a run that ends within the grace period is written",
        batch="life",
        seen=lambda f: f["graceful"],
        expected=(0, "True"),
        mended=True,
    ),
    Row(
        id="shutdown-cut",
        says="one that does not is ended: exit code 1",
        batch="life",
        seen=lambda f: f["cut short code"],
        expected=1,
    ),
    Row(
        id="shutdown-children",
        says="with all of its processes",
        batch="life",
        seen=lambda f: f["cut short left"],
        expected=[],
        mended=True,
    ),
)

ROWS = (
    *LEADERSHIP,
    *SHUTDOWN,
)
