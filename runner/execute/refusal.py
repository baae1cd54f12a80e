"""What the API server objected to, out of what a module says of it: a Status within a longer text. Pure."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LONGEST_CAUSES = 200
"""Characters of all causes together; the first is told however long it is."""
_MOST_STARTS = 50
_START = re.compile(r'\{"(?:kind|apiVersion|metadata|status)":')
_BYTES = re.compile(r"""b(['"])\{""")
_EXAMPLE = re.compile(r" \(e\.g\. .{0,400}regex used for validation is .*\)\Z", re.DOTALL)
_FORBIDDEN = re.compile(r"^[\w./-]+(?: \"[^\"]*\")? is forbidden: ")
_INVALID = re.compile(r"^.{0,300}? is invalid: ", re.DOTALL)
_GO_TYPE = re.compile(r"cannot unmarshal (\w+) into Go struct field \w+\.(\S+) of type (\S+)")
# Of a definition that is a text, which a lookup of a template gives.
_KIND_LINE = re.compile(r"^kind: *[\"']?(\w+)", re.MULTILINE)
_NAME_LINE = re.compile(r"^metadata:\n(?: .*\n)*?  name: *[\"']?([\w.-]+)", re.MULTILINE)
_SCHEMA_TYPE = re.compile(r'in body must be of type (\w+): "(\w+)"\Z')


def refusal(text: str, arguments: Mapping[str, Any]) -> str | None:
    """`Deployment blog refused (422): spec.replicas: ...`; None if the text holds no answer of an API server.

    `arguments` are those of the module: they name the object more plainly than the answer does.
    """
    found = _status(text)
    if found is None:
        return None
    details = _mapping(found.get("details"))
    kind, name = _object(arguments) or (details.get("kind"), details.get("name"))
    what = " ".join(str(part) for part in (kind, name) if part) or "The request was"
    code = found.get("code")
    return f"{what} refused{f' ({code})' if isinstance(code, int) else ''}: {_objection(found, details)}"


def _status(text: str) -> Mapping[str, Any] | None:
    """The first Status in the text, be it JSON or Python's spelling of its bytes."""
    if "Status" not in text:
        return None
    decoder = json.JSONDecoder()
    for part in (text, *_unquoted(text)):
        for count, start in enumerate(_START.finditer(part)):
            if count == _MOST_STARTS:
                break
            try:
                value, _ = decoder.raw_decode(part, start.start())
            except (ValueError, RecursionError):
                continue
            if isinstance(value, Mapping) and value.get("kind") == "Status":
                return value
    return None


def _unquoted(text: str) -> Iterator[str]:
    begin = _BYTES.search(text)
    if begin is None:
        return
    try:
        quoted = text[begin.start() : text.rindex(begin[1]) + 1]
        yield ast.literal_eval(quoted).decode(errors="replace")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return


def _object(arguments: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and name of what the module was to read or write, where its arguments say it."""
    definition = arguments.get("definition") or arguments.get("resource_definition")
    if isinstance(definition, Sequence) and not isinstance(definition, str) and len(definition) == 1:
        definition = definition[0]
    if isinstance(definition, Mapping) and definition.get("kind"):
        return str(definition["kind"]), str(_mapping(definition.get("metadata")).get("name") or "")
    if isinstance(definition, str) and len(kinds := _KIND_LINE.findall(definition)) == 1:
        name = _NAME_LINE.search(definition)
        return kinds[0], name[1] if name else ""
    if arguments.get("kind"):
        return str(arguments["kind"]), str(arguments.get("name") or "")
    return None


def _objection(status: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    causes = [text for text in map(_cause, _sequence(details.get("causes"))) if text]
    if causes:
        return _listed(list(dict.fromkeys(causes)))
    message = str(status.get("message") or status.get("reason") or "without a reason")
    if wrong := _GO_TYPE.search(message):
        return f"{wrong[2]}: got {wrong[1]}, want {wrong[3]}"
    return _INVALID.sub("", _FORBIDDEN.sub("", message))


def _cause(cause: object) -> str:
    """`field: what is wrong with it`, without the field's name in the second half."""
    if not isinstance(cause, Mapping):
        return ""
    field, message = str(cause.get("field") or ""), str(cause.get("message") or "")
    if wrong := _SCHEMA_TYPE.search(message):
        message = f"got {wrong[2]}, want {wrong[1]}"
    elif field:
        message = _EXAMPLE.sub("", message.replace(f"{field} in body ", ""))
    return ": ".join(filter(None, (field, message)))


def _listed(causes: list[str]) -> str:
    told = causes[:1]
    for cause in causes[1:]:
        if len("; ".join((*told, cause))) > _LONGEST_CAUSES:
            break
        told.append(cause)
    left = len(causes) - len(told)
    return "; ".join(told) + (f"; and {left} more" if left else "")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[Any]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
