"""Ansible's types: the schema of each, and the values that are written for it in YAML. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Schema = dict[str, Any]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
_TRUE = ("y", "yes", "on", "1", "true", "t")
_FALSE = ("n", "no", "off", "0", "false", "f")
_SIZE = r"^[0-9]*\.?[0-9]+(\s*([BKMGTPEZYbkmgtpezy]|[KMGTPEZY]{short}|(?i:{prefixes}){long}))?\s*$"
_PREFIXES = "|kilo|mega|giga|tera|peta|exa|zeta|yotta"


def _size(short: str, long: str) -> Schema:
    """A number, or one with a unit as Ansible reads it."""
    pattern = _SIZE.replace("{short}", short).replace("{prefixes}", _PREFIXES).replace("{long}", f"(?i:{long})")
    return {INT_OR_STRING: True, "minimum": 0, "pattern": pattern}


TYPES: Mapping[str, Schema] = {
    "str": {"type": "string"},
    "path": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": "array", "items": {PRESERVE: True}},
    "dict": {"type": "object", PRESERVE: True},
    "raw": {PRESERVE: True},
    "json": {"type": "string"},
    "jsonarg": {"type": "string"},
    "bytes": _size("B", "byte"),
    "bits": _size("b", "bit"),
}
"""The schema of a value of each type, as long as nothing more is known of it."""


def typed(kind: str, value: Any) -> Any:  # noqa: ANN401  (any YAML)
    """A default or choice as the schema's type takes it. Raises ValueError where Ansible would not, or guess."""
    return _TYPED.get(kind, _any)(value)


def visible(kind: str, elements: str) -> bool:
    """Whether CEL sees such a field: one that may hold anything it does not."""
    if kind == "list":
        return bool(elements) and elements != "list" and visible(elements, "")
    return kind != "raw"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(value)


def _integer(value: object) -> int:
    number = float(value) if isinstance(value, str) and "." in value else value
    if isinstance(number, bool) or not isinstance(number, int | float | str) or int(number) != float(number):
        raise ValueError(value)
    return int(number)


def _number(value: object) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)  # noqa: TRY004  (of one kind for all types)
    return value if not isinstance(value, str) else float(value)


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(value)
    return word in _TRUE


def _list(value: object) -> list[Any]:
    if isinstance(value, list):
        return [_any(item) for item in value]
    if isinstance(value, str):
        return value.split(",")
    raise ValueError(value)


def _map(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(value)  # noqa: TRY004  (of one kind for all types)
    return {str(key): _any(item) for key, item in value.items()}


def _any(value: Any) -> Any:  # noqa: ANN401  (any YAML)
    """JSON; raises ValueError for what YAML has beyond it, such as dates."""
    if isinstance(value, Mapping):
        return _map(value)
    if isinstance(value, list):
        return _list(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(value)


_TYPED: Mapping[str, Callable[[Any], Any]] = {
    "str": _text,
    "path": _text,
    "int": _integer,
    "float": _number,
    "bool": _boolean,
    "list": _list,
    "dict": _map,
}
