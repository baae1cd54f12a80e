"""What runs when a CR is deleted."""

from __future__ import annotations

from tests.parity.rows import triggers, untested

FINALIZER = (
    triggers(
        "finalizer-added",
        "the finalizer is added before the first run",
        lambda f: f["vars finalizers"],
        ["parity.example.com/bye"],
    ),
    triggers("finalizer-seen", "the run sees it", lambda f: f["vars seen"], ["parity.example.com/bye"]),
    triggers(
        "finalizer-vars",
        "vars alone: the watch's own role runs, with them",
        lambda f: f["vars runs"],
        ["roles/hello", "roles/hello"],
    ),
    triggers(
        "finalizer-vars-only-then",
        "and they are there on the deletion run only",
        lambda f: f["vars farewells"],
        ["", "vars"],
    ),
    triggers("finalizer-vars-gone", "after which the CR is gone", lambda f: f["vars gone"]),
    triggers(
        "finalizer-role",
        "a role runs instead of the watch's",
        lambda f: f["role runs"],
        ["roles/hello", "roles/bye"],
    ),
    triggers(
        "finalizer-playbook", "a playbook runs before a role", lambda f: f["playbook runs"], ["roles/hello", ""]
    ),
    triggers(
        "finalizer-failed",
        "a failed one: Failure is True and the finalizer stays",
        lambda f: f["stubborn"],
        ("True", ["parity.example.com/bye"]),
    ),
    triggers("finalizer-failed-then", "it is tried again until it succeeds", lambda f: f["stubborn gone"]),
    triggers(
        "finalizer-never-again",
        "it is not added during a deletion",
        lambda f: f["foreign finalizer"],
        (2, ["other.example.com/keep"]),
    ),
    untested(
        "finalizer-wrong-path",
        "a wrong path beside vars loads and fails",
        "the same code as run-unable; loading: watch-finalizer-vars",
    ),
    triggers(
        "finalizer-selector",
        "a CR that does not match any more is finalized still",
        lambda f: f["unmatched gone"],
        mended=True,
    ),
)

ROWS = (*FINALIZER,)
