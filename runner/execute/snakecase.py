"""The snake_case of the Go operator, odd results included: roles name their variables after it.

The rule has no name elsewhere: acronyms stay together, digits between letters break a word, `HTTP`, `URL` and
`IP` are words wherever they stand, and a name that began with a capital gets a leading underscore.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import zip_longest

_DIGITS_BETWEEN = re.compile("([A-Za-z])([0-9]+)([A-Za-z][0-9]+)")
_WORDS = ("HTTP", "URL", "IP")
_BREAKS = " _-"


LONGEST_REMEMBERED = 64
"""Characters of a key whose name is remembered: keys are chosen by whoever writes a custom resource."""


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
