"""The process that validates values by argument specs: Ansible's own validator says whether, we say where.

Ansible's messages name an option, not its place: neither the item of a list nor the key as a person wrote it. So
once Ansible has refused, each option is asked about by itself, level by level, and the answer has its path.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.parameters import remove_values
from ansible.module_utils.errors import ArgumentTypeError, ElementError

from . import wire

Options = Mapping[str, Mapping[str, Any]]
Path = tuple[str | int, ...]
Mistake = dict[str, Any]
"""`path` of the value, `text`, and the `names` of options that stand in the text."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RULES = ("mutually_exclusive", "required_together", "required_one_of", "required_if", "required_by")
_APART = frozenset({"options", "required", "default", "apply_defaults", "fallback", "aliases", *_RULES})
"""What of an option says more than what one value has to be."""
_WORDS = {
    "bool": "true or false",
    "dict": "a map",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "path": "a path",
    "str": "a string",
}
_NUMBERS = ("bool", "float", "int")
MOST = 20
"""Mistakes in one answer."""
_LONGEST = 80
"""Characters of a value that are shown."""


class Answers:
    """Answers questions, by argument specs that are read again when their file has changed."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[tuple[int, int], Options]] = {}

    def answer(self, message: wire.Message) -> wire.Message:
        """The mistakes, the values with numbers, or why the argument specs are of no use. Raises MemoryError."""
        options: Options = {}
        try:
            options = _options(self._files, message["file"])
            if message.get("numbered"):
                return {"values": numbered(options, message["values"])}
            return {"mistakes": mistakes(options, message["values"], templated=message["templated"])}
        except MemoryError:
            raise
        except Exception as error:  # a file that is no argument specs, or a spec that the validator cannot work by
            shown = type(error).__name__ if _has_secrets(options) else f"{type(error).__name__}: {error}"
            return {"broken": f"{message['file']}: {shown}"}


def _options(files: dict[str, tuple[tuple[int, int], Options]], file: str) -> Options:
    """Those of the file as it is now; read again when it has changed."""
    status = os.stat(file)
    stamp = (status.st_mtime_ns, status.st_ino)
    if file not in files or files[file][0] != stamp:
        files[file] = stamp, _read(file)
    return files[file][1]


def _read(file: str) -> Options:
    with open(file, encoding="utf-8") as stream:
        specs = (yaml.load(stream, Loader=_LOADER) or {}).get("argument_specs") or {}  # noqa: S506  (safe, in C)
    entry = specs.get("main") or (next(iter(specs.values())) if len(specs) == 1 else {})
    own = _set_by_role(os.path.dirname(os.path.dirname(file)))
    options: Options = (entry or {}).get("options") or {}
    return {
        name: {**option, "required": False} if name in own else dict(option or {})
        for name, option in options.items()
    }


def _set_by_role(role: str) -> set[str]:
    """What the role's defaults and vars set: nobody else has to."""
    found: set[str] = set()
    for place in ("defaults", "vars"):
        for ending in (".yml", ".yaml"):
            path = f"{role}/{place}/main{ending}"
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as stream:
                    found.update(yaml.load(stream, Loader=_LOADER) or ())  # noqa: S506  (safe, in C)
    return found


def mistakes(options: Options, values: Mapping[str, Any], *, templated: bool) -> list[Mistake]:
    """What is wrong with the values of these options, up to MOST; none where Ansible's validator accepts them.

    `templated`: what a template will yield is not known, and so not looked at.
    """
    known = _known(options)
    given = {name: value for name, value in values.items() if name in known}
    if templated:
        options = {
            name: {"type": "raw"} if _is_template(given.get(name)) else opt for name, opt in options.items()
        }
    try:
        result = ArgumentSpecValidator(options).validate(given)
    except Exception:  # the validator trips over a value where an option wants a map
        if found := list(islice(_locate(options, given, (), {}), MOST)):
            return found
        raise
    if not result.error_messages:
        return []
    found = list(islice(_locate(options, given, (), {}), MOST))
    hidden = remove_values(result.error_messages, result._no_log_values)
    return found or [{"path": [], "text": text, "names": sorted(options)} for text in hidden[:MOST]]


