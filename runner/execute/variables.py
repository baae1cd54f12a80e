"""A custom resource as Ansible's extra vars: the names and values that existing roles rely on.

Pure. The order of the parts, and which of them `markUnsafe` covers, is the Go operator's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.execute.snakecase import to_snake
from runner.objects import Body, GroupVersionKind
from runner.watches import Watch

Value = Any
"""Decoded JSON."""


@dataclass(frozen=True, slots=True)
class ExtraVars:
    """`values` is what `-e` gets; `warnings` says which keys of the spec were shadowed by others."""

    values: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def extra_vars(body: Body, watch: Watch, *, finalizing: bool) -> ExtraVars:
    """The extra vars of one run of `body`; on a deletion run the finalizer's vars are added. Later parts win."""
    meta: Body = body.get("metadata") or {}
    spec = body.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    live = {"spec": {}, **body} if not watch.manage_status else body
    mark = _unsafe if watch.mark_unsafe else _same
    warnings: list[str] = []
    name = variable_name(watch.gvk)
    values = {
        **mark(_snake(spec, "spec", warnings) if watch.snake_case else spec),
        "ansible_operator_meta": {"name": meta.get("name", ""), "namespace": meta.get("namespace", "")},
        name: mark(live),
        f"{name}_spec": mark(spec),
        **watch.vars,
    }
    if finalizing and watch.finalizer:
        values |= watch.finalizer.vars
    return ExtraVars(values, tuple(warnings))


def variable_name(gvk: GroupVersionKind) -> str:
    """The variable that holds the whole object: `_<group>_<kind>`, so `__secret` for the core group."""
    return f"_{gvk.group}_{gvk.kind.lower()}".replace(".", "_").replace("-", "_")


def _snake(value: Value, path: str, warnings: list[str]) -> Value:
    """`value` with every key of every map in snake case; of keys that meet, one is chosen and a warning added."""
    if isinstance(value, Mapping):
        chosen = _choose(value, path, warnings)
        return {name: _snake(value[key], f"{path}.{key}", warnings) for name, key in chosen.items()}
    if isinstance(value, list | tuple):
        return [_snake(item, f"{path}[{place}]", warnings) for place, item in enumerate(value)]
    return value


def _choose(mapping: Body, path: str, warnings: list[str]) -> dict[str, str]:
    """Which key gives each snake-case name its value: the one spelled that way, else the first when sorted."""
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for key in mapping:
        sources[to_snake(key)].append(key)
    chosen = {name: name if name in keys else min(keys) for name, keys in sources.items()}
    for name, keys in sources.items():
        if len(keys) > 1:
            every = " and ".join(f'"{key}"' for key in sorted(keys))
            warnings.append(
                f'{path}: the keys {every} all become the variable "{name}"; "{chosen[name]}" gives it its value.'
                " Rename the others, or set snakeCaseParameters: false in the watch"
            )
    return chosen


def _unsafe(value: Value) -> Value:
    """`value` with each string wrapped so that Ansible never renders Jinja in it; keys stay as they are."""
    if isinstance(value, str):
        return {"__ansible_unsafe": value}
    if isinstance(value, Mapping):
        return {key: _unsafe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_unsafe(item) for item in value]
    return value


def _same(value: Value) -> Value:
    return value
