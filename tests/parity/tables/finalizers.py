"""What runs when a CR is deleted."""

from __future__ import annotations

from tests.parity.rows import Row

FINALIZER = (
    Row(
        id="finalizer-added",
        says="the finalizer is added before the first run",
        batch="triggers",
        seen=lambda f: f["vars finalizers"],
        expected=["parity.example.com/bye"],
    ),
    Row(
        id="finalizer-seen",
        says="the run sees it",
        batch="triggers",
        seen=lambda f: f["vars seen"],
        expected=["parity.example.com/bye"],
    ),
    Row(
        id="finalizer-vars",
        says="vars alone: the watch's own role runs, with them",
        batch="triggers",
        seen=lambda f: f["vars runs"],
        expected=["roles/hello", "roles/hello"],
    ),
    Row(
        id="finalizer-vars-only-then",
        says="and they are there on the deletion run only",
        batch="triggers",
        seen=lambda f: f["vars farewells"],
        expected=["", "vars"],
    ),
    Row(
        id="finalizer-vars-gone",
        says="after which the CR is gone",
        batch="triggers",
        seen=lambda f: f["vars gone"],
    ),
    Row(
        id="finalizer-role",
        says="a role runs instead of the watch's",
        batch="triggers",
        seen=lambda f: f["role runs"],
        expected=["roles/hello", "roles/bye"],
    ),
    Row(
        id="finalizer-playbook",
        says="a playbook runs before a role",
        batch="triggers",
        seen=lambda f: f["playbook runs"],
        expected=["roles/hello", ""],
    ),
    Row(
        id="finalizer-failed",
        says="a failed one: Failure is True and the finalizer stays",
        batch="triggers",
        seen=lambda f: f["stubborn"],
        expected=("True", ["parity.example.com/bye"]),
    ),
    Row(
        id="finalizer-failed-then",
        says="it is tried again until it succeeds",
        batch="triggers",
        seen=lambda f: f["stubborn gone"],
    ),
    Row(
        id="finalizer-never-again",
        says="it is not added during a deletion",
        batch="triggers",
        seen=lambda f: f["foreign finalizer"],
        expected=(2, ["other.example.com/keep"]),
    ),
    Row(
        id="finalizer-wrong-path",
        says="a wrong path beside vars loads and fails",
        reason="the same code as run-unable; loading: watch-finalizer-vars",
    ),
    Row(
        id="finalizer-selector",
        says="a CR that does not match any more is finalized still",
        batch="triggers",
        seen=lambda f: f["unmatched gone"],
        mended=True,
    ),
)

ROWS = (*FINALIZER,)
