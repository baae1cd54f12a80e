"""2. watches.yaml."""

# fmt: off

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row


def coerced(facts: Facts, name: str) -> Any:
    return facts["coerced"]["extravars"][name]


def replaced(facts: Facts, name: str) -> Any:
    return facts["replaced"]["extravars"][name]


def role(facts: Facts, name: str) -> str:
    """Where the role of a run was found, in the project."""
    return str(facts[name]["extra"]["role_path"]).removeprefix(facts["project"] + "/")


PARSING = (
    Row("2.1-first-document", "only the first YAML document counts", "values", lambda f: bool(f["full"])),
    Row("2.1-top-level", "the top level must be a list", "refusals", lambda f: f["map"]["refused"]),
    Row("2.1-empty", "an empty file has no watches", "refusals", lambda f: f["empty"]["refused"], False),
    Row("2.1-null", "null has none", "refusals", lambda f: f["null"]["refused"], False),
    Row("2.1-comments", "comments have none", "refusals", lambda f: f["comments"]["refused"], False),
    Row("2.1-empty-list", "[] has none", "refusals", lambda f: f["list"]["refused"], False),
    Row("2.1-null-item", "a null item is a GVK without version", "refusals", lambda f: "invalid GVK" in f["null item"]["text"]),
    Row("2.1-case", "field names match in any case", "values", lambda f: bool(f["cased"]["extra"])),
    Row("2.1-case-vars", "vars too", "values", lambda f: f["cased"]["extravars"]["cased"], "here"),
    Row("2.1-case-finalizer", "also within finalizer and selector", "triggers", lambda f: f["cased finalizers"], ["parity.example.com/cased"]),
    Row("2.1-unknown", "unknown fields are ignored", "values", lambda f: bool(f["cased"]["extra"])),
    Row("2.1-duplicate-key", "of equal keys the last wins", "values", lambda f: coerced(f, "twice"), "second"),
    Row("2.1-string-coercion", "scalars for strings are coerced: version 1, kind yes", "refusals", lambda f: "/1, Kind=true" in f["coerced"]["text"]),
    Row("2.1-quoted-bool", "a quoted bool is an error", "refusals", lambda f: f["quoted bool"]["refused"]),
    Row("2.1-quoted-int", "a quoted int is an error", "refusals", lambda f: f["quoted int"]["refused"]),
    Row("2.1-float-int", "5.0 is fine for an int", "values", lambda f: bool(f["coerced"]["extravars"])),
    Row("2.1-vars-y", "the key y becomes true", "values", lambda f: coerced(f, "true"), "why"),
    Row("2.1-vars-off", "the key off becomes false", "values", lambda f: coerced(f, "false"), "not"),
    Row("2.1-vars-int-key", "an int key becomes a string", "values", lambda f: coerced(f, "1"), "one"),
    Row("2.1-vars-float", "1.0 becomes 1", "values", lambda f: repr(coerced(f, "float")), "1"),
    Row("2.1-vars-octal", "017 becomes 15", "values", lambda f: coerced(f, "octal"), 15),
    Row("2.1-vars-octals", "0o17 becomes 15", "values", lambda f: coerced(f, "octals"), 15),
    Row("2.1-vars-date", "dates stay strings", "values", lambda f: coerced(f, "date"), "2001-01-01"),
    Row("2.1-vars-big", "integers beyond 64 bits lose precision", "values", lambda f: float(coerced(f, "big")), 1.2345678901234568e20),
    Row("2.1-vars-quoted", "quoted words stay strings", "values", lambda f: coerced(f, "quoted"), "yes"),
    Row("2.1-vars-bare", "bare ones are booleans", "values", lambda f: coerced(f, "bare"), True),
)

FIELDS = (
    Row("2.2-version", "version is required", "refusals", lambda f: "invalid GVK" in f["no version"]["text"]),
    Row("2.2-kind", "kind is required", "refusals", lambda f: "invalid GVK" in f["no kind"]["text"]),
    Row("2.2-group", "an empty group is the core group", "inputs", lambda f: f["secret"]["name"], "secret"),
    Row("2.2-playbook-wins", "playbook wins over role, which is not checked then", "values", lambda f: f["book"]["extra"]["role_path"], ""),
    Row("2.2-neither", "one of role and playbook is required", "refusals", lambda f: "must specify Role or Playbook" in f["neither"]["text"]),
    Row("2.2-duplicate", "a GVK may be watched once", "refusals", lambda f: "duplicate GVK: dup.example.com/v1, Kind=A" in f["duplicate"]["text"]),
    Row("2.2-vars", "vars are merged last", "values", lambda f: f["full"]["extravars"]["overlaid"], "by the watch"),
    Row("2.2-period-number", "a number for reconcilePeriod is an error", "refusals", lambda f: f["period number"]["refused"]),
    Row("2.2-period-zero", "even 0", "refusals", lambda f: f["period zero"]["refused"]),
    Row("2.2-period-empty", 'and ""', "refusals", lambda f: f["period empty"]["refused"]),
    Row("2.2-period-null", "null is the default", "refusals", lambda f: f["period null"]["refused"], False),
    Row("2.2-period-quoted-zero", '"0" is the flag', "refusals", lambda f: f["period quoted zero"]["refused"], False),
    Row("2.2-period-negative", "a negative one means never", "triggers", lambda f: f["never"], 1),
    Row("2.2-period-flag", "0s leaves it to the flag", "triggers", lambda f: f["by flag"] > 1),
    Row("2.2-period", "the watch's goes before the flag", "triggers", lambda f: f["by watch"], 1),
    Row("2.2-blacklist", "blacklist is not validated", "refusals", lambda f: f["odd blacklist"]["refused"], False),
    Row("2.2-selector-operator", "a bad selector operator is fatal", "refusals", lambda f: f["selector operator"]["refused"]),
    Row("2.2-selector-exists", "Exists with values: [] is fine", "refusals", lambda f: f["selector exists"]["refused"], False),
    Row("2.2-finalizer-name", "a finalizer needs a name", "refusals", lambda f: "finalizer must have name" in f["finalizer name"]["text"]),
    Row("2.2-finalizer-empty", "and content or vars", "refusals", lambda f: f["finalizer empty"]["refused"]),
    Row("2.2-finalizer-vars", "a wrong path beside vars loads", "refusals", lambda f: f["finalizer wrong path"]["refused"], False),
    Row("2.2-finalizer-wrong", "and without vars does not", "refusals", lambda f: f["finalizer wrong"]["refused"]),
)

