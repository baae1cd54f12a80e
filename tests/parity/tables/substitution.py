"""What `watches.yaml` takes from the environment."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, values


def replaced(facts: Facts, name: str) -> Any:
    return facts["replaced"]["extravars"][name]


SUBSTITUTION = (
    values("substitution-braced", "${FOO} is the value", lambda f: replaced(f, "braced"), "value"),
    values("substitution-bare", "$FOO is the value", lambda f: replaced(f, "bare"), "value"),
    values("substitution-dashed", "$FOO-x is value-x", lambda f: replaced(f, "dashed"), "value-x"),
    values(
        "substitution-longer", "$FOOx, undefined, becomes ${FOOx}", lambda f: replaced(f, "longer"), "${VALUEx}"
    ),
    values("substitution-unset", "${UNSET} stays", lambda f: replaced(f, "unset"), "${UNSET}"),
    values("substitution-fallback", "${FOO:-x} stays", lambda f: replaced(f, "fallback"), "${VALUE:-x}"),
    values("substitution-dollars", "$$ becomes ${$}", lambda f: replaced(f, "dollars"), "a${$}b"),
    values("substitution-digit", "$1 becomes ${1}", lambda f: replaced(f, "digit"), "a${1}b"),
    values("substitution-bang", "$! becomes ${!}", lambda f: replaced(f, "bang"), "a${!}b"),
    values("substitution-minus", "$- becomes ${-}", lambda f: replaced(f, "minus"), "a${-}b"),
    values("substitution-empty", "${} is removed", lambda f: replaced(f, "empty"), "ab"),
    values(
        "substitution-unclosed", "${FOO without an end becomes FOO", lambda f: replaced(f, "unclosed"), "aVALUE"
    ),
    values("substitution-space", "$ before a space stays", lambda f: replaced(f, "space"), "a$ b"),
    values("substitution-point", "$. stays", lambda f: replaced(f, "point"), "a$.b"),
    values("substitution-last", "$ before a quote stays", lambda f: replaced(f, "last"), "a$"),
    values("substitution-jinja", "{{ jinja }} stays", lambda f: replaced(f, "jinja"), "{{ 3 + 3 }}"),
)

ROWS = (*SUBSTITUTION,)
