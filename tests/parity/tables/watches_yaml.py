"""How the YAML of `watches.yaml` is read."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row


def coerced(facts: Facts, name: str) -> Any:
    return facts["coerced"]["extravars"][name]


PARSING = (
    Row(
        id="yaml-first-document",
        says="only the first YAML document counts",
        batch="values",
        seen=lambda f: bool(f["full"]),
    ),
    Row(
        id="yaml-top-level",
        says="the top level must be a list",
        batch="refusals",
        seen=lambda f: f["map"]["refused"],
    ),
    Row(
        id="yaml-empty",
        says="an empty file has no watches",
        batch="refusals",
        seen=lambda f: f["empty"]["refused"],
        expected=False,
    ),
    Row(
        id="yaml-null", says="null has none", batch="refusals", seen=lambda f: f["null"]["refused"], expected=False
    ),
    Row(
        id="yaml-comments",
        says="comments have none",
        batch="refusals",
        seen=lambda f: f["comments"]["refused"],
        expected=False,
    ),
    Row(
        id="yaml-empty-list",
        says="[] has none",
        batch="refusals",
        seen=lambda f: f["list"]["refused"],
        expected=False,
    ),
    Row(
        id="yaml-null-item",
        says="a null item is a GVK without version",
        batch="refusals",
        seen=lambda f: "invalid GVK" in f["null item"]["text"],
    ),
    Row(
        id="yaml-case",
        says="field names match in any case",
        batch="values",
        seen=lambda f: bool(f["cased"]["extra"]),
    ),
    Row(
        id="yaml-case-vars",
        says="vars too",
        batch="values",
        seen=lambda f: f["cased"]["extravars"]["cased"],
        expected="here",
    ),
    Row(
        id="yaml-case-finalizer",
        says="also within finalizer and selector",
        batch="triggers",
        seen=lambda f: f["cased finalizers"],
        expected=["parity.example.com/cased"],
    ),
    Row(
        id="yaml-unknown",
        says="unknown fields are ignored",
        batch="values",
        seen=lambda f: bool(f["cased"]["extra"]),
    ),
    Row(
        id="yaml-duplicate-key",
        says="of equal keys the last wins",
        batch="values",
        seen=lambda f: coerced(f, "twice"),
        expected="second",
    ),
    Row(
        id="yaml-string-coercion",
        says="scalars for strings are coerced: version 1, kind yes",
        batch="refusals",
        seen=lambda f: "/1, Kind=true" in f["coerced"]["text"],
    ),
    Row(
        id="yaml-quoted-bool",
        says="a quoted bool is an error",
        batch="refusals",
        seen=lambda f: f["quoted bool"]["refused"],
    ),
    Row(
        id="yaml-quoted-int",
        says="a quoted int is an error",
        batch="refusals",
        seen=lambda f: f["quoted int"]["refused"],
    ),
    Row(
        id="yaml-float-int",
        says="5.0 is fine for an int",
        batch="values",
        seen=lambda f: bool(f["coerced"]["extravars"]),
    ),
    Row(
        id="yaml-vars-y",
        says="the key y becomes true",
        batch="values",
        seen=lambda f: coerced(f, "true"),
        expected="why",
    ),
    Row(
        id="yaml-vars-off",
        says="the key off becomes false",
        batch="values",
        seen=lambda f: coerced(f, "false"),
        expected="not",
    ),
    Row(
        id="yaml-vars-int-key",
        says="an int key becomes a string",
        batch="values",
        seen=lambda f: coerced(f, "1"),
        expected="one",
    ),
    Row(
        id="yaml-vars-float",
        says="1.0 becomes 1",
        batch="values",
        seen=lambda f: repr(coerced(f, "float")),
        expected="1",
    ),
    Row(
        id="yaml-vars-octal",
        says="017 becomes 15",
        batch="values",
        seen=lambda f: coerced(f, "octal"),
        expected=15,
    ),
    Row(
        id="yaml-vars-octals",
        says="0o17 becomes 15",
        batch="values",
        seen=lambda f: coerced(f, "octals"),
        expected=15,
    ),
    Row(
        id="yaml-vars-date",
        says="dates stay strings",
        batch="values",
        seen=lambda f: coerced(f, "date"),
        expected="2001-01-01",
    ),
    Row(
        id="yaml-vars-big",
        says="integers beyond 64 bits lose precision",
        batch="values",
        seen=lambda f: float(coerced(f, "big")),
        expected=1.2345678901234568e20,
    ),
    Row(
        id="yaml-vars-quoted",
        says="quoted words stay strings",
        batch="values",
        seen=lambda f: coerced(f, "quoted"),
        expected="yes",
    ),
    Row(
        id="yaml-vars-bare",
        says="bare ones are booleans",
        batch="values",
        seen=lambda f: coerced(f, "bare"),
        expected=True,
    ),
)

ROWS = (*PARSING,)
