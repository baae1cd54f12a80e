"""Which dependents are watched, and which of their changes run the owner."""

from __future__ import annotations

from tests.parity.rows import proxy, untested

WATCHES = (
    proxy("watched-reference", "dependents by ownerReference are watched", lambda f: f["updated"]),
    proxy("watched-annotation", "dependents by annotation are watched", lambda f: f["away-updated"]),
    proxy("watched-off", "not with watchDependentResources false", lambda f: f["alone"], 0),
    proxy("watched-blacklist", "nor blacklisted kinds", lambda f: f["blacklisted"], 0),
    proxy("watched-cluster-scoped", "nor cluster-scoped ones of a namespaced owner", lambda f: f["narrow"], 0),
    proxy("watched-cluster-scoped-wanted", "but with watchClusterScopedResources", lambda f: f["wide"]),
    untested(
        "watched-unknown-owner",
        "an owner kind that is not watched is no reason to refuse",
        "no run has one: tests/contract/test_proxy_ownership.py",
    ),
    untested("watched-namespaces", "only in the watched namespaces", "tests/unit/control/test_watching.py"),
    untested("watched-retried", "a watch that could not start is tried again", "tests/contract/test_reflector.py"),
    proxy("watched-recovery", "a named GET after a restart watches them again", lambda f: f["recovered"]),
)

DEPENDENTS = (
    proxy("dependent-created", "a dependent that is created does not run its owner", lambda f: f["created"], 0),
    proxy("dependent-deleted", "one that is deleted does", lambda f: f["deleted"]),
    proxy("dependent-put-back", "so that it is put back", lambda f: f["put back"]),
    proxy("dependent-updated", "one that changes does", lambda f: f["child"]),
    proxy("dependent-labels", "also by its labels alone", lambda f: f["labels"]),
    proxy("dependent-status", "but not by its status alone", lambda f: f["status"], 0),
    proxy("dependent-version", "the version in an ownerReference is ignored", lambda f: f["version"]),
    proxy(
        "dependent-annotated",
        "a dependent by annotation that is deleted runs its owner",
        lambda f: f["away-deleted"],
    ),
    proxy(
        "dependent-own-writes",
        "what a run writes itself does not run it again",
        lambda f: f["own writes"],
        1,
        mended=True,
    ),
)

ROWS = (
    *WATCHES,
    *DEPENDENTS,
)
