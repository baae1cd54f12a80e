"""Which dependents are watched, and which of their changes run the owner."""

from __future__ import annotations

from tests.parity.rows import Row

WATCHES = (
    Row(
        id="watched-reference",
        says="dependents by ownerReference are watched",
        batch="proxy",
        seen=lambda f: f["updated"],
    ),
    Row(
        id="watched-annotation",
        says="dependents by annotation are watched",
        batch="proxy",
        seen=lambda f: f["away-updated"],
    ),
    Row(
        id="watched-off",
        says="not with watchDependentResources false",
        batch="proxy",
        seen=lambda f: f["alone"],
        expected=0,
    ),
    Row(
        id="watched-blacklist",
        says="nor blacklisted kinds",
        batch="proxy",
        seen=lambda f: f["blacklisted"],
        expected=0,
    ),
    Row(
        id="watched-cluster-scoped",
        says="nor cluster-scoped ones of a namespaced owner",
        batch="proxy",
        seen=lambda f: f["narrow"],
        expected=0,
    ),
    Row(
        id="watched-cluster-scoped-wanted",
        says="but with watchClusterScopedResources",
        batch="proxy",
        seen=lambda f: f["wide"],
    ),
    Row(
        id="watched-unknown-owner",
        says="an owner kind that is not watched is no reason to refuse",
        reason="no run has one: tests/contract/test_proxy_ownership.py",
    ),
    Row(
        id="watched-namespaces",
        says="only in the watched namespaces",
        reason="tests/unit/control/test_watching.py",
    ),
    Row(
        id="watched-retried",
        says="a watch that could not start is tried again",
        reason="tests/contract/test_reflector.py",
    ),
    Row(
        id="watched-recovery",
        says="a named GET after a restart watches them again",
        batch="proxy",
        seen=lambda f: f["recovered"],
    ),
)

DEPENDENTS = (
    Row(
        id="dependent-created",
        says="a dependent that is created does not run its owner",
        batch="proxy",
        seen=lambda f: f["created"],
        expected=0,
    ),
    Row(id="dependent-deleted", says="one that is deleted does", batch="proxy", seen=lambda f: f["deleted"]),
    Row(id="dependent-put-back", says="so that it is put back", batch="proxy", seen=lambda f: f["put back"]),
    Row(id="dependent-updated", says="one that changes does", batch="proxy", seen=lambda f: f["child"]),
    Row(id="dependent-labels", says="also by its labels alone", batch="proxy", seen=lambda f: f["labels"]),
    Row(
        id="dependent-status",
        says="but not by its status alone",
        batch="proxy",
        seen=lambda f: f["status"],
        expected=0,
    ),
    Row(
        id="dependent-version",
        says="the version in an ownerReference is ignored",
        batch="proxy",
        seen=lambda f: f["version"],
    ),
    Row(
        id="dependent-annotated",
        says="a dependent by annotation that is deleted runs its owner",
        batch="proxy",
        seen=lambda f: f["away-deleted"],
    ),
    Row(
        id="dependent-own-writes",
        says="what a run writes itself does not run it again",
        batch="proxy",
        seen=lambda f: f["own writes"],
        expected=1,
        mended=True,
    ),
)

ROWS = (
    *WATCHES,
    *DEPENDENTS,
)
