"""Whether a ClusterServiceVersion owns the CRDs of its bundle, and has examples and descriptors for them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.config.yamlfile import Located, read_yaml
from runner.errors import WatchesError
from runner.objects import GroupVersionKind
from runner.validate.bundle.files import Bundle
from runner.validate.documents import Document, child, members, text
from runner.validate.findings import Finding
from runner.validate.manifests import samples
from runner.validate.manifests.schemas import ITEM, at, keeps_all, schema_of

_OWNED = "spec.customresourcedefinitions.owned"
EXAMPLES = "alm-examples"
_EXAMPLES = f"metadata.annotations.{EXAMPLES}"
_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")


def check(bundle: Bundle) -> Iterator[Finding]:
    yield from _owned(bundle)
    yield from _examples(bundle)
    for index, entry in enumerate(members(owned(bundle))):
        yield from _descriptors(bundle, entry, f"{_OWNED}[{index}]")


def owned(bundle: Bundle) -> Located:
    return bundle.csv.get("spec", "customresourcedefinitions", "owned")


def kind_of(entry: Located) -> GroupVersionKind:
    """The kind that an entry of `owned` names."""
    group = text(child(entry, "name")).partition(".")[2]
    return GroupVersionKind(group, text(child(entry, "version")), text(child(entry, "kind")))


def _defined(bundle: Bundle) -> dict[GroupVersionKind, Document]:
    return {
        GroupVersionKind(
            crd.text("spec", "group"), text(child(version, "name")), crd.text("spec", "names", "kind")
        ): crd
        for crd in bundle.crds
        for version in members(crd.get("spec", "versions"))
    }


def _owned(bundle: Bundle) -> Iterator[Finding]:
    defined = _defined(bundle)
    seen: set[GroupVersionKind] = set()
    for index, entry in enumerate(members(owned(bundle))):
        gvk, field = kind_of(entry), f"{_OWNED}[{index}]"
        if gvk in seen:
            yield bundle.finding("csv-owned", entry, field, f"{gvk} is there twice: remove one")
        elif gvk not in defined:
            message = f"no CRD of the bundle defines {gvk}"
            yield bundle.finding("csv-owned", entry, field, message)
        elif defined[gvk].text("metadata", "name") != text(child(entry, "name")):
            message = f"must be the name of the CRD: {defined[gvk].text('metadata', 'name')}"
            yield bundle.finding("csv-owned", child(entry, "name"), f"{field}.name", message)
        seen.add(gvk)
    for gvk, crd in defined.items():
        if gvk not in seen:
            message = f"{gvk} is not among the owned kinds of {bundle.csv.file}: add it to {_OWNED}"
            yield Finding("csv-owned", crd.file, crd.get("spec", "versions").line, "spec.versions", message)


def _examples(bundle: Bundle) -> Iterator[Finding]:
    node = bundle.csv.get("metadata", "annotations", EXAMPLES)
    try:
        found = read_yaml(text(node) or "[]", bundle.csv.file)
    except WatchesError as error:
        message = f"must be a list in JSON: {error.problems[0].message}"
        yield bundle.finding("csv-examples", node, _EXAMPLES, message)
        return
    examples = [Document(bundle.csv.file, item) for item in members(found)]
    wanted = {kind_of(entry) for entry in members(owned(bundle))}
    given = {GroupVersionKind.of(one.text("apiVersion"), one.text("kind")) for one in examples}
    for gvk in sorted(given - wanted):
        yield bundle.finding("csv-examples", node, _EXAMPLES, f"{gvk} is not among the owned kinds: take it out")
    shown = {(gvk.group, gvk.kind) for gvk in given}  # in one of its versions will do
    for gvk in sorted(gvk for gvk in wanted if (gvk.group, gvk.kind) not in shown):
        message = f"there is none of {gvk}: add one to config/samples"
        yield bundle.finding("csv-example-missing", node, _EXAMPLES, message)
    for index, example in enumerate(examples):
        for finding in samples.check([example], wanted, bundle.crds):
            field = f"{_EXAMPLES}[{index}].{finding.field}"
            yield bundle.finding("csv-examples", node, field, finding.message)


def _descriptors(bundle: Bundle, entry: Located, field: str) -> Iterator[Finding]:
    """Paths that the schema does not have: what is shown there is always empty."""
    gvk = kind_of(entry)
    crd = _defined(bundle).get(gvk)
    if crd is None:
        return
    for list_, part in (("specDescriptors", "spec"), ("statusDescriptors", "status")):
        schema = child(schema_of(crd, gvk.version), "properties", part).plain() or {}
        for index, one in enumerate(members(child(entry, list_))):
            path = child(one, "path")
            steps = [ITEM if step.startswith("[") else step for step in _STEP.findall(text(path))]
            if not keeps_all(schema) and at(schema, steps) is None:
                message = f"the schema of {gvk.kind} has no {part}.{text(path)}"
                yield bundle.finding("csv-descriptor", path, f"{field}.{list_}[{index}].path", message)
