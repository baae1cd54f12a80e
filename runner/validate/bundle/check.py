"""Finds the mistakes of a bundle for OLM (layout registry+v1) from its files alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runner.validate.bundle import about, apis, install, labels, webhooks
from runner.validate.bundle.files import CSV, SUPPORTED, Bundle
from runner.validate.documents import of_kind, read, shown, yaml_files
from runner.validate.findings import Finding
from runner.validate.manifests import definitions, structural

MANIFESTS = Path("manifests")
_SUFFIX = "*.clusterserviceversion.yaml"


def is_bundle(directory: Path) -> bool:
    """Whether a directory is a bundle, and no project."""
    looks_so = (directory / labels.FILE).is_file() or any((directory / MANIFESTS).glob(_SUFFIX))
    return looks_so and not (directory / "watches.yaml").exists()


def check(directory: Path) -> list[Finding]:
    """What is wrong with a bundle, in the order of files and lines."""
    return sorted(set(_check(directory)), key=lambda finding: finding.place)


def _check(directory: Path) -> Iterator[Finding]:
    found = [read(path) for path in yaml_files(directory / MANIFESTS)]
    yield from (finding for _, findings in found for finding in findings)
    objects = [document for documents, _ in found for document in documents]
    for document in objects:
        if (kind := document.text("kind")) not in SUPPORTED:
            message = f"OLM does not install {kind or 'what has no kind'} from a bundle: take it out"
            yield Finding("bundle-layout", document.file, document.get("kind").line, "kind", message)
    yield from labels.check(directory)
    versions = of_kind(objects, CSV)
    place = shown(directory / MANIFESTS)
    if len(versions) != 1:
        message = f"must have one {CSV}, and has {len(versions)}: make it with `ansible-operator generate bundle`"
        yield Finding("bundle-layout", versions[1].file if versions else place, 1, "", message)
    if versions:
        yield from _of_csv(Bundle(directory, versions[0], tuple(objects)))


def _of_csv(bundle: Bundle) -> Iterator[Finding]:
    for crd in bundle.crds:
        yield from definitions.check(crd)
        yield from structural.check(crd)
    yield from about.check(bundle)
    yield from apis.check(bundle)
    yield from install.check(bundle)
    yield from webhooks.check(bundle)
