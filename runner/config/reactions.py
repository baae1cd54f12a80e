"""What a watch reacts to besides its own kind, as watches.yaml says it: selectors, references, dependents."""

from __future__ import annotations

from runner.config.expressions import syntax_error
from runner.config.fields import Fields
from runner.config.watches import OPERATORS, Reference, Requirement, Selector
from runner.objects import GroupVersionKind

_ALL = "all"


def reference(fields: Fields) -> Reference:
    """An entry of `references`."""
    gvk = _typed(fields)
    names, inner, namespaces = fields.text("names"), fields.inner("selector"), fields.text("namespaces")
    if bool(names) == (inner is not None):
        fields.problem("", "must have either names (a JMESPath expression over the custom resource) or selector")
    if names and (error := syntax_error(names)):
        fields.problem("names", f"not a JMESPath expression: {error}")
    if namespaces not in ("", _ALL):
        fields.problem("namespaces", f"is {_ALL} or left out")
    fields.note_unknown(("apiVersion", "kind", "names", "selector", "namespaces"))
    return Reference(gvk, names, selector(inner), namespaces == _ALL)


def reconcile_on(fields: Fields) -> tuple[GroupVersionKind, str] | None:
    """An entry of `dependents`: the kind, and the expression whose value matters."""
    gvk, expression = _typed(fields), fields.text("reconcileOn")
    if not expression:
        fields.problem("reconcileOn", "must be a JMESPath expression over the dependent")
    elif error := syntax_error(expression):
        fields.problem("reconcileOn", f"not a JMESPath expression: {error}")
    fields.note_unknown(("apiVersion", "kind", "reconcileOn"))
    return gvk, expression


def _typed(fields: Fields) -> GroupVersionKind:
    api_version, kind = fields.text("apiVersion"), fields.text("kind")
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not value:
            fields.problem(name, "must not be empty")
    return GroupVersionKind.of(api_version, kind)


def kind_of(fields: Fields) -> GroupVersionKind:
    """An entry of `blacklist`."""
    gvk = GroupVersionKind(fields.text("group"), fields.text("version"), fields.text("kind"))
    fields.note_unknown(("group", "version", "kind"))
    return gvk


def selector(fields: Fields | None) -> Selector:
    if fields is None:
        return Selector()
    labels = [Requirement(key, "In", (value,)) for key, value in fields.text_map("matchLabels").items()]
    expressions = [_requirement(item) for item in fields.items("matchExpressions")]
    fields.note_unknown(("matchLabels", "matchExpressions"))
    return Selector(tuple(labels + expressions))


def _requirement(fields: Fields) -> Requirement:
    operator, values = fields.text("operator"), fields.texts("values")
    if operator not in OPERATORS:
        fields.problem(
            "operator", f'"{operator}" is not a valid label selector operator: use {", ".join(OPERATORS)}'
        )
    elif operator in ("In", "NotIn") and not values:
        fields.problem("values", f"must not be empty for the operator {operator}")
    elif operator in ("Exists", "DoesNotExist") and values:
        fields.problem("values", f"must be empty for the operator {operator}")
    return Requirement(fields.text("key"), operator, values)
