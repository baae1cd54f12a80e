"""`$NAME` and `${NAME}` in the text of watches.yaml, exactly as the Go operator replaces them.

An undefined name comes out in its braced form; the odd cases (`$1`, `${}`, an unclosed brace) are those of
Go's os.Expand, measured on the Go operator.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(
    r"\$(?:\{(?P<braced>[^}]*)\}|(?P<unclosed>\{)|(?P<name>[*#$@!?\-0-9]|[A-Za-z_]\w*))", re.ASCII
)


def substitute(text: str, environment: Mapping[str, str]) -> str:
    """`text` with every reference to a variable of `environment` replaced by its value."""

    def replacement(match: re.Match[str]) -> str:
        name = match["braced"] or match["name"]
        return environment.get(name, "${" + name + "}") if name else ""

    return _REFERENCE.sub(replacement, text)