PATHS = (
    Row("2.3-playbook-absolute", "an absolute playbook", "values", lambda f: f["whole"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks"),
    Row("2.3-playbook-relative", "a playbook relative to the working directory", "values", lambda f: f["book"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks"),
    Row("2.3-playbook-missing", "a playbook must exist", "refusals", lambda f: f["playbook missing"]["refused"]),
    Row("2.3-playbook-directory", "a directory passes", "refusals", lambda f: f["playbook directory"]["refused"], False),
    Row("2.3-role-absolute", "an absolute role", "values", lambda f: role(f, "realm"), "roles/tell"),
    Row("2.3-role-fqcn", "ns.col.role in ANSIBLE_COLLECTIONS_PATH", "values", lambda f: role(f, "fqcn"), "collections/ansible_collections/ns/col/roles/told"),
    Row("2.3-role-fqcn-home", "in ~/.ansible/collections without ANSIBLE_COLLECTIONS_PATH", "inputs", lambda f: f["home"]["extra"]["role_path"].endswith("home/.ansible/collections/ansible_collections/ns/col/roles/told")),
    Row("2.3-role-path", "<dir>/<role> of ANSIBLE_ROLES_PATH", "values", lambda f: role(f, "direct"), "elsewhere/direct"),
    Row("2.3-role-path-roles", "<dir>/roles/<role> of it", "values", lambda f: role(f, "below"), "more/roles/below"),
    Row("2.3-role-path-first", "before roles/<role> of the working directory", "values", lambda f: role(f, "first"), "elsewhere/first"),
    Row("2.3-role-cwd", "roles/<role> of the working directory", "values", lambda f: role(f, "full"), "roles/tell"),
    Row("2.3-role-nested", "a nested name", "values", lambda f: role(f, "nested"), "roles/default/x-deploy"),
    Row("2.3-role-missing", "role: <value> was not found", "refusals", lambda f: "role: none was not found" in f["role missing"]["text"]),
    Row("2.3-role-symlink", "a symlinked role runs", "values", lambda f: f["linked"]["name"], "linked", mended=True),
    Row("2.3-role-slash", "a trailing slash does no harm", "values", lambda f: f["slashed"]["name"], "slashed", mended=True),
    Row("2.3-role-relative", "roles/<role> relative to the working directory runs", "values", lambda f: f["relative"]["name"], "relative", mended=True),
)

SUBSTITUTION = (
    Row("2.4-braced", "${FOO} is the value", "values", lambda f: replaced(f, "braced"), "value"),
    Row("2.4-bare", "$FOO is the value", "values", lambda f: replaced(f, "bare"), "value"),
    Row("2.4-dashed", "$FOO-x is value-x", "values", lambda f: replaced(f, "dashed"), "value-x"),
    Row("2.4-longer", "$FOOx, undefined, becomes ${FOOx}", "values", lambda f: replaced(f, "longer"), "${VALUEx}"),
    Row("2.4-unset", "${UNSET} stays", "values", lambda f: replaced(f, "unset"), "${UNSET}"),
    Row("2.4-fallback", "${FOO:-x} stays", "values", lambda f: replaced(f, "fallback"), "${VALUE:-x}"),
    Row("2.4-dollars", "$$ becomes ${$}", "values", lambda f: replaced(f, "dollars"), "a${$}b"),
    Row("2.4-digit", "$1 becomes ${1}", "values", lambda f: replaced(f, "digit"), "a${1}b"),
    Row("2.4-bang", "$! becomes ${!}", "values", lambda f: replaced(f, "bang"), "a${!}b"),
    Row("2.4-minus", "$- becomes ${-}", "values", lambda f: replaced(f, "minus"), "a${-}b"),
    Row("2.4-empty", "${} is removed", "values", lambda f: replaced(f, "empty"), "ab"),
    Row("2.4-unclosed", "${FOO without an end becomes FOO", "values", lambda f: replaced(f, "unclosed"), "aVALUE"),
    Row("2.4-space", "$ before a space stays", "values", lambda f: replaced(f, "space"), "a$ b"),
    Row("2.4-point", "$. stays", "values", lambda f: replaced(f, "point"), "a$.b"),
    Row("2.4-last", "$ before a quote stays", "values", lambda f: replaced(f, "last"), "a$"),
    Row("2.4-jinja", "{{ jinja }} stays", "values", lambda f: replaced(f, "jinja"), "{{ 3 + 3 }}"),
)

SECTION_2 = (*PARSING, *FIELDS, *PATHS, *SUBSTITUTION)
