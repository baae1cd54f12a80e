"""Whether a value fits the schema of a CRD. Pure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema

from runner.config.yamlfile import Located
from runner.validate.documents import child, members
from runner.validate.manifests.schemas import INT_OR_STRING, properties_of

_IN_MADE = ("required", "pattern", "type", "properties", "items", "additionalProperties", "default")
"""What is made anew, or left out."""
_ALTERNATIVES = {
    "anyOf": "fits none of the alternatives of `anyOf` in the schema",
    "oneOf": "must fit exactly one of the alternatives of `oneOf` in the schema",
    "not": "is what `not` in the schema excludes",
}
"""In place of messages that quote the alternatives."""
LONGEST_MESSAGE = 200
_TOKEN = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<foreign>\(\?<?[=!]|\\[1-9]|[*+?]\+)|\\.|.", re.DOTALL)
"""Of a regular expression; foreign are look-around, back references and possessive quantifiers."""
_OTHERWISE_IN_PYTHON = re.compile(r"\[\[:")
"""What Python compiles to something else: classes such as [[:alpha:]]."""
_WRONG_IN_BOTH = (
    *(
        "unterminated character set",
        "missing ),",
        "unbalanced parenthesis",
        "nothing to repeat",
        "multiple repeat",
    ),
    *("bad character range", "bad escape (end of pattern)"),
)
"""How Python's messages begin that hold for Go as well."""


def misfits(schema: Mapping[str, Any], value: Located) -> Iterator[tuple[Located, str, str]]:
    """What does not fit, each with its value, its field and a sentence; nothing for a schema that is no schema."""
    validator = jsonschema.Draft4Validator(as_json_schema(schema))
    try:
        errors = list(validator.iter_errors(_without_nulls(value.plain())))
    except (jsonschema.SchemaError, jsonschema.exceptions.UnknownType, TypeError, AttributeError):
        return
    wrong_type = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    for error in errors:
        if error.validator != "type" and tuple(error.absolute_path) in wrong_type:
            continue  # nothing else can fit either
        node, field = value, ""
        for step in error.absolute_path:
            node = members(node)[step] if isinstance(step, int) else child(node, step)
            field = f"{field}[{step}]" if isinstance(step, int) else f"{field}.{step}" if field else step
        yield node, field, _ALTERNATIVES.get(str(error.validator)) or shortened(error.message)


def shortened(message: str) -> str:
    """A message that may quote a large value: its beginning and its end."""
    half = LONGEST_MESSAGE // 2
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:half]} … {message[-half:]}"


def _without_nulls(value: Any) -> Any:  # noqa: ANN401  (any YAML)
    """Without the entries that are null, which the API server takes for none."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def as_json_schema(schema: Any) -> Any:  # noqa: ANN401  (any YAML)
    """A CRD's schema as a validator of JSON Schema, draft 4, understands it."""
    if not isinstance(schema, dict):
        return schema
    made = {name: value for name, value in schema.items() if not (name.startswith("x-") or name in _IN_MADE)}
    properties = properties_of(schema)
    made["properties"] = {name: as_json_schema(inner) for name, inner in properties.items()}
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), dict):
            made[name] = as_json_schema(schema[name])
    for name in ("allOf", "anyOf", "oneOf"):
        if name in schema:
            made[name] = [as_json_schema(inner) for inner in _listed(schema, name)]
    for name in ("oneOf", "not"):
        if any(loose in str(schema.get(name)) for loose in ("format", "pattern")):
            made.pop(name, None)  # what is not checked would count as fitting
    return {**made, **_kinds(schema), **_required(schema), **_pattern(schema.get("pattern"))}


def _kinds(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get(INT_OR_STRING) is True:
        kinds = ["integer", "string"]
    else:
        kinds = [schema["type"]] if "type" in schema else []
    return {"type": [*kinds, *(["null"] if schema.get("nullable") is True else [])]} if kinds else {}


def _required(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that have a default, which is filled in before anything is checked."""
    properties = properties_of(schema)
    defaulted = {name for name, inner in properties.items() if isinstance(inner, dict) and "default" in inner}
    required = [name for name in _listed(schema, "required") if isinstance(name, str) and name not in defaulted]
    return {"required": required} if required else {}


def _listed(schema: Mapping[str, Any], name: str) -> list[Any]:
    return schema[name] if isinstance(schema.get(name), list) else []


def _pattern(pattern: object) -> dict[str, Any]:
    if not isinstance(pattern, str) or _OTHERWISE_IN_PYTHON.search(pattern) or _error(pattern):
        return {}
    return {"pattern": pattern}


def refused_by_go(pattern: str) -> str:
    """Why Go cannot compile a regular expression, where Python is sure of it, or ""."""
    if foreign := next((token["foreign"] for token in _TOKEN.finditer(pattern) if token["foreign"]), ""):
        return f"it has {foreign}, which Go does not know"
    message = _error(pattern)
    return message if message.startswith(_WRONG_IN_BOTH) else ""


def _error(pattern: str) -> str:
    """Why Python cannot compile it, or ""."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of what later versions may take for something else
            re.compile(pattern)
    except re.error as error:
        return str(error)
    return ""
