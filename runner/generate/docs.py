"""`generate docs`: the reference of a project's custom resources as Markdown, made of its CRDs and samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.errors import SettingsError
from runner.generate.files import yaml_text as dump
from runner.validate.documents import of_kind, read_manifests, read_samples, shown
from runner.validate.manifests.crds import GENERATED

FILE = Path("docs/api.md")
Schema = Mapping[str, Any]
Row = tuple[str, ...]
_HEAD = "# Custom resources\n\nMade from the CRDs by `ansible-operator generate docs`.\n"
_CONDITIONS = (
    ("`Running`", "a run is under way; the message of a long one says in which task it is"),
    ("`Successful`", "the last run of the generation `observedGeneration` succeeded"),
    ("`Failure`", "the last run failed; the message says why, and where"),
    ("`Paused`", "nothing is run, for the annotation `ansible.sdk.operatorframework.io/paused` asks for it"),
    ("`Drifted`", "a check run has found what a run would change, or (`False`) nothing"),
)
_BOUNDS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("exclusiveMinimum", "above {}"),
    ("exclusiveMaximum", "below {}"),
    ("minLength", "{} characters at least"),
    ("maxLength", "{} characters at most"),
    ("minItems", "{} items at least"),
    ("maxItems", "{} items at most"),
    ("minProperties", "{} entries at least"),
    ("maxProperties", "{} entries at most"),
    ("multipleOf", "a multiple of {}"),
    ("pattern", "`{}`"),
    ("format", "{}"),
)
_NOT_EMPTY = dict.fromkeys(("minLength", "minItems", "minProperties"), "not empty")
_AT_LEAST = dict.fromkeys(_NOT_EMPTY, 1)
"""Bounds that are said in words."""


def files(project: Path, file: Path = FILE) -> dict[Path, str]:
    """The page. Raises SettingsError where the project has no CRD."""
    manifests, _ = read_manifests(project)
    crds = [document.node.plain() for document in of_kind(manifests, "CustomResourceDefinition")]
    if not crds:
        raise SettingsError(
            f"{shown(project)} has no CRD in crds/, config/ or deploy/: there is nothing to tell of"
        )
    found = [document.node.plain() for document in (*manifests, *read_samples(project))]
    samples = [one for one in found if isinstance(one, dict)]  # molecule's playbooks are lists
    crds.sort(key=lambda crd: (str(crd["spec"]["group"]), str(crd["spec"]["names"]["kind"])))
    conditions = "\n".join(["\n## Conditions\n", *_table(("type", "meaning"), _CONDITIONS)])
    return {file: _HEAD + "".join(_kind(crd, samples) for crd in crds) + conditions}


def _kind(crd: Schema, samples: Sequence[Schema]) -> str:
    names = crd["spec"]["names"]
    other = [*names.get("shortNames", ()), *names.get("categories", ())]
    known = f", also {', '.join(f'`{name}`' for name in other)}" if other else ""
    scope = "in a namespace" if crd["spec"]["scope"] == "Namespaced" else "cluster-scoped"
    lines = [
        f"\n## {names['kind']}\n",
        f"`{crd['metadata']['name']}`, {scope}; `kubectl get {names['plural']}`{known}.\n",
    ]
    made = GENERATED in crd["metadata"].get("annotations", {})  # what it does not serve takes a conversion
    versions = [version for version in crd["spec"]["versions"] if version.get("served") or made]
    for version in sorted(versions, key=lambda version: not version.get("storage")):
        lines += _version(crd, version, samples, several=len(versions) > 1)
    return "\n".join(lines)


def _version(crd: Schema, version: Schema, samples: Sequence[Schema], *, several: bool) -> Iterator[str]:
    schema = version.get("schema", {}).get("openAPIV3Schema", {})
    fields = schema.get("properties", {})
    api_version = f"{crd['spec']['group']}/{version['name']}"
    if several:
        stored = ", the one that is stored" if version.get("storage") else ""
        converted = "" if version.get("served") else ", served where the operator converts"
        yield f"### {version['name']}\n\n`{api_version}`{stored}{converted}.\n"
    if version.get("deprecated"):
        yield f"Deprecated. {version.get('deprecationWarning', '')}\n"
    for description in (schema.get("description"), fields.get("spec", {}).get("description")):
        if description:
            yield f"{description}\n"
    sample = next((one for one in samples if _is(one, api_version, crd["spec"]["names"]["kind"])), None)
    if sample is not None:
        yield f"```yaml\n{dump(sample)}```\n"
    yield from _part(
        "Spec", ("field", "type", "default", "allowed", "meaning"), list(_spec(fields.get("spec", {}), ""))
    )
    if rules := list(_rules(schema, "")):
        yield "Beyond that:\n"
        yield "".join(f"- {rule}\n" for rule in rules)
    yield from _part("Status", ("field", "type", "meaning"), [(row[0], row[1], row[4]) for row in _status(fields)])
    columns = version.get("additionalPrinterColumns") or ()
    yield from _part("Columns of `kubectl get`", ("column", "shows"), [_column(column) for column in columns])


def _is(found: Schema, api_version: str, kind: str) -> bool:
    # Beside samples there may be files of tasks, which are lists.
    return isinstance(found, dict) and (found.get("apiVersion"), found.get("kind")) == (api_version, kind)


def _column(column: Schema) -> Row:
    wide = ", with `-o wide`" if column.get("priority") else ""
    return str(column["name"]), f"{_cell(column.get('description') or '`' + column['jsonPath'] + '`')}{wide}"


def _part(title: str, head: Row, rows: Sequence[Row]) -> Iterator[str]:
    if rows:
        yield f"**{title}**\n"
        yield from _table(head, rows)


def _table(head: Row, rows: Sequence[Row]) -> Iterator[str]:
    yield "\n".join(f"| {' | '.join(row)} |" for row in (head, tuple("---" for _ in head), *rows)) + "\n"


def _status(fields: Schema) -> Iterator[Row]:
    status = fields.get("status", {})
    kept = {name: field for name, field in status.get("properties", {}).items() if name != "conditions"}
    yield from _spec({"properties": kept}, "")


def _spec(schema: Schema, above: str) -> Iterator[Row]:
    """A row for each field, those of maps and of lists' items below it."""
    required = schema.get("required") or ()
    for name, field in (schema.get("properties") or {}).items():
        path = f"{above}{name}"
        default = f"`{json.dumps(field['default'], ensure_ascii=False)}`" if "default" in field else ""
        if name in required and not default:
            default = "required"
        yield f"`{path}`", _type(field), _cell(default), _allowed(field), _cell(str(field.get("description", "")))
        yield from _spec(field, f"{path}.")
        if isinstance(field.get("items"), Mapping):
            yield from _spec(field["items"], f"{path}[].")
        if isinstance(field.get("additionalProperties"), Mapping):
            yield from _spec(field["additionalProperties"], f"{path}.*.")


