"""Whether what tasks call has the options that they give it, and takes their values. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from runner.config.yamlfile import Located
from runner.validate.content.documentation import Option, Options
from runner.validate.content.installed import Module
from runner.validate.content.jinja import has_jinja
from runner.validate.content.tasks import Call
from runner.validate.documents import child, entries, members, text
from runner.validate.findings import Finding

_ANY_OPTION = ("set_fact", "add_host", "package", "service", "gather_facts", "meta", "import_playbook")
"""Modules that take names of the user's choice, or hand on what they don't know to another module."""
_WORD = re.compile(r"(?:^|\s)([A-Za-z_]\w*)=")
_OPAQUE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|'[^']*'|\"[^\"]*\"", re.DOTALL)
_BOOLEANS = ("yes", "no", "true", "false", "on", "off", "y", "n", "t", "f", "1", "0", "1.0", "0.0")
_MOST_CHOICES = 8


@dataclass(frozen=True, slots=True)
class Called:
    """A call, its module, and its file; `defaults` says that module_defaults may add options."""

    call: Call
    module: Module
    file: str
    defaults: bool

    def finding(self, rule: str, line: int, name: str, message: str) -> Finding:
        field = f"{self.call.field}.{name}" if name else self.call.field
        return Finding(rule, self.file, line, field, message)


def meant(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, or nothing where no name is close."""
    close = difflib.get_close_matches(name, sorted(known), 1, 0.7)
    return f"; did you mean {close[0]}?" if close else ""


def check(called: Called) -> Iterator[Finding]:
    """What is wrong with one call."""
    module, call = called.module, called.call
    line = call.task.node.line
    if module.removed:
        yield called.finding("module-removed", line, "", f"{call.name} was removed: {module.removed}")
    if module.deprecated:
        yield called.finding("module-deprecated", line, "", f"{call.name} is deprecated: {module.deprecated}")
    if module.options is not None and call.short not in _ANY_OPTION:
        given = _given(call, module.options)
        yield from _unknown(called, module.options, given)
        yield from _missing(called, module.options, given)
        for name, value in given.items():
            option = module.options.named.get(module.options.aliases.get(name, name))
            if option is not None:
                yield from _value(called, name, value, option)


def _given(call: Call, options: Options) -> dict[str, Located]:
    """The arguments by name; those in a text have no value that is looked at."""
    given = {**entries(child(call.task.node, "args")), **entries(call.arguments)}
    if text(call.arguments) and not options.free:
        plain = _OPAQUE.sub("x", text(call.arguments))
        given |= {name: Located(None, call.arguments.line) for name in _WORD.findall(plain)}
    return {name: value for name, value in given.items() if not name.startswith("_")}


def _unknown(called: Called, options: Options, given: Mapping[str, Located]) -> Iterator[Finding]:
    known = {*options.named, *options.aliases}
    for name, value in given.items():
        if name not in known and not has_jinja(name) and not called.module.mentions(name):
            hint = meant(name, known) or f"; it has {_few(options.named)}"
            message = f"{called.call.name} has no option {name}{hint}"
            yield called.finding("option-unknown", value.line, name, message)


def _missing(called: Called, options: Options, given: Mapping[str, Located]) -> Iterator[Finding]:
    call = called.call
    whole = text(call.arguments) or text(child(call.task.node, "args"))
    if called.defaults or has_jinja(whole):
        return
    there = {options.aliases.get(name, name) for name in given}
    for name, option in options.named.items():
        if option.required and name not in there:
            message = f"{call.name} needs the option {name}: add it"
            yield called.finding("option-missing", call.task.node.line, "", message)


def _value(called: Called, name: str, value: Located, option: Option) -> Iterator[Finding]:
    """What is wrong with a value that is written out; one with Jinja is known at run time only."""
    for item in members(value) if option.type == "list" else [value]:
        if isinstance(item.value, dict) and option.options:
            yield from _map(called, name, item, option.options)
        elif not isinstance(item.value, dict | list) and item.value is not None and not _decided_later(item):
            message = _refused(item.value, option)
            if message:
                yield called.finding(
                    "option-value", item.line, name, f"{called.call.name} takes for {name} {message}"
                )


def _map(called: Called, path: str, value: Located, options: Mapping[str, Option]) -> Iterator[Finding]:
    for name, item in entries(value).items():
        if name in options:
            yield from _value(called, f"{path}.{name}", item, options[name])
        elif not has_jinja(name) and not called.module.mentions(name):
            hint = meant(name, options) or f"; it has {_few(options)}"
            message = f"{path} of {called.call.name} has no option {name}{hint}"
            yield called.finding("suboption-unknown", item.line, f"{path}.{name}", message)


def _decided_later(value: Located) -> bool:
    return has_jinja(text(value))


def _refused(value: object, option: Option) -> str:
    """What the option takes instead of this value, or nothing where it takes it."""
    if option.choices:
        return _not_chosen(value, option)
    if option.type == "bool" and not isinstance(value, bool) and str(value).lower() not in _BOOLEANS:
        return f"true or false, not {_shown(value)}"
    if option.type in ("int", "float") and not _is_number(value, option.type):
        return f"a {'whole ' if option.type == 'int' else ''}number, not {_shown(value)}"
    return ""


def _not_chosen(value: object, option: Option) -> str:
    choices = [str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in option.choices]
    if isinstance(value, bool):
        taken = any(choice.lower() in _BOOLEANS for choice in choices)
    elif option.type == "list":
        taken = all(word.strip() in choices for word in str(value).split(","))
    else:
        written = str(value).encode("unicode_escape").decode()  # documentation says `\\n` for a line's end
        taken = (
            str(value) in choices
            or written in choices
            or (option.type == "bool" and str(value).lower() in _BOOLEANS)
        )
    return "" if taken else f"{_few(choices)}, not {_shown(value)}{meant(str(value), choices)}"


def _is_number(value: object, kind: str) -> bool:
    try:
        float(str(value)) if kind == "float" else int(float(str(value)))
    except (ValueError, OverflowError):
        return False
    return not isinstance(value, bool)


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f", and {len(listed) - _MOST_CHOICES} more" if len(listed) > _MOST_CHOICES else ""
    return ", ".join(listed[:_MOST_CHOICES]) + more
