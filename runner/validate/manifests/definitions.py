"""What an API server refuses in a CRD, whether it is watched or not. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from runner.config.yamlfile import Located
from runner.validate.documents import Document, child, entries, members, text
from runner.validate.findings import Finding

API_VERSION = "apiextensions.k8s.io/v1"
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_PROTECTED = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_APPROVED = "api-approved.kubernetes.io"
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_SPEC = ("group", "names", "scope", "versions", "conversion", "preserveUnknownFields")
_NAMES = ("plural", "singular", "kind", "listKind", "shortNames", "categories")
_VERSION = (
    *("name", "served", "storage", "deprecated", "deprecationWarning", "schema", "subresources"),
    *("additionalPrinterColumns", "selectableFields"),
)
_COLUMN = ("name", "type", "format", "description", "priority", "jsonPath")


def check(crd: Document) -> Iterator[Finding]:
    """What is wrong with everything but the schemas of its versions."""
    if crd.text("apiVersion") != API_VERSION:
        message = f"must be {API_VERSION}: Kubernetes serves no other since 1.22"
        yield Finding("crd-api-version", crd.file, crd.get("apiVersion").line, "apiVersion", message)
        return
    yield from _unknown(crd, crd.get("spec"), "spec", _SPEC)
    yield from _unknown(crd, crd.get("spec", "names"), "spec.names", _NAMES)
    yield from _group(crd)
    yield from _names(crd)
    if crd.text("spec", "scope") not in ("Namespaced", "Cluster"):
        line = crd.get("spec", "scope").line
        yield Finding("crd-scope", crd.file, line, "spec.scope", "must be Namespaced or Cluster")
    preserve = crd.get("spec", "preserveUnknownFields")
    if preserve.value is True:
        message = "must be false: set `x-kubernetes-preserve-unknown-fields: true` in the schema instead"
        yield Finding("crd-preserves-all", crd.file, preserve.line, "spec.preserveUnknownFields", message)
    yield from _versions(crd)


def _group(crd: Document) -> Iterator[Finding]:
    group = crd.get("spec", "group")
    if not _DOMAIN.fullmatch(text(group)):
        message = f'"{text(group)}" must be a domain in lower case with a dot, such as example.com'
        yield Finding("crd-names", crd.file, group.line, "spec.group", message)
    elif _PROTECTED.fullmatch(text(group)) and not entries(crd.get("metadata", "annotations")).get(_APPROVED):
        message = (
            f"{text(group)} belongs to the Kubernetes project: take a domain of your own, or set the annotation"
            f" {_APPROVED}"
        )
        yield Finding("crd-group-protected", crd.file, group.line, "spec.group", message)


def _names(crd: Document) -> Iterator[Finding]:
    plural, kind = crd.get("spec", "names", "plural"), crd.get("spec", "names", "kind")
    wanted = f"{text(plural)}.{crd.text('spec', 'group')}"
    name = crd.get("metadata", "name")
    if text(name) != wanted:
        message = f'"{text(name)}" must be the plural and the group: {wanted}'
        yield Finding("crd-name", crd.file, name.line, "metadata.name", message)
    if not _LABEL.fullmatch(text(plural)):
        message = f'"{text(plural)}" must be a word in lower case'
        yield Finding("crd-names", crd.file, plural.line, "spec.names.plural", message)
    if not _LABEL.fullmatch(text(kind).lower()):
        message = f'"{text(kind)}" must be a word of letters and digits'
        yield Finding("crd-names", crd.file, kind.line, "spec.names.kind", message)


def _versions(crd: Document) -> Iterator[Finding]:
    versions = members(crd.get("spec", "versions"))
    names = [text(child(version, "name")) for version in versions]
    for index, version in enumerate(versions):
        field = f"spec.versions[{index}]"
        yield from _unknown(crd, version, field, _VERSION)
        if names[index] in names[:index]:
            message = f"{names[index]} is there twice: remove one"
            yield Finding("crd-versions", crd.file, version.line, f"{field}.name", message)
        if not entries(child(version, "schema", "openAPIV3Schema")):
            message = "there is no schema: add openAPIV3Schema with at least `type: object`"
            yield Finding("crd-no-schema", crd.file, child(version, "schema").line, f"{field}.schema", message)
        yield from _columns(crd, version, field)
    stored = [version for version in versions if child(version, "storage").value is True]
    if len(stored) != 1:
        line = child(stored[1], "storage").line if stored else crd.get("spec", "versions").line
        message = f"exactly one version must have `storage: true`; {len(stored)} of {len(versions)} have it"
        yield Finding("crd-versions", crd.file, line, "spec.versions", message)


def _columns(crd: Document, version: Located, field: str) -> Iterator[Finding]:
    for index, column in enumerate(members(child(version, "additionalPrinterColumns"))):
        place = f"{field}.additionalPrinterColumns[{index}]"
        yield from _unknown(crd, column, place, _COLUMN)
        kind = child(column, "type")
        if text(kind) not in _COLUMN_TYPES:
            message = f'"{text(kind)}" must be one of {", ".join(_COLUMN_TYPES)}'
            yield Finding("crd-printer-column", crd.file, kind.line, f"{place}.type", message)
        for name in ("name", "jsonPath"):
            if not text(child(column, name)):
                message = f"must have {name}"
                yield Finding("crd-printer-column", crd.file, column.line, place, message)


def _unknown(crd: Document, node: Located, field: str, known: tuple[str, ...]) -> Iterator[Finding]:
    for name, value in entries(node).items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            yield Finding("crd-unknown-field", crd.file, value.line, f"{field}.{name}", f"unknown field; {hint}")
