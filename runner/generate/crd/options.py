"""Argument specs of Ansible as data: options, their types, and the rules between them. Pure.

Rules count where Ansible reads them, which is in the options of a `dict` or of a `list` of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.generate.crd.values import TYPES, typed

Raw = Mapping[str, Any]
Note = Callable[[tuple[str, ...], str], None]
"""Takes the path of an option, and what is wrong with it."""
_MARKUP = re.compile(r"\b(?:[BICMOUVEP]|RV)\(([^()]*)\)")
RULES = {
    "mutually_exclusive": "[[a, b]]",
    "required_together": "[[a, b]]",
    "required_one_of": "[[a, b]]",
    "required_if": "[[a, value, [b, c]]]",
    "required_by": "{a: [b, c]}",
}
"""The rules, each with its form."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule between options of one level.

    Of `required_if`, `key` and `value` are what `names` are required for, all or `any_of` them; of `required_by`
    it is `key`.
    """

    kind: str
    names: tuple[str, ...]
    key: str = ""
    value: Any = None
    any_of: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One option; `inner` are those of a dict, or of each item of a list of dicts. `default` is None for none."""

    name: str
    type: str = "str"
    elements: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[Any, ...] = ()
    description: str = ""
    no_log: bool = False
    apply_defaults: bool = False
    inner: Options | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one level, and the rules between them."""

    options: tuple[Option, ...] = ()
    rules: tuple[Rule, ...] = ()

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def named(self, name: str) -> Option:
        return next(option for option in self.options if option.name == name)

    def accept_nothing(self) -> bool:
        """Whether a map without any of them is accepted: what is required is there by default."""
        known = {option.name: option.default for option in self.options if option.default is not None}
        return not any(map(is_required, self.options)) and all(_is_met(rule, known) for rule in self.rules)


def is_required(option: Option) -> bool:
    """Also of a map of defaults, where defaults are not enough."""
    makes_map = option.apply_defaults and option.type == "dict" and option.inner is not None
    return option.required or (makes_map and option.inner is not None and not option.inner.accept_nothing())


def _is_met(rule: Rule, known: Raw) -> bool:
    """Whether these values meet a rule; only of values that are set can one exclude another."""
    there = [name in known for name in rule.names]
    match rule.kind:
        case "mutually_exclusive":
            return True
        case "required_together":
            return len(set(there)) < 2
        case "required_one_of":
            return any(there)
        case "required_if" if rule.key not in known or known[rule.key] != rule.value:
            return True
        case "required_by" if rule.key not in known:
            return True
        case _:
            return any(there) if rule.any_of else all(there)


def read_options(raw: Raw, note: Note, path: tuple[str, ...] = ()) -> tuple[Option, ...]:
    """The options of one level; `note` is told every mistake."""
    found = (_option(str(name), item, note, (*path, str(name))) for name, item in raw.items())
    return tuple(option for option in found if option is not None)


def _option(name: str, raw: Any, note: Note, path: tuple[str, ...]) -> Option | None:  # noqa: ANN401  (any YAML)
    if not isinstance(raw, Mapping):
        note(path, "must be a map with type, description and so on")
        return None
    kind, elements = str(raw.get("type") or "str"), str(raw.get("elements") or "")
    for word in filter(None, (kind, elements)):
        if word not in TYPES:
            note(path, f'"{word}" is no type of Ansible\'s: use one of {", ".join(TYPES)}')
            return None
    default = raw.get("default")
    if isinstance(default, str) and "{{" in default:
        default = None
    if default is not None and raw.get("required"):
        note(path, "is required and has a default, which Ansible refuses: remove one of them")
    item = elements or "raw" if kind == "list" else kind
    choices = raw.get("choices") or ()
    return Option(
        name,
        kind,
        elements if kind == "list" else "",
        required=bool(raw.get("required")),
        default=_values(kind, [default], note, path, "default")[0] if default is not None else None,
        choices=tuple(_values(item, choices, note, path, "choice")) if isinstance(choices, list) else (),
        description=described(raw.get("description")),
        no_log=bool(raw.get("no_log")),
        apply_defaults=raw.get("apply_defaults") in (True, "true", "True", "yes"),
        inner=_inner(raw, item, note, path),
    )


def _inner(raw: Raw, item: str, note: Note, path: tuple[str, ...]) -> Options | None:
    options = raw.get("options")
    if item != "dict" or not isinstance(options, Mapping):
        return None
    found = read_options(options, note, path)
    rules = tuple(_rules(raw, note, path))
    known = {option.name for option in found}
    for rule in rules:
        for name in sorted({rule.key, *rule.names} - known - {""}):
            note(path, f"{rule.kind} names {name}, which is no option here; there are {', '.join(sorted(known))}")
    return Options(found, rules)


def _values(kind: str, values: Sequence[Any], note: Note, path: tuple[str, ...], what: str) -> list[Any]:
    found = []
    for value in values:
        try:
            found.append(typed(kind, value))
        except ValueError:
            note(path, f"the {what} {value!r} is no {kind}" + (": quote it" if kind in ("str", "path") else ""))
            found.append(None)
    return found


def described(description: object) -> str:
    """A description as people read it, without Ansible's markup."""
    lines = description if isinstance(description, list) else [description]
    return "\n".join(_MARKUP.sub(r"\1", str(line).strip()) for line in lines if line)


def _rules(raw: Raw, note: Note, path: tuple[str, ...]) -> Iterator[Rule]:
    """The rules of one level. A group may be a single name, which rules out nothing, as in Ansible."""
    for kind, form in RULES.items():
        try:
            yield from list(_of_kind(kind, raw.get(kind) or ()))
        except (AttributeError, TypeError, ValueError):
            note(path, f"{kind} is not as Ansible reads it: write {form}")


def _of_kind(kind: str, raw: Any) -> Iterator[Rule]:  # noqa: ANN401  (any YAML)
    """Raises AttributeError, TypeError and ValueError for what has another form."""
    if kind == "required_by":
        for key, names in dict(raw).items():
            yield Rule(kind, _names(names), str(key))
        return
    for group in raw:
        if kind == "required_if":
            key, value, names, *any_of = group
            yield Rule(kind, _names(names), str(key), value, any_of=any(any_of))
        else:
            yield Rule(kind, _names(group))


def _names(raw: Any) -> tuple[str, ...]:  # noqa: ANN401  (any YAML)
    return (raw,) if isinstance(raw, str) else tuple(map(str, raw))
