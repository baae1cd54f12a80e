"""A custom resource as Ansible's extra vars: the names and values that existing roles rely on.

Pure. The order of the parts, and which of them `markUnsafe` covers, is the Go operator's. What `markUnsafe`
promises is more: neither the text of a resource nor the names that it chooses make Ansible do anything.

So is its snake_case, odd results included: acronyms stay together, digits between letters break a word, `HTTP`,
`URL` and `IP` are words wherever they stand, and a name that began with a capital gets a leading underscore.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from runner.config.watches import Watch
from runner.objects import Body, GroupVersionKind

Value = Any
"""Decoded JSON."""

STEERING_PREFIXES = ("ansible_", "_ansible_")
STEERING = frozenset(
    {
        "delegated_vars", "environment", "group_names", "groups", "hostvars", "inventory_dir", "inventory_file",
        "inventory_hostname", "inventory_hostname_short", "omit", "play_hosts", "playbook_dir", "role_name",
        "role_names", "role_path", "role_uuid", "vars",
    }
)  # fmt: skip
"""Variables that Ansible itself sets or reads, e.g. to know how a host is reached, and as whom."""
MARK_PREFIX = "__ansible_"
"""How keys begin that Ansible's JSON reader takes for marks, of a value that is encrypted for example."""
MOST_WARNINGS = 20
MOST_KEYS = 5
"""Named in one warning."""
LONGEST_SHOWN = 80
"""Characters of a key in a warning."""


_DIGITS_BETWEEN = re.compile("([A-Za-z])([0-9]+)([A-Za-z][0-9]+)")
_WORDS = ("HTTP", "URL", "IP")
_BREAKS = " _-"
LONGEST_REMEMBERED = 64
"""Characters of a key whose name is remembered: keys are chosen by whoever writes a custom resource."""


@dataclass(frozen=True, slots=True)
class ExtraVars:
    """`values` is what `-e` gets; `warnings` says which keys of the spec were shadowed by others or left out."""

    values: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def extra_vars(
    body: Body, watch: Watch, *, finalizing: bool, run: Body | None = None, admission: Body | None = None
) -> ExtraVars:
    """The extra vars of one run of `body`; on a deletion run the finalizer's vars are added. Later parts win.

    `run` is what the run is told of itself, in `ansible_operator_run`: text of whoever made it necessary, which is
    marked unsafe always; so is `admission`, what is known of the request under review. `body` is nested no deeper
    than `objects.LEVELS`, or it would not have been read.
    """
    meta: Body = body.get("metadata") or {}
    spec = body.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    name = variable_name(watch.gvk)
    warnings: list[str] = []
    parts = {
        "spec": _snake(spec, "spec", warnings) if watch.snake_case else spec,
        "meta": {"name": meta.get("name", ""), "namespace": meta.get("namespace", "")},
        name: {"spec": {}, **body} if not watch.manage_status else body,
        f"{name}_spec": spec,
    }
    if watch.mark_unsafe:
        parts = _harmless(parts, warnings)
    ours = {"ansible_operator_meta": parts.pop("meta")}
    for ident, told in (("run", run), ("admission", admission)):
        if told is not None:
            ours[f"ansible_operator_{ident}"] = _unsafe(told, set())
    values = {**parts.pop("spec"), **ours, **parts, **watch.vars}
    if finalizing and watch.finalizer:
        values |= watch.finalizer.vars
    return ExtraVars(values, _few(warnings))


def spec_vars(body: Body, watch: Watch) -> Mapping[str, Any]:
    """Of the extra vars those that come from the spec and the watch, with nothing marked unsafe."""
    spec = body.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    values: Body = _snake(spec, "spec", []) if watch.snake_case else spec
    free = {name: value for name, value in values.items() if not (watch.mark_unsafe and steers_ansible(name))}
    return {**free, **watch.vars}


def variable_name(gvk: GroupVersionKind) -> str:
    """The variable that holds the whole object: `_<group>_<kind>`, so `__secret` for the core group."""
    return f"_{gvk.group}_{gvk.kind.lower()}".replace(".", "_").replace("-", "_")


def steers_ansible(variable: str) -> bool:
    """Whether a variable of this name is Ansible's own: to set it is to say how, where and as whom tasks run."""
    return variable in STEERING or variable.startswith(STEERING_PREFIXES)


def _snake(value: Value, path: str, warnings: list[str]) -> Value:
    """`value` with every key of every map in snake case; of keys that meet, one is chosen and a warning added."""
    if isinstance(value, Mapping):
        chosen = _choose(value, path, warnings)
        return {name: _snake(value[key], f"{path}.{_shown(key)}", warnings) for name, key in chosen.items()}
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
            warnings.append(
                f"{path}: the keys {_listed(keys)} all become the variable {_quoted(name)};"
                f" {_quoted(chosen[name])} gives it its value."
                " Rename the others, or set snakeCaseParameters: false in the watch"
            )
    return chosen


