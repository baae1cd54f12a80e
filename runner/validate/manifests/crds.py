"""Whether the CRDs of a project fit its watches. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runner.config.watches import Watch
from runner.config.yamlfile import Located
from runner.validate.documents import Document, child, members, text
from runner.validate.findings import Finding
from runner.validate.manifests.schemas import ITEM, Schema, declared, keeps, nearest, refuses_empty

GENERATED = "ansible.sdk.operatorframework.io/generated-by"
"""The annotation of CRDs that may be written anew; the others are their authors'."""
CONDITION = ("conditions", ITEM)
_CONVERTED = "{} is converted and not served: set it to true"
_UNCONVERTED = (
    "{} is served and not converted: set it to false; `generate manifests` has it served where the API server is"
    " told who converts"
)
WRITTEN = ("status", "reason", "message", "lastTransitionTime", "ansibleResult")
"""What the operator writes into a condition beside its type."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A watch, and where in the watches file it stands."""

    watch: Watch
    file: str
    entry: Located

    @property
    def line(self) -> int:
        return self.entry.line

    def line_of(self, *names: str) -> int:
        return child(self.entry, *names).line


def is_custom(group: str) -> bool:
    """Whether a group can be a CRD's: those without a dot and those of Kubernetes itself are built in."""
    return "." in group and not group.endswith(".k8s.io")


def crd_of(group: str, kind: str, crds: list[Document]) -> Document | None:
    wanted = (group, kind)
    return next(
        (crd for crd in crds if (crd.text("spec", "group"), crd.text("spec", "names", "kind")) == wanted), None
    )


def check(watched: Watched, crds: list[Document]) -> Iterator[Finding]:
    """What is wrong for this watch; `crds` is every CRD of a project that has a directory for them."""
    gvk = watched.watch.gvk
    crd = crd_of(gvk.group, gvk.kind, crds)
    if crd is not None:
        yield from _check_crd(watched, crd)
    elif is_custom(gvk.group):
        kinds = sorted({c.text("spec", "names", "kind") for c in crds if c.text("spec", "group") == gvk.group})
        hint = f"the group {gvk.group} has {', '.join(kinds)}" if kinds else f"none is of the group {gvk.group}"
        rule = "crd-missing" if kinds else "crd-group-missing"
        yield Finding(rule, watched.file, watched.line, "kind", f"no CRD of the project defines {gvk}; {hint}")


def _check_crd(watched: Watched, crd: Document) -> Iterator[Finding]:
    versions = {
        text(child(node, "name")): (i, node) for i, node in enumerate(members(crd.get("spec", "versions")))
    }
    is_converted = crd.text("spec", "conversion", "strategy") == "Webhook"
    for name in (watched.watch.gvk.version, *watched.watch.conversions):
        own = name == watched.watch.gvk.version
        if name not in versions:
            path = ("version",) if own else ("versions", name)
            message = f"the CRD in {crd.file} has no version {name}; it has {', '.join(versions) or 'none'}"
            if crd.text("metadata", "annotations", GENERATED):
                message += ": run `ansible-operator generate crds`"
            line = watched.line if own else watched.line_of(*path)
            yield Finding("crd-version-missing", watched.file, line, ".".join(path), message)
            continue
        index, version = versions[name]
        field = f"spec.versions[{index}]"
        served = child(version, "served")
        if own and served.value is not True:
            message = f"{name} is watched and not served: set it to true"
            yield Finding("crd-not-served", crd.file, served.line, f"{field}.served", message)
        elif not own and (served.value is True) != is_converted:
            message = _CONVERTED.format(name) if is_converted else _UNCONVERTED.format(name)
            yield Finding("crd-served-unconverted", crd.file, served.line, f"{field}.served", message)
        if own and crd.text("metadata", "annotations", GENERATED):
            yield from _check_paths(watched, crd, version)
        if watched.watch.manage_status:
            yield from _check_status(watched.watch, crd, version, field)


def _check_paths(watched: Watched, crd: Document, version: Located) -> Iterator[Finding]:
    """What the watch would add to the generated schema, at paths that it does not have."""
    schema, hints = child(version, "schema", "openAPIV3Schema").plain(), watched.watch.crd
    if not isinstance(schema, dict) or not hints.generate:
        return
    places = [("schema", path, path) for path in hints.schema]
    places += [("columns", name, path) for name, path in hints.columns.items()]
    for what, name, path in places:
        if declared(schema, path) is None:
            line, field = watched.line_of("crd", what, name), f"crd.{what}.{name}"
            hint = nearest(schema, path) or "; if its role has it, run `ansible-operator generate crds`"
            message = f"the CRD in {crd.file} has no field {path}{hint}"
            yield Finding("crd-path-missing", watched.file, line, field, message)


def _check_status(watch: Watch, crd: Document, version: Located, field: str) -> Iterator[Finding]:
    subresources = child(version, "subresources")
    if not isinstance(child(subresources, "status").value, dict):
        message = (
            "without the status subresource the operator writes no status:"
            " add `subresources: {status: {}}`, or set `manageStatus: false` in the watch"
        )
        yield Finding("crd-no-status-subresource", crd.file, subresources.line, f"{field}.subresources", message)
    if crd.get("spec", "preserveUnknownFields").value is True:
        return
    root = child(version, "schema", "openAPIV3Schema")
    line, field = child(root, "properties", "status").line, f"{field}.schema.openAPIV3Schema.properties.status"
    schema = root.plain() if isinstance(root.value, dict) else {}
    yield from _check_conditions(schema, crd.file, line, field)
    lost = [name for name in watch.status if not keeps(schema, ("status", *name.split(".")))]
    if lost and keeps(schema, ("status", *CONDITION)):
        message = f"the schema drops {', '.join(lost)}, which the watch's `status` maps: declare {_them(lost)}"
        yield Finding("crd-drops-status", crd.file, line, field, message)


def _check_conditions(schema: Schema, file: str, line: int, field: str) -> Iterator[Finding]:
    preserve = "x-kubernetes-preserve-unknown-fields: true"
    condition = ("status", *CONDITION)
    if not keeps(schema, (*condition, "type")):
        yield Finding(
            "crd-drops-conditions",
            file,
            line,
            field,
            f"the schema drops the conditions: declare them, or set `{preserve}`",
        )
        return
    lost = [name for name in WRITTEN if not keeps(schema, (*condition, name))]
    if lost:
        message = f"the schema drops {', '.join(lost)} of a condition: set `{preserve}` on its items"
        yield Finding("crd-drops-status", file, line, f"{field}.properties.conditions", message)
    strict = [name for name in ("reason", "message") if refuses_empty(schema, (*condition, name))]
    if strict:
        message = (
            f"the schema refuses an empty {' and '.join(strict)}, which the operator writes: allow {_them(strict)}"
        )
        yield Finding("crd-refuses-condition", file, line, f"{field}.properties.conditions", message)


def _them(names: list[str] | Mapping[str, object]) -> str:
    return "it" if len(names) == 1 else "them"
