"""The field `crd` of a watch: what a role's argument specs cannot say of the CRD that is made from them."""

from __future__ import annotations

from typing import Any

from runner.config.fields import Fields
from runner.config.watches import SCOPES, Definition

_SCALE = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
_KNOWN = (
    *("generate", "plural", "shortNames", "categories", "scope"),
    *("columns", "scale", "schema"),
)


def definition(fields: Fields | None) -> Definition:
    """What `generate crds` is told beside the argument specs; mistakes are noted."""
    if fields is None:
        return Definition()
    scope = fields.text("scope") or SCOPES[0]
    if scope not in SCOPES:
        fields.problem("scope", f"must be {' or '.join(SCOPES)}")
    found = Definition(
        generate=fields.flag("generate", default=True),
        plural=fields.text("plural"),
        short_names=fields.texts("shortNames"),
        categories=fields.texts("categories"),
        scope=scope,
        columns=fields.text_map("columns"),
        scale=_scale(fields.inner("scale")),
        schema=_schema(fields),
    )
    fields.note_unknown(_KNOWN)
    return found


def _scale(fields: Fields | None) -> dict[str, str]:
    """The scale subresource, in the API's own words; it needs both paths of replicas."""
    if fields is None:
        return {}
    found = {name: fields.text(name) for name in _SCALE}
    for name in _SCALE[:2]:
        if not found[name].startswith("."):
            fields.problem(name, "must be a path into the object, such as .spec.replicas")
    fields.note_unknown(_SCALE)
    return {name: path for name, path in found.items() if path}


def _schema(fields: Fields) -> dict[str, dict[str, Any]]:
    """What is added to the schema, by the path of the field."""
    inner = fields.inner("schema")
    return {path: inner.plain_map(path) for path in inner.names()} if inner else {}
