"""How the YAML of `watches.yaml` is read."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, refusals, triggers, values


def coerced(facts: Facts, name: str) -> Any:
    return facts["coerced"]["extravars"][name]


PARSING = (
    values("yaml-first-document", "only the first YAML document counts", lambda f: bool(f["full"])),
    refusals("yaml-top-level", "the top level must be a list", lambda f: f["map"]["refused"]),
    refusals("yaml-empty", "an empty file has no watches", lambda f: f["empty"]["refused"], False),
    refusals("yaml-null", "null has none", lambda f: f["null"]["refused"], False),
    refusals("yaml-comments", "comments have none", lambda f: f["comments"]["refused"], False),
    refusals("yaml-empty-list", "[] has none", lambda f: f["list"]["refused"], False),
    refusals(
        "yaml-null-item", "a null item is a GVK without version", lambda f: "invalid GVK" in f["null item"]["text"]
    ),
    values("yaml-case", "field names match in any case", lambda f: bool(f["cased"]["extra"])),
    values("yaml-case-vars", "vars too", lambda f: f["cased"]["extravars"]["cased"], "here"),
    triggers(
        "yaml-case-finalizer",
        "also within finalizer and selector",
        lambda f: f["cased finalizers"],
        ["parity.example.com/cased"],
    ),
    values("yaml-unknown", "unknown fields are ignored", lambda f: bool(f["cased"]["extra"])),
    values("yaml-duplicate-key", "of equal keys the last wins", lambda f: coerced(f, "twice"), "second"),
    refusals(
        "yaml-string-coercion",
        "scalars for strings are coerced: version 1, kind yes",
        lambda f: "/1, Kind=true" in f["coerced"]["text"],
    ),
    refusals("yaml-quoted-bool", "a quoted bool is an error", lambda f: f["quoted bool"]["refused"]),
    refusals("yaml-quoted-int", "a quoted int is an error", lambda f: f["quoted int"]["refused"]),
    values("yaml-float-int", "5.0 is fine for an int", lambda f: bool(f["coerced"]["extravars"])),
    values("yaml-vars-y", "the key y becomes true", lambda f: coerced(f, "true"), "why"),
    values("yaml-vars-off", "the key off becomes false", lambda f: coerced(f, "false"), "not"),
    values("yaml-vars-int-key", "an int key becomes a string", lambda f: coerced(f, "1"), "one"),
    values("yaml-vars-float", "1.0 becomes 1", lambda f: repr(coerced(f, "float")), "1"),
    values("yaml-vars-octal", "017 becomes 15", lambda f: coerced(f, "octal"), 15),
    values("yaml-vars-octals", "0o17 becomes 15", lambda f: coerced(f, "octals"), 15),
    values("yaml-vars-date", "dates stay strings", lambda f: coerced(f, "date"), "2001-01-01"),
    values(
        "yaml-vars-big",
        "integers beyond 64 bits lose precision",
        lambda f: float(coerced(f, "big")),
        1.2345678901234568e20,
    ),
    values("yaml-vars-quoted", "quoted words stay strings", lambda f: coerced(f, "quoted"), "yes"),
    values("yaml-vars-bare", "bare ones are booleans", lambda f: coerced(f, "bare"), True),
)

ROWS = (*PARSING,)
