"""Whether the custom resources that a project keeps fit the schemas of its CRDs, and are watched. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from runner.config.yamlfile import Located
from runner.objects import GroupVersionKind
from runner.validate.documents import Document, entries, members
from runner.validate.findings import Finding
from runner.validate.manifests.crds import crd_of
from runner.validate.manifests.schemas import EMBEDDED, keeps_all, properties_of, schema_of, version_of
from runner.validate.manifests.values import misfits

_IMPLICIT = ("apiVersion", "kind", "metadata")


def check(
    objects: Sequence[Document], watched: Collection[GroupVersionKind], crds: list[Document]
) -> Iterator[Finding]:
    """What is wrong with the custom resources among `objects`; those of foreign groups are left alone."""
    groups = {gvk.group for gvk in watched}
    for document in objects:
        group, _, version = document.text("apiVersion").rpartition("/")
        crd = crd_of(group, document.text("kind"), crds)
        if (
            document.text("kind") == ""
            or not (crd or (group in groups and "." in group))
            or _is_template(document)
        ):
            continue
        yield from _unwatched(document, group, version, watched)
        if crd is not None and entries(crd.get("spec", "names")):
            yield from _of_kind(document, crd, version)


def _is_template(document: Document) -> bool:
    return "{{" in str(document.node.plain())


def _unwatched(
    document: Document, group: str, version: str, watched: Collection[GroupVersionKind]
) -> Iterator[Finding]:
    kind = document.text("kind")
    kinds = {gvk.kind for gvk in watched if gvk.group == group}
    versions = [gvk.version for gvk in watched if (gvk.group, gvk.kind) == (group, kind)]
    if kind not in kinds:
        known = ", ".join(sorted(kinds))
        message = f"nothing watches {kind} of {group}" + (f"; watched are {known}" if known else "")
        yield Finding("sample-unwatched", document.file, document.get("kind").line, "kind", message)
    elif version not in versions:
        message = f"nothing watches {version} of {kind}; watched is {', '.join(versions)}"
        yield Finding("sample-unwatched", document.file, document.get("apiVersion").line, "apiVersion", message)


def _of_kind(document: Document, crd: Document, version: str) -> Iterator[Finding]:
    metadata = document.get("metadata")
    if not (entries(metadata).get("name") or entries(metadata).get("generateName")):
        yield Finding("sample-invalid", document.file, metadata.line, "metadata", "must have a name")
    if version_of(crd, version) is None:
        message = f"the CRD in {crd.file} has no version {version}"
        yield Finding("sample-invalid", document.file, document.get("apiVersion").line, "apiVersion", message)
    schema = schema_of(crd, version).plain()
    if not isinstance(schema, dict):
        return
    for name, node in entries(document.node).items():
        if name not in _IMPLICIT:
            yield from _pruned(document, schema, Located({name: node}, node.line), "")
    yield from _invalid(document, schema)


def _pruned(document: Document, schema: Any, node: Located, field: str) -> Iterator[Finding]:  # noqa: ANN401
    """The fields that the API server prunes, or refuses where it is asked to be strict, as kubectl does."""
    if not isinstance(schema, dict):
        return
    known = properties_of(schema)
    for name, value in entries(node).items() if schema.get("type") in (None, "object") else ():
        where = f"{field}.{name}" if field else name
        inner = known.get(name, schema.get("additionalProperties"))
        if isinstance(inner, dict):
            yield from _pruned(document, inner, value, where)
        elif not keeps_all(schema) and not (schema.get(EMBEDDED) and name in _IMPLICIT):
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known) or 'no fields'}"
            message = f"the CRD has no such field, so it is pruned; {hint}"
            yield Finding("sample-pruned", document.file, value.line, where, message)
    for index, item in enumerate(members(node)):
        yield from _pruned(document, schema.get("items"), item, f"{field}[{index}]")


def _invalid(document: Document, schema: Mapping[str, Any]) -> Iterator[Finding]:
    for node, field, message in misfits(schema, document.node):
        yield Finding(
            "sample-invalid", document.file, node.line, field, f"{message}; mend it, or the CRD's schema"
        )
