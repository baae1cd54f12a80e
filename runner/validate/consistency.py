"""Checks the manifests of a project against each other, its watches, and what its tasks do."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from runner.objects import GroupVersionKind
from runner.validate import documents
from runner.validate.content.places import Places
from runner.validate.content.reach import Reach, reach
from runner.validate.documents import Document, of_kind
from runner.validate.findings import Finding
from runner.validate.manifests import (
    certificates,
    crds,
    definitions,
    pruning,
    rbac,
    results,
    samples,
    scopes,
    specvars,
    structural,
    volumes,
)
from runner.validate.manifests.crds import Watched

NONE = (
    "the project has no CRD in crds/, config/ or deploy/, so that nothing can be said of schemas and samples: keep"
    " the CRDs in one of them"
)


def check(
    watched: list[Watched], kinds: Collection[GroupVersionKind], project: Path, places: Places
) -> Iterator[Finding]:
    """What is wrong in the project's manifests, and in how watches and tasks fit them.

    `kinds` are those of all watches, also of those that are not sound.
    """
    manifests, unreadable = documents.read_manifests(project)
    yield from unreadable
    found = of_kind(manifests, "CustomResourceDefinition")
    for crd in found:
        yield from definitions.check(crd)
        yield from structural.check(crd)
    reached = [(item, reach(item, places)) for item in watched]
    yield from _of_watches(watched, found)
    yield from samples.check([*manifests, *documents.read_samples(project)], kinds, found)
    yield from rbac.check(watched, manifests)
    yield from rbac.check_tasks([touch for _, of in reached for touch in of.touches], manifests)
    for item, of in reached:
        yield from _of_reach(item, of, found)
        yield from rbac.check_prune(item, of.touches, manifests)
    yield from rbac.check_prune_key(watched, manifests)
    yield from pruning.check(watched, manifests)
    yield from certificates.check(manifests)
    yield from volumes.check(manifests)


def _of_watches(watched: list[Watched], found: list[Document]) -> Iterator[Finding]:
    custom = [item for item in watched if crds.is_custom(item.watch.gvk.group)]
    if custom and not found:
        yield Finding("crd-none", custom[0].file, 1, "", NONE)
        return
    for item in watched:
        yield from crds.check(item, found)
        crd = crds.crd_of(item.watch.gvk.group, item.watch.gvk.kind, found)
        if crd is not None:
            yield from specvars.check(item, crd)


def _of_reach(item: Watched, of: Reach, found: list[Document]) -> Iterator[Finding]:
    if of.whole:
        kinds = {touch.kind for _, touch in of.touches} | ({results.ANYTHING} if of.unknown else set())
        yield from results.check(item, [document.node.plain() for document in of.tasks], kinds)
    crd = crds.crd_of(item.watch.gvk.group, item.watch.gvk.kind, found)
    if crd is not None and crd.text("spec", "scope") == "Cluster":
        yield from scopes.check_references(item, found)
        for document in of.tasks:
            yield from scopes.check(item.watch.gvk.kind, document)
