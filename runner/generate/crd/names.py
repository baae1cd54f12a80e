"""How an option of a role is named as a field of a custom resource, and in CEL. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from runner.execute.variables import to_snake

_RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let"),
        *("loop", "namespace", "null", "package", "return", "true", "var", "void", "while"),
    }
)
_ESCAPED = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))


def field_name(option: str, *, snake_case: bool) -> str:
    """The field that becomes the variable `option`; "" where there is none.

    In camelCase, as the API's own fields are; where that does not lead back, as the option is written.
    """
    if not snake_case:
        return option
    first, *others = option.split("_")
    camel = first + "".join(word[:1].upper() + word[1:] for word in others)
    return next((name for name in (camel, option) if name and to_snake(name) == option), "")


def field_names(options: Iterable[str], *, snake_case: bool) -> Mapping[str, str]:
    """The field of each option, for those that have one."""
    found = {option: field_name(option, snake_case=snake_case) for option in options}
    return {option: name for option, name in found.items() if name}


def unlike(option: str) -> str:
    """Why no field becomes that option."""
    return (
        f"no field of a custom resource becomes the variable {option}: as {option} it would become"
        f" {to_snake(option)}; name the option in lower case with underscores, or set `snakeCaseParameters: false`"
    )


def survives(value: object) -> bool:
    """Whether the keys in a value are the same once the runner has made variables of them."""
    if isinstance(value, Mapping):
        return all(to_snake(str(key)) == str(key) and survives(item) for key, item in value.items())
    return all(map(survives, value)) if isinstance(value, list) else True


def in_cel(field: str) -> str:
    """The field as CEL spells it behind `self.`."""
    if field in _RESERVED:
        return f"__{field}__"
    return re.sub(r"__|[.\-/]", lambda found: dict(_ESCAPED)[found[0]], field)
