"""Patches of a kustomization: strategic merges, as far as pods need them, and JSON patches. Pure."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from runner.errors import SettingsError

Object = dict[str, Any]
"""A Kubernetes object, or a part of one."""
_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}
"""By what items of a list are the same; other lists are replaced."""
_DIRECTIVE = "$patch"


def apply(found: Object, patch: Any) -> Object:  # noqa: ANN401  (any YAML)
    """A patched copy; nothing of the object where the patch deletes it. Raises SettingsError."""
    if isinstance(patch, dict):
        if patch.get(_DIRECTIVE) == "delete":
            return {}
        changes = {name: value for name, value in patch.items() if name not in ("apiVersion", "kind")}
        merged: Object = _merged(found, changes, "")
        return merged
    patched = deepcopy(found)
    for operation in patch:
        _operate(patched, operation)
    return patched


def _merged(old: Any, new: Any, field: str) -> Any:  # noqa: ANN401  (any YAML)
    if isinstance(old, dict) and isinstance(new, dict):
        kept = {name: value for name, value in old.items() if name not in new}
        changed = {name: _merged(old.get(name), value, name) for name, value in new.items() if value is not None}
        return kept | changed
    key = _KEYS.get(field)
    if isinstance(old, list) and isinstance(new, list) and key:
        return _merged_lists(old, new, key)
    return deepcopy(new)


def _merged_lists(old: list[Any], new: list[Any], key: str) -> list[Any]:
    by_key = {item.get(key): item for item in new}
    deleted = {name for name, item in by_key.items() if item.get(_DIRECTIVE) == "delete"}
    kept = [_merged(item, by_key.pop(item.get(key), {}), "") for item in old if item.get(key) not in deleted]
    # What is new goes first, as kustomize has it.
    return [deepcopy(item) for name, item in by_key.items() if name not in deleted] + kept


def _operate(found: Object, operation: Object) -> None:
    """One operation of a JSON patch (RFC 6902), in place."""
    *above, last = (step.replace("~1", "/").replace("~0", "~") for step in str(operation["path"]).split("/")[1:])
    try:
        holder: Any = found
        for step in above:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        _change(holder, last, operation)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise SettingsError(
            f"the patch {operation} does not fit {found['kind']} {found['metadata']['name']}"
        ) from error


def _change(holder: Any, last: str, operation: Object) -> None:  # noqa: ANN401  (any YAML)
    match operation["op"], isinstance(holder, list):
        case "remove", in_list:
            del holder[int(last) if in_list else last]
        case "add", True:
            holder.insert(len(holder) if last == "-" else int(last), deepcopy(operation["value"]))
        case "add" | "replace", in_list:
            holder[int(last) if in_list else last] = deepcopy(operation["value"])
        case _:
            raise SettingsError(
                f"the operation {operation['op']} of a patch is not understood: take add or replace"
            )