def numbered(options: Options, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with numbers and truths where options want them and a template left strings, as before 2.19."""
    known = _known(options)
    return {name: _numbered(options.get(known.get(name, "")) or {}, value) for name, value in values.items()}


def _has_secrets(options: object) -> bool:
    """Whether an option at any level has no_log; nothing is taken for granted of the role's file."""
    if not isinstance(options, dict):
        return False
    inner = [option for option in options.values() if isinstance(option, dict)]
    return any(option.get("no_log") or _has_secrets(option.get("options")) for option in inner)


def _numbered(option: Mapping[str, Any], value: Any) -> Any:
    inner = option.get("options") or {}
    if isinstance(value, dict):
        return numbered(inner, value)
    if isinstance(value, list):
        item = {"type": option.get("elements"), "options": inner}
        return [_numbered(item, each) for each in value]
    if not isinstance(value, str) or option.get("type") not in _NUMBERS:
        return value
    wanted = {"type": option["type"]}
    if _errors(wanted, value):
        return value
    return ArgumentSpecValidator({"value": wanted}).validate({"value": value}).validated_parameters["value"]


def _known(options: Options) -> dict[str, str]:
    """The option for each name that it goes by."""
    return {alias: name for name, option in options.items() for alias in (*(option.get("aliases") or ()), name)}


def _is_template(value: object) -> bool:
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    if isinstance(value, dict):
        return any(map(_is_template, value.values()))
    return isinstance(value, list) and any(map(_is_template, value))


def _locate(
    options: Options, values: Any, path: Path, rules: Mapping[str, Any], *, secret: bool = False
) -> Iterator[Mistake]:
    """Find mistakes at this level and below it. `secret`: an outer option has no_log, so no value is shown."""
    if not isinstance(values, dict):
        yield _mistake(path, f"must be a map{_is(values, secret=secret)}")
        return
    known = _known(options)
    unknown = [key for key in values if key not in known]
    if secret and unknown:  # a misplaced secret may be a key
        yield _mistake(path, f"has an unknown field; known are {', '.join(sorted(known))}")
    for key in () if secret else unknown:
        yield _mistake((*path, key), f"is unknown; {_hint(key, list(known))}")
    given = {known[key]: key for key in values if key in known}
    for name, option in options.items():
        if name in given:
            yield from _of_option(option, values[given[name]], (*path, given[name]), secret=secret)
        elif option.get("required"):
            yield _mistake((*path, name), f"is required{_description(option)}")
    asked = {name: values[key] for name, key in given.items()}
    yield from _of_rules(options, asked, path, rules, secret=secret)


def _of_option(option: Mapping[str, Any], value: Any, path: Path, *, secret: bool) -> Iterator[Mistake]:
    secret = secret or bool(option.get("no_log"))
    alone = {name: item for name, item in option.items() if name not in _APART}
    if errors := _errors(alone, value):
        yield from _words(option, value, path, errors, secret=secret)
        return
    inner = option.get("options")
    if not inner or value is None:
        return
    locate = partial(_locate, inner, rules=option, secret=secret)
    if option.get("type") == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from locate(item, (*path, index))
    else:
        yield from locate(value, path)


def _errors(option: Mapping[str, Any], value: Any) -> list[Exception]:
    """Errors of Ansible's validator for one value; the exception where one trips it, as "inf" for an int does."""
    try:
        return list(ArgumentSpecValidator({"value": option}).validate({"value": value}).errors.errors)
    except MemoryError:
        raise
    except Exception as error:
        return [error]


def _words(
    option: Mapping[str, Any], value: Any, path: Path, errors: Iterable[Exception], *, secret: bool
) -> Iterator[Mistake]:
    told = _description(option)
    kinds = {type(error) for error in errors}
    if ElementError in kinds and isinstance(value, list):
        element = {"type": option.get("elements", "str")}
        for index, item in enumerate(value):
            if _errors(element, item):
                yield _mistake((*path, index), f"must be {_wanted(element)}{_is(item, secret=secret)}{told}")
    elif option.get("choices") is not None and not (isinstance(value, list) and ArgumentTypeError in kinds):
        some = "of" if isinstance(value, list) else "one of"
        choices = ", ".join(_shown(choice) for choice in option["choices"])
        yield _mistake(path, f"must be {some} {choices}{_is(value, secret=secret)}{told}")
    else:
        yield _mistake(path, f"must be {_wanted(option)}{_is(value, secret=secret)}{told}")


def _of_rules(
    options: Options, values: dict[str, Any], path: Path, rules: Mapping[str, Any], *, secret: bool
) -> Iterator[Mistake]:
    """Which options go together; without those that are null, as where Ansible counts."""
    asked = {name: rules.get(name) for name in _RULES if rules.get(name)}
    if asked:
        free = {
            name: {"type": "raw", "no_log": secret or bool(option.get("no_log"))}
            for name, option in options.items()
        }
        result = ArgumentSpecValidator(free, **asked).validate(values)
        for text in remove_values(result.error_messages, result._no_log_values):  # required_if quotes a value
            yield {"path": list(path), "text": text, "names": sorted(options)}


def _mistake(path: Path, text: str) -> Mistake:
    return {"path": list(path), "text": text, "names": []}


def _wanted(option: Mapping[str, Any]) -> str:
    kind = option.get("type") or "str"
    words = _WORDS.get(kind, f"of type {kind}")
    if kind == "list" and option.get("elements"):
        words += f" of {option['elements']}"
    return words


def _is(value: object, *, secret: bool) -> str:
    return "" if secret else f", is {_shown(value)}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _description(option: Mapping[str, Any]) -> str:
    """The role's own words."""
    text = option.get("description") or ""
    text = " ".join(map(str, text)) if isinstance(text, list) else str(text)
    return f" ({' '.join(text.split())})" if text else ""


def _hint(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, 1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(sorted(known))}"
