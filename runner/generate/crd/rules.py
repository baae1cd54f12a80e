"""Rules between options as rules of a CRD, in CEL, with what they say to whoever breaks them. Pure.

A default counts as set, as it does for Ansible; but an option that excludes others has none in the CRD, because
there it could not be told from one that was set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from runner.generate.crd.names import in_cel
from runner.generate.crd.options import Option, Options, Rule
from runner.generate.crd.values import Schema, visible

_COMPARED: Mapping[str, type | tuple[type, ...]] = {
    "str": str,
    "path": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
}
"""The types of options that a value of `required_if` is compared with, and which values can be equal."""


def without_default(options: Options) -> frozenset[str]:
    """The options whose default the CRD leaves to the role.

    A map that Ansible makes of its defaults counts as missing in every rule.
    """
    return frozenset(
        name
        for rule in options.rules
        for name in (rule.key, *rule.names)
        if name and (rule.kind == "mutually_exclusive" or options.named(name).apply_defaults)
    )


def hidden(options: Options) -> list[Rule]:
    """The rules that CEL cannot say, because it does not see what they are about."""
    return [
        rule
        for rule in options.rules
        if not all(_is_visible(options.named(name)) for name in (rule.key, *rule.names) if name)
    ]


def incomparable(options: Options) -> list[Rule]:
    """The rules on the value of an option that is compared with nothing."""
    return [
        rule
        for rule in options.rules
        if rule.kind == "required_if" and options.named(rule.key).type not in _COMPARED
    ]


def validations(options: Options, fields: Mapping[str, str]) -> list[Schema]:
    """The `x-kubernetes-validations` of one level; `fields` names the field of each option."""
    level = _Level(options, fields)
    unseen = hidden(options)
    found = (level.validation(rule) for rule in options.rules if rule not in unseen)
    return [{"rule": rule, "message": message} for rule, message in filter(None, found)]


def _is_visible(option: Option) -> bool:
    return visible(option.type, option.elements)


class _Level:
    def __init__(self, options: Options, fields: Mapping[str, str]) -> None:
        self._options = options
        self._fields = fields

    def validation(self, rule: Rule) -> tuple[str, str] | None:
        """The rule and its message; None where it is always met."""
        match rule.kind:
            case "mutually_exclusive":
                return self._exclusive(rule)
            case "required_together":
                return self._together(rule)
            case "required_one_of":
                return self._one_of(rule)
            case "required_if":
                return self._if(rule)
            case _:
                return self._by(rule)

    def _exclusive(self, rule: Rule) -> tuple[str, str] | None:
        if len(set(rule.names)) < 2:
            return None
        counted = " + ".join(f"(has({self._at(name)}) ? 1 : 0)" for name in sorted(set(rule.names)))
        return f"{counted} <= 1", f"set at most one of {self._listed(rule.names, 'and')}"

    def _together(self, rule: Rule) -> tuple[str, str] | None:
        names = self._optional(rule.names)
        if not names or len(rule.names) < 2:
            return None
        every = " && ".join(f"has({self._at(name)})" for name in names)
        none = " && ".join(f"!has({self._at(name)})" for name in names)
        met = every if len(names) < len(rule.names) else f"({every}) || ({none})"
        return met, f"set {self._listed(rule.names, 'and')} together, or none of them"

    def _one_of(self, rule: Rule) -> tuple[str, str] | None:
        if len(self._optional(rule.names)) < len(rule.names):
            return None
        met = " || ".join(f"has({self._at(name)})" for name in rule.names)
        return met, f"set {'one of ' * (len(rule.names) > 1)}{self._listed(rule.names, 'and')}"

    def _if(self, rule: Rule) -> tuple[str, str] | None:
        key = self._options.named(rule.key)
        literal = _literal(key.type, rule.value)
        if literal is None or not self._needs(rule):
            return None
        equal = f"{self._at(rule.key)} == {literal}"
        if self._optional((rule.key,)):
            equal = f"has({self._at(rule.key)}) && {equal}"
        elif rule.key in without_default(self._options):
            known = rule.value == key.default
            equal = (
                f"(!has({self._at(rule.key)}) || {equal})" if known else f"has({self._at(rule.key)}) && {equal}"
            )
        few = "one of " if rule.any_of and len(rule.names) > 1 else ""
        message = f"set {few}{self._listed(rule.names, 'and')} where {self._fields[rule.key]} is {literal}"
        return f"!({equal}) || {self._needed(rule)}", message

    def _by(self, rule: Rule) -> tuple[str, str] | None:
        if not self._needs(rule):
            return None
        message = f"{self._fields[rule.key]} needs {self._listed(rule.names, 'and')}"
        if not self._optional((rule.key,)):
            return self._needed(rule), message
        return f"!has({self._at(rule.key)}) || {self._needed(rule)}", message

    def _needs(self, rule: Rule) -> bool:
        """Whether what a rule asks for could be missing."""
        optional = self._optional(rule.names)
        return len(optional) == len(rule.names) > 0 if rule.any_of else bool(optional)

    def _needed(self, rule: Rule) -> str:
        joined = (" || " if rule.any_of else " && ").join(
            f"has({self._at(name)})" for name in self._optional(rule.names)
        )
        return f"({joined})"

    def _optional(self, names: Sequence[str]) -> list[str]:
        """Those that may be missing: a default is always there for Ansible."""
        return [name for name in names if self._options.named(name).default is None]

    def _at(self, name: str) -> str:
        return f"self.{in_cel(self._fields[name])}"

    def _listed(self, names: Sequence[str], word: str) -> str:
        *first, last = (self._fields[name] for name in names)
        return f"{', '.join(first)} {word} {last}" if first else last


def _literal(kind: str, value: object) -> str | None:
    """The value in CEL; None where no value of that type can be equal to it."""
    types = _COMPARED.get(kind)
    if types is None or not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        return None
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(float(str(value))) if kind == "float" else str(value)
