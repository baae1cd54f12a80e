"""Who reconciles, and what becomes of runs when the operator stops."""

from __future__ import annotations

import re
import socket

from tests.parity.rows import life, untested

LEADERSHIP = (
    life(
        "leader-lease",
        "leader election by the Lease <id> in the namespace",
        lambda f: f["lease"]["leaseDurationSeconds"],
        15,
    ),
    life(
        "leader-lease-identity",
        "whose holder is <hostname>_<uuid>",
        lambda f: bool(
            re.fullmatch(rf"{re.escape(socket.gethostname())}_[0-9a-f-]{{36}}", f["lease"]["holderIdentity"])
        ),
    ),
    life(
        "leader-lease-released", "and which is released at the end", lambda f: f["released"] or "", "", mended=True
    ),
    untested("leader-standby", "only reconciling waits for leadership", "tests/robustness/test_leaders.py"),
)

SHUTDOWN = (
    life(
        "shutdown-written",
        "a run that ends within the grace period is written",
        lambda f: f["graceful"],
        (0, "True"),
        mended=True,
    ),
    life("shutdown-cut", "one that does not is ended: exit code 1", lambda f: f["cut short code"], 1),
    life("shutdown-children", "with all of its processes", lambda f: f["cut short left"], [], mended=True),
)

ROWS = (
    *LEADERSHIP,
    *SHUTDOWN,
)