def _harmless(parts: Mapping[str, Value], warnings: list[str]) -> dict[str, Value]:
    """The parts with their strings marked unsafe, and without the names by which Ansible could be steered."""
    steering = {name for name in parts["spec"] if steers_ansible(name)}
    if steering:
        warnings.append(
            f"spec: {_listed(steering)} left out: with markUnsafe no custom resource sets variables that Ansible"
            " itself acts on. Rename the keys"
        )
    spec = {name: value for name, value in parts["spec"].items() if name not in steering}
    marks: set[str] = set()
    harmless = {name: _unsafe(part, marks) for name, part in {**parts, "spec": spec}.items()}
    # plain as in the Go operator: a custom resource's name cannot hold Jinja; that of a ClusterRole can
    harmless["meta"] = {key: _unsafe(name, marks) if "{" in name else name for key, name in parts["meta"].items()}
    if marks:
        warnings.append(f"{_listed(marks)} left out: Ansible takes such keys for marks of its own. Rename them")
    return harmless


def _unsafe(value: Value, marks: set[str]) -> Value:
    """`value` with each string wrapped so that Ansible never renders Jinja in it, without keys that are marks.

    `marks` gets those. One that Ansible cannot read makes it take the file for YAML, where wrapping means nothing.
    """
    if isinstance(value, str):
        return {"__ansible_unsafe": value}
    if isinstance(value, Mapping):
        found = [key for key in value if key.startswith(MARK_PREFIX)]
        marks.update(found)
        return {key: _unsafe(item, marks) for key, item in value.items() if not key.startswith(MARK_PREFIX)}
    if isinstance(value, list | tuple):
        return [_unsafe(item, marks) for item in value]
    return value


def _few(warnings: list[str]) -> tuple[str, ...]:
    more = len(warnings) - MOST_WARNINGS
    return (*warnings[-MOST_WARNINGS:], *([f"spec: {more} more keys that meet"] if more > 0 else []))


def _listed(keys: Iterable[str]) -> str:
    listed = sorted(keys)
    names = [_quoted(key) for key in listed[:MOST_KEYS]]
    return " and ".join([*names, *([f"{len(listed) - MOST_KEYS} more"] if len(listed) > MOST_KEYS else [])])


def _quoted(key: str) -> str:
    return f'"{_shown(key)}"'


def _shown(key: str) -> str:
    return key if len(key) <= LONGEST_SHOWN else f"{key[:LONGEST_SHOWN]}…"


def to_snake(key: str) -> str:
    """The variable name for a key of a custom resource; an empty or blank key is returned as it is."""
    return _remembered(key) if len(key) <= LONGEST_REMEMBERED else _named(key)


@lru_cache(maxsize=4096)
def _remembered(key: str) -> str:
    return _named(key)


def _named(key: str) -> str:
    text = _DIGITS_BETWEEN.sub(r"\1 \2 \3", key).strip(" ")
    if not text:
        return key
    lead = "_" if _upper(text[0]) else ""
    for word in _WORDS:
        text = _set_apart(text, word)
    parts = [_lowered(part) for part in _split(text)]
    name = "_".join(parts)
    return name if parts[0] in {"http", "url", "ip"} else lead + name


def _set_apart(text: str, word: str) -> str:
    """Underscores around the first `word`, together with a plural s, which becomes a capital."""
    left, found, right = text.partition(word)
    if not found:
        return text
    if not right:
        return f"{left}_{word}"
    if right == "s":
        return f"{left}_{word}S"
    if right.startswith("s"):
        word, right = word + "S", right[1:]
    return f"{left}_{word}_{right}" if left else f"{word}_{right}"


def _split(text: str) -> list[str]:
    parts: list[str] = []
    part = ""
    for char, following in zip_longest(text, text[1:], fillvalue=""):
        if part and _upper(char) and _lower(following):
            parts.append(part)
            part = char
        elif part and _lower(char) and _upper(following):
            parts.append(part + char)
            part = ""
        elif char in _BREAKS:
            parts.append(part)
            part = ""
        else:
            part += char
    return [*parts, part]


def _upper(char: str) -> bool:
    return "A" <= char <= "Z"


def _lower(char: str) -> bool:
    return "a" <= char <= "z"


def _lowered(part: str) -> str:
    """Lower case letter by letter: never longer than before, and no letter depends on its neighbours."""
    return "".join(char.lower()[:1] for char in part)
