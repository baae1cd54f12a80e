"""What tasks publish as defaults, as a JSON patch: it adds what the spec lacks, and changes nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.execute.specs import field_name
from runner.execute.variables import to_snake
from runner.objects import Body


def patch_for(body: Body, data: Mapping[str, Any], *, snake_case: bool) -> list[dict[str, Any]]:
    """The operations that fill in what is absent or null; the names of variables become those of fields."""
    if not data:
        return []
    spec = body.get("spec")
    if spec is not None and not isinstance(spec, Mapping):
        return []  # the API server refuses it
    if spec is None:
        return [_add("/spec", _fields(data, snake_case=snake_case))]
    return list(_missing(spec, data, "/spec", snake_case=snake_case))


def _missing(there: Mapping[str, Any], data: Mapping[str, Any], path: str, *, snake_case: bool) -> Iterator[Any]:
    known = {to_snake(key): key for key in sorted(there, reverse=True)} if snake_case else {}
    for name, value in data.items():
        key = name if name in there or not snake_case else known.get(name) or field_name(name)
        place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        old = there.get(key)
        if old is None:
            yield _add(place, _fields(value, snake_case=snake_case))
        elif isinstance(old, Mapping) and isinstance(value, Mapping):
            yield from _missing(old, value, place, snake_case=snake_case)


def _fields(value: Any, *, snake_case: bool) -> Any:  # noqa: ANN401  (any JSON value)
    if not snake_case:
        return value
    if isinstance(value, Mapping):
        return {field_name(name): _fields(item, snake_case=True) for name, item in value.items()}
    if isinstance(value, list):
        return [_fields(item, snake_case=True) for item in value]
    return value


def _add(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}
