"""What plugins say of themselves in their files: a module's options, the names of filters and tests.

The files are read, never imported: nothing of a project or a collection is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FREE = ("free_form", "free-form", "key_value")
"""How documentation names what is no option but the text beside the module's name."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a module; `options` are those of the maps in it, None where it is none or may hold anything."""

    type: str = "str"
    elements: str = ""
    required: bool = False
    choices: tuple[Any, ...] = ()
    options: Mapping[str, Option] | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What a module takes, by name and alias; `free` says that it takes a text, or any name."""

    named: Mapping[str, Option] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    free: bool = False


Fragment = Callable[[str], Mapping[str, Any] | None]
"""Finds the options of a documentation fragment by its name; None where they cannot be known."""


def options_of(path: Path, fragment: Fragment) -> Options | None:
    """The options that the module in `path` documents, or None where it says too little to tell."""
    document = _documentation(path)
    if document is None:
        return None
    options = dict(document.get("options") or {})
    named = document.get("extends_documentation_fragment") or []
    for name in [named] if isinstance(named, str) else named:
        more = fragment(str(name))
        if more is None:
            return None
        for key, value in more.items():
            options[key] = {**(value or {}), **(options.get(key) or {})}
    return _options(options)


def fragment_options(path: Path, attribute: str) -> Mapping[str, Any] | None:
    """The options of one attribute of a file in doc_fragments, or None."""
    text = constants(path).get(attribute)
    document = _load(text) if text is not None else None
    return None if document is None else document.get("options") or {}


@cache
def constants(path: Path) -> Mapping[str, str]:
    """The texts that a Python file gives names, in a class or outside; empty where it cannot be read."""
    return {
        target.id: node.value.value
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


@cache
def keys(path: Path) -> frozenset[str]:
    """Every key of every dict in a Python file: among them the names of its filters or tests."""
    found: set[str] = set()
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Dict):
            found |= {
                key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
        elif isinstance(node, ast.Call):
            found |= {keyword.arg for keyword in node.keywords if keyword.arg}
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            found |= {str(node.slice.value)}
    return frozenset(found)


@cache
def words(path: Path) -> frozenset[str]:
    """Every text in a Python file: an option that is not documented may be among them."""
    return frozenset(
        node.value
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ) | keys(path)


def _parsed(path: Path) -> ast.AST:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _documentation(path: Path) -> Mapping[str, Any] | None:
    if path.suffix in (".yml", ".yaml"):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        inner = (_load(text) or {}).get("DOCUMENTATION")
        return inner if isinstance(inner, dict) else None
    text = constants(path).get("DOCUMENTATION", "")
    return _load(text) if text else None


def mapping(text: str) -> Mapping[str, Any]:
    """The map that a text of YAML holds; empty where it holds none."""
    return _load(text) or {}


def _load(text: str) -> Mapping[str, Any] | None:
    try:
        loaded = yaml.load(text, Loader=_Loader)  # noqa: S506  (a SafeLoader)
    except (yaml.YAMLError, ValueError):
        return None
    return loaded if isinstance(loaded, dict) else None


def _options(raw: Mapping[str, Any]) -> Options:
    named, aliases = {}, {}
    for name, value in raw.items():
        if name in _FREE:
            continue
        said = value if isinstance(value, dict) else {}
        named[str(name)] = _option(said)
        aliases.update({str(alias): str(name) for alias in said.get("aliases") or []})
    return Options(named, aliases, free=any(name in raw for name in _FREE))


def _option(said: Mapping[str, Any]) -> Option:
    inner = said.get("suboptions") or said.get("options")
    choices = said.get("choices") or ()
    return Option(
        type=str(said.get("type", "str")),
        elements=str(said.get("elements", "")),
        required=said.get("required") is True and "default" not in said,
        choices=tuple(choices),
        options=dict(_with_aliases(inner)) if isinstance(inner, dict) and inner else None,
    )


def _with_aliases(raw: Mapping[str, Any]) -> Iterator[tuple[str, Option]]:
    options = _options(raw)
    yield from options.named.items()
    for alias, name in options.aliases.items():
        option = options.named[name]
        yield alias, Option(option.type, option.elements, False, option.choices, option.options)
