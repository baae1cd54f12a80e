"""What `watches.yaml` takes from the environment."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row


def replaced(facts: Facts, name: str) -> Any:
    return facts["replaced"]["extravars"][name]


SUBSTITUTION = (
    Row(
        id="substitution-braced",
        says="${FOO} is the value",
        batch="values",
        seen=lambda f: replaced(f, "braced"),
        expected="value",
    ),
    Row(
        id="substitution-bare",
        says="$FOO is the value",
        batch="values",
        seen=lambda f: replaced(f, "bare"),
        expected="value",
    ),
    Row(
        id="substitution-dashed",
        says="$FOO-x is value-x",
        batch="values",
        seen=lambda f: replaced(f, "dashed"),
        expected="value-x",
    ),
    Row(
        id="substitution-longer",
        says="$FOOx, undefined, becomes ${FOOx}",
        batch="values",
        seen=lambda f: replaced(f, "longer"),
        expected="${VALUEx}",
    ),
    Row(
        id="substitution-unset",
        says="${UNSET} stays",
        batch="values",
        seen=lambda f: replaced(f, "unset"),
        expected="${UNSET}",
    ),
    Row(
        id="substitution-fallback",
        says="${FOO:-x} stays",
        batch="values",
        seen=lambda f: replaced(f, "fallback"),
        expected="${VALUE:-x}",
    ),
    Row(
        id="substitution-dollars",
        says="$$ becomes ${$}",
        batch="values",
        seen=lambda f: replaced(f, "dollars"),
        expected="a${$}b",
    ),
    Row(
        id="substitution-digit",
        says="$1 becomes ${1}",
        batch="values",
        seen=lambda f: replaced(f, "digit"),
        expected="a${1}b",
    ),
    Row(
        id="substitution-bang",
        says="$! becomes ${!}",
        batch="values",
        seen=lambda f: replaced(f, "bang"),
        expected="a${!}b",
    ),
    Row(
        id="substitution-minus",
        says="$- becomes ${-}",
        batch="values",
        seen=lambda f: replaced(f, "minus"),
        expected="a${-}b",
    ),
    Row(
        id="substitution-empty",
        says="${} is removed",
        batch="values",
        seen=lambda f: replaced(f, "empty"),
        expected="ab",
    ),
    Row(
        id="substitution-unclosed",
        says="${FOO without an end becomes FOO",
        batch="values",
        seen=lambda f: replaced(f, "unclosed"),
        expected="aVALUE",
    ),
    Row(
        id="substitution-space",
        says="$ before a space stays",
        batch="values",
        seen=lambda f: replaced(f, "space"),
        expected="a$ b",
    ),
    Row(
        id="substitution-point",
        says="$. stays",
        batch="values",
        seen=lambda f: replaced(f, "point"),
        expected="a$.b",
    ),
    Row(
        id="substitution-last",
        says="$ before a quote stays",
        batch="values",
        seen=lambda f: replaced(f, "last"),
        expected="a$",
    ),
    Row(
        id="substitution-jinja",
        says="{{ jinja }} stays",
        batch="values",
        seen=lambda f: replaced(f, "jinja"),
        expected="{{ 3 + 3 }}",
    ),
)

ROWS = (*SUBSTITUTION,)
