"""What a template or an expression asks for: filters, tests, lookups, variables and other templates. Pure.

Jinja's own parser reads it, as at run time; nothing is evaluated.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, meta, nodes
from jinja2.filters import FILTERS as _FILTERS
from jinja2.tests import TESTS as _TESTS

FILTERS = frozenset(_FILTERS)
TESTS = frozenset(_TESTS)
_GLOBALS = ("lookup", "query", "q", "now", "omit", "undef", "finalize")
"""What Ansible adds to Jinja's own."""
_LOOKUPS = ("lookup", "query", "q")
_DEFAULTS = ("default", "d", "ansible.builtin.default", "ansible.builtin.d")
_DEFINED = ("defined", "undefined")
_NAMES_TEST = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
"""Filters that take the name of a test, and as which argument."""
_MARKS = ("{{", "{%", "{#")

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """Something asked for by name, and the line, counted from 1, within the text."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """A call of a lookup plugin; `first` is its first argument, or empty where that is decided at run time."""

    name: str
    first: str
    options: frozenset[str]
    line: int


@dataclass(frozen=True, slots=True)
class Jinja:
    """What one text asks for. `guarded` are the variables of which it expects that they may be undefined."""

    filters: tuple[Asked, ...] = ()
    tests: tuple[Asked, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    variables: tuple[Asked, ...] = ()
    guarded: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()
    paths: tuple[tuple[Path, int], ...] = ()
    includes: tuple[Asked, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """A text that Jinja cannot parse, where, and why."""

    line: int
    message: str


NOTHING = Jinja()


def has_jinja(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def of_template(text: str, extensions: bool = False) -> Jinja | Broken:
    """What a template asks for; text without Jinja asks for nothing."""
    if not has_jinja(text):
        return NOTHING
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `\\d` in a text: Python may refuse it one day, Jinja takes it
            return _Walk(environment(extensions).parse(text)).jinja()
    except TemplateSyntaxError as error:
        return Broken(error.lineno or 1, error.message or "syntax error")
    except RecursionError:
        return Broken(1, "is nested too deeply")


def of_expression(text: str, extensions: bool = False) -> Jinja | Broken:
    """What a bare expression asks for, such as that of `when`."""
    if has_jinja(text) or not text.strip():
        return of_template(text, extensions)
    return of_template("{{ " + text + " }}", extensions)


@cache
def environment(extensions: bool) -> Environment:
    """As Ansible's; with the extensions that an ansible.cfg may switch on."""
    more = ["jinja2.ext.do", "jinja2.ext.loopcontrols"] if extensions else []
    made = Environment(extensions=more, trim_blocks=True, autoescape=False)  # noqa: S701  (renders nothing)
    made.globals.update(dict.fromkeys(_GLOBALS))
    made.filters, made.tests = _Every(), _Every()
    return made


class _Every(dict[str, Any]):
    """Knows every name: which filters and tests there are is not Jinja's to say here."""

    def __contains__(self, name: object) -> bool:
        return True

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401, ARG002
        return str

    def __missing__(self, key: str) -> Any:  # noqa: ANN401
        return str


@dataclass(slots=True)
class _Walk:
    tree: nodes.Template

    def jinja(self) -> Jinja:
        undeclared = meta.find_undeclared_variables(self.tree)
        lines: dict[str, int] = {}
        for name in self.tree.find_all(nodes.Name):
            lines.setdefault(name.name, name.lineno)
        return Jinja(
            filters=tuple(_filters(self.tree)),
            tests=tuple(_tests(self.tree)),
            lookups=tuple(_lookups(self.tree)),
            variables=tuple(Asked(name, lines.get(name, 1)) for name in sorted(undeclared)),
            guarded=frozenset(_guarded(self.tree)),
            assigned=frozenset(_assigned(self.tree)),
            paths=tuple(_paths(self.tree)),
            includes=tuple(_includes(self.tree)),
        )


def _filters(tree: nodes.Template) -> Iterator[Asked]:
    for node in tree.find_all(nodes.Filter):
        yield Asked(node.name, node.lineno)
        if node.name == "map" and node.args and _constant(node.args[0]):
            yield Asked(_constant(node.args[0]), node.lineno)


def _tests(tree: nodes.Template) -> Iterator[Asked]:
    for node in tree.find_all(nodes.Test):
        yield Asked(node.name, node.lineno)
    for filtered in tree.find_all(nodes.Filter):
        place = _NAMES_TEST.get(filtered.name, len(filtered.args))
        if place < len(filtered.args) and _constant(filtered.args[place]):
            yield Asked(_constant(filtered.args[place]), filtered.lineno)


def _lookups(tree: nodes.Template) -> Iterator[Lookup]:
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in _LOOKUPS and call.args:
            name, first = _constant(call.args[0]), _constant(call.args[1]) if len(call.args) > 1 else ""
            if name:
                yield Lookup(name, first, frozenset(item.key for item in call.kwargs), call.lineno)


def _constant(node: nodes.Node) -> str:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else ""


def _guarded(tree: nodes.Template) -> Iterator[str]:
    """Variables that are tested for being defined, given a default, or looked up by name."""
    tests = (node.node for node in tree.find_all(nodes.Test) if node.name in _DEFINED)
    filters = (node.node for node in tree.find_all(nodes.Filter) if node.name in _DEFAULTS)
    for node in (*tests, *filters):
        if isinstance(node, nodes.Name):
            yield node.name
        elif node is not None:
            yield from (name.name for name in node.find_all(nodes.Name))
    if any(name.name in ("vars", "hostvars") for name in tree.find_all(nodes.Name)):
        yield from (node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str))


def _assigned(tree: nodes.Template) -> Iterator[str]:
    """Names that a template gives a value, and templates that it includes can see."""
    yield from (name.name for name in tree.find_all(nodes.Name) if name.ctx in ("store", "param"))
    yield from (macro.name for macro in tree.find_all(nodes.Macro))
    yield from (imported.target for imported in tree.find_all(nodes.Import))
    for imported in tree.find_all(nodes.FromImport):
        yield from (name if isinstance(name, str) else name[1] for name in imported.names)


def _paths(tree: nodes.Template) -> Iterator[tuple[Path, int]]:
    """Every chain of attributes and constant keys from a variable on, without methods that are called."""
    called = {id(call.node) for call in tree.find_all(nodes.Call)}
    chains: list[Any] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
    inner = {id(node.node) for node in chains}
    for node in chains:
        path = _path(node)
        path = path[:-1] if id(node) in called else path
        if len(path) > 1 and id(node) not in inner:
            yield path, node.lineno


def _path(node: nodes.Node) -> Path:
    """The chain, as far as it is constant; empty where it does not begin with a variable."""
    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.Getattr):
        before = _path(node.node)
        return (*before, node.attr) if before else ()
    if (
        isinstance(node, nodes.Getitem)
        and isinstance(node.arg, nodes.Const)
        and isinstance(node.arg.value, str | int)
    ):
        before = _path(node.node)
        return (*before, node.arg.value) if before else ()
    return ()


def _includes(tree: nodes.Template) -> Iterator[Asked]:
    """Templates that must be there."""
    required: list[Any] = [node for node in tree.find_all(nodes.Include) if not node.ignore_missing]
    imports = [*tree.find_all(nodes.Import), *tree.find_all(nodes.FromImport), *tree.find_all(nodes.Extends)]
    for node in (*required, *imports):
        if _constant(node.template):
            yield Asked(_constant(node.template), node.lineno)
