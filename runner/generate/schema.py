"""The JSON schema of watches.yaml, by which editors complete and check it. Made from the table of its fields.

Stricter than the operator, which takes `version: 1` and field names in any case, as the Go operator does: whoever
writes a file should be led to the one spelling.
"""

from __future__ import annotations

import json
from typing import Any

from runner.config.admission import FailurePolicy
from runner.config.watches import OPERATORS, SCOPES, WATCH_FIELDS, Engine, WatchField

FILE = "watches.schema.json"

_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_KIND = {"group": _TEXT, "version": _TEXT, "kind": _TEXT}
_PART = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_REQUIREMENT = {
    "type": "object",
    "properties": {
        "key": _TEXT,
        "operator": {"enum": list(OPERATORS)},
        "values": {"type": "array", "items": _TEXT},
    },
    "required": ["key", "operator"],
    "additionalProperties": False,
}
_SELECTOR = {
    "type": "object",
    "properties": {
        "matchLabels": {"type": "object", "additionalProperties": _TEXT},
        "matchExpressions": {"type": "array", "items": _REQUIREMENT},
    },
    "additionalProperties": False,
}
_UNWRITTEN = {
    "required": ["driftPeriod", "manageStatus"],
    "properties": {"manageStatus": {"const": False}},
}
"""What a check run finds is written to the status."""
_TASKS = {
    "type": "object",
    "properties": {"tasks": {**_NAME, "description": "A file of the role's tasks."}},
    "required": ["tasks"],
    "additionalProperties": False,
}
_EXPRESSIONS = {
    "type": "object",
    "additionalProperties": _NAME,
    "description": "A field below spec that only the target has, and a JMESPath expression over the source.",
}
_TYPED = {"apiVersion": _NAME, "kind": _NAME}
_TYPES: dict[str, dict[str, Any]] = {
    "string": _TEXT,
    "path": _NAME,
    "name, path or collection role": _NAME,
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "map": {"type": "object"},
    "duration": {"type": "string", "pattern": rf"^([+-]?(0|({_PART})+)|.*\$.*)$"},
    "duration above 0": {"type": "string", "pattern": rf"^(\+?(?=.*[1-9])({_PART})+|.*\$.*)$"},
    "map of JMESPath": {"type": "object", "additionalProperties": _TEXT},
    "auto, warm or cold": {"enum": [str(engine) for engine in Engine]},
    "list of {group, version, kind}": {
        "type": "array",
        "items": {"type": "object", "properties": _KIND, "additionalProperties": False},
    },
    "label selector": _SELECTOR,
    "list of {apiVersion, kind, names, selector, namespaces}": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                **_TYPED,
                "names": {
                    **_NAME,
                    "description": "JMESPath over the custom resource: a name, a list of names, or of"
                    " {name, namespace}.",
                },
                "selector": {
                    **_SELECTOR,
                    "description": "Instead of names: such objects concern every custom"
                    " resource of the kind in their namespace.",
                },
                "namespaces": {
                    "enum": ["all"],
                    "description": "Beside names: also of namespaces other than the custom"
                    " resource's own. Beside selector: in any namespace.",
                },
            },
            "required": ["apiVersion", "kind"],
            "oneOf": [{"required": ["names"]}, {"required": ["selector"]}],
            "additionalProperties": False,
        },
    },
    "list of {apiVersion, kind, reconcileOn}": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {**_TYPED, "reconcileOn": {**_NAME, "description": "JMESPath over the dependent."}},
            "required": ["apiVersion", "kind", "reconcileOn"],
            "additionalProperties": False,
        },
    },
    "{validate, default, failurePolicy}": {
        "type": "object",
        "properties": {
            "validate": {
                "oneOf": [{"type": "boolean"}, _TASKS],
                "description": "True: by the argument specs. A map: by a file of the role's tasks as well.",
            },
            "default": {
                **_TASKS,
                "description": "What the tasks publish with set_stats is merged into the spec.",
            },
            "failurePolicy": {
                "enum": [str(policy) for policy in FailurePolicy],
                "default": str(FailurePolicy.FAIL),
                "description": "What becomes of a request that cannot be reviewed.",
            },
        },
        "anyOf": [
            {"required": ["validate"], "not": {"properties": {"validate": {"const": False}}}},
            {"required": ["default"]},
        ],
        "additionalProperties": False,
    },
    "map of {to, from}": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"},
        "additionalProperties": {
            "type": "object",
            "properties": {"to": _EXPRESSIONS, "from": _EXPRESSIONS},
            "additionalProperties": False,
        },
    },
    "what argument specs cannot say of a CRD": {
        "type": "object",
        "properties": {
            "generate": {"type": "boolean", "description": "false: this CRD is somebody else's."},
            "plural": _NAME,
            "shortNames": {"type": "array", "items": _NAME},
            "categories": {"type": "array", "items": _NAME},
            "scope": {"enum": list(SCOPES)},
            "columns": {
                "type": "object",
                "additionalProperties": _NAME,
                "description": "Columns of `kubectl get`: a header, and a path such as spec.size.",
            },
            "scale": {
                "type": "object",
                "properties": {
                    name: {"type": "string", "pattern": r"^\."}
                    for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
                },
                "required": ["specReplicasPath", "statusReplicasPath"],
                "additionalProperties": False,
            },
            "schema": {
                "type": "object",
                "additionalProperties": {"type": "object"},
                "description": "Added to the schema of a field, by its path: `spec.size: {minimum: 0}`.",
            },
        },
        "additionalProperties": False,
    },
    "{name, playbook, role, vars}": {
        "type": "object",
        "properties": {"name": _NAME, "playbook": _NAME, "role": _NAME, "vars": {"type": "object"}},
        "required": ["name"],
        "anyOf": [{"required": [name]} for name in ("playbook", "role", "vars")],
        "additionalProperties": False,
    },
}
"""What the words of the table's column `type` mean."""


def text() -> str:
    """The file."""
    return json.dumps(watches_schema(), indent=2, ensure_ascii=False) + "\n"


def watches_schema() -> dict[str, Any]:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "watches.yaml of an Ansible operator",
        "type": ["array", "null"],
        "items": {
            "type": "object",
            "properties": {field.name: _property(field) for field in WATCH_FIELDS},
            "required": [field.name for field in WATCH_FIELDS if field.default == "required"],
            "oneOf": [{"required": ["playbook"]}, {"required": ["role"]}],
            "not": _UNWRITTEN,
            "additionalProperties": False,
        },
    }


def _property(field: WatchField) -> dict[str, Any]:
    known = {"description": _description(field), **_TYPES[field.type]}
    if field.default == "required":
        known |= _NAME
    return (
        known if field.default in ("", "required", "the flag") else known | {"default": json.loads(field.default)}
    )


def _description(field: WatchField) -> str:
    return (
        field.meaning[:1].upper()
        + field.meaning[1:]
        + ". By default as the flag says." * (field.default == "the flag")
    )