def _type(field: Schema) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    kind = str(field.get("type", "anything"))
    if kind == "array":
        return f"list of {_type(field.get('items') or {})}"
    if kind == "object":
        values = field.get("additionalProperties")
        return f"map of {_type(values)}" if isinstance(values, Mapping) else "map"
    return kind


def _allowed(field: Schema) -> str:
    found = [", ".join(f"`{value}`" for value in field["enum"])] if isinstance(field.get("enum"), list) else []
    found += [
        text.format(field[name]) for name, text in _BOUNDS if name in field and field[name] != _AT_LEAST.get(name)
    ]
    found += [text for name, text in _NOT_EMPTY.items() if field.get(name) == 1]
    if field.get("nullable"):
        found.append("null")
    return _cell("; ".join(found))


def _rules(schema: Schema, above: str) -> Iterator[str]:
    """What CEL rules say in words."""
    for rule in schema.get("x-kubernetes-validations") or ():
        where = f"`{above.rstrip('.')}`: " if above else ""
        yield f"{where}{rule.get('message') or '`' + rule['rule'] + '`'}"
    for name, field in (schema.get("properties") or {}).items():
        yield from _rules(field, f"{above}{name}.")
    if isinstance(schema.get("items"), Mapping):
        yield from _rules(schema["items"], f"{above.rstrip('.')}[].")


def _cell(text: str) -> str:
    """In one line, and without ending the cell."""
    return " ".join(text.split()).replace("|", "\\|")
