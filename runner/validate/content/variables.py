"""Variables that content uses and nobody defines, and fields of the custom resource that no CRD keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.config.watches import Watch
from runner.config.yamlfile import Located
from runner.execute.variables import to_snake, variable_name
from runner.validate.content.closure import Closure, Source, Step, vars_of
from runner.validate.content.expressions import Text
from runner.validate.content.jinja import has_jinja
from runner.validate.content.modules import meant
from runner.validate.content.tasks import Call
from runner.validate.documents import child, entries, members, read, text, yaml_files
from runner.validate.findings import Finding
from runner.validate.manifests.schemas import keeps_all

META = "ansible_operator_meta"
ADMISSION = "ansible_operator_admission"
FIELDS = {META: ("name", "namespace"), ADMISSION: ("operation", "user", "old_object", "dry_run")}
"""Of the operator's own variables; the second is there in the tasks of `admission`."""
_MAGIC = frozenset(
    {
        *("environment", "group_names", "groups", "hostvars", "inventory_dir", "inventory_file", "item", "omit"),
        *("inventory_hostname", "inventory_hostname_short", "play_hosts", "playbook_dir", "role_name", "vars"),
        *("role_names", "role_path", "role_uuid", "packages", "services", "template_path", "template_uid"),
        *("template_host", "template_fullpath", "template_run_date", "template_mtime", "template_destpath"),
    }
)
"""What Ansible defines itself, beside all that begins with `ansible_`; facts of its own modules among it."""
_OF_ROLE_USE = frozenset(
    {"role", "name", "src", "version", "scm", "tags", "when", "vars", "become", "galaxy_info"}
)
_FACTS = ("package_facts", "service_facts", "gather_facts")
_HOSTS = ("add_host",)


@dataclass(slots=True)
class Defined:
    """The variables that a closure defines; `hidden` says that there may be more."""

    names: set[str] = field(default_factory=set)
    hidden: bool = False


def defined_by(closure: Closure) -> Defined:
    """What the files of a closure define, wherever, whenever: order and conditions are left aside."""
    found = Defined(hidden=closure.hidden)
    for source in closure.sources:
        _of_source(source, found)
    for step in closure.steps:
        _of_task(step, found)
    for directory in closure.playbook_directories:
        for path in (*yaml_files(directory / "group_vars"), *yaml_files(directory / "host_vars")):
            _of_file(path, found)
    return found


def _of_source(source: Source, found: Defined) -> None:
    node = source.document.node
    if source.kind in ("defaults", "vars"):
        found.names |= entries(node).keys()
    elif source.kind == "meta":
        _of_role_uses(child(node, "dependencies"), found)
        for entry in entries(child(node, "argument_specs")).values():
            found.names |= entries(child(entry, "options")).keys()
    for play in members(node) if source.kind == "plays" else ():
        found.names |= vars_of(play).keys()
        found.names |= {text(child(item, "name")) for item in members(child(play, "vars_prompt"))}
        _of_role_uses(child(play, "roles"), found)
        for item in members(child(play, "vars_files")):
            _of_named_file(text(item), source.path, found)


def _of_role_uses(node: Located, found: Defined) -> None:
    for item in members(node):
        found.names |= vars_of(item).keys() | (entries(item).keys() - _OF_ROLE_USE)


def _of_task(step: Step, found: Defined) -> None:
    node, call = step.task.node, step.call
    found.names |= vars_of(node).keys() | {text(child(node, "register"))}
    loop = child(node, "loop_control")
    found.names |= {text(child(loop, name)) for name in ("loop_var", "index_var")}
    if call is None:
        return
    if call.short in ("set_fact", *_HOSTS):
        names = set(entries(call.arguments)) | {word.partition("=")[0] for word in text(call.arguments).split()}
        found.names |= names
        found.hidden |= any(has_jinja(name) for name in names)
    elif call.short == "include_vars":
        _of_include_vars(step, call, found)
    elif call.short in ("include_role", "import_role"):
        found.hidden |= has_jinja(text(call.argument("name", "role")))
        found.names |= vars_of(child(call.arguments, "apply")).keys()
    elif call.last.endswith("_facts") and call.short not in _FACTS:
        found.hidden = True  # its facts become variables of any name


def _of_include_vars(step: Step, call: Call, found: Defined) -> None:
    name = text(call.argument("name"))
    file = text(call.argument("file", "dir")) or ("" if "=" in text(call.arguments) else text(call.arguments))
    if name:
        found.names.add(name)
    elif has_jinja(file) or not file:
        found.hidden |= step.source.role is None  # all files in vars/ of a role are read anyway
    else:
        _of_named_file(file.strip(), step.source.path, found)


def _of_named_file(name: str, path: Path, found: Defined) -> None:
    around = (path.parent, path.parent / "vars", path.parent.parent, path.parent.parent / "vars")
    place = next((base / name for base in around if (base / name).exists()), None)
    if place is None:
        found.hidden = True
    else:
        for file in yaml_files(place) if place.is_dir() else (place,):
            _of_file(file, found)


def _of_file(path: Path, found: Defined) -> None:
    documents, _ = read(path)
    found.hidden |= not documents  # encrypted, or not readable
    for document in documents[:1]:
        found.names |= entries(document.node).keys()


@dataclass(frozen=True, slots=True)
class Resource:
    """The custom resource of a watch as its runs see it; `schema` is the CRD's for it."""

    watch: Watch
    schema: Mapping[str, Any]

    @property
    def spec(self) -> Mapping[str, Any]:
        return _mapping(_mapping(self.schema.get("properties")).get("spec"))

    @property
    def name(self) -> str:
        return variable_name(self.watch.gvk)

    @property
    def is_open(self) -> bool:
        """Whether the spec may have any field."""
        return not self.spec or keeps_all(self.schema) or keeps_all(self.spec)

    def fields(self) -> dict[str, Any]:
        """Each variable that a field of the spec becomes, with its schema."""
        return _variables(self.spec, self.watch.snake_case)

    def names(self) -> set[str]:
        finalizer = self.watch.finalizer
        own = {META, self.name, f"{self.name}_spec", *self.watch.vars, *(finalizer.vars if finalizer else ())}
        return own | self.fields().keys()


def _mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401  (any JSON)
    """The value, or an empty map where a mistaken CRD has something else."""
    return value if isinstance(value, Mapping) else {}


def _variables(schema: Mapping[str, Any], snake_case: bool) -> dict[str, Any]:
    properties = _mapping(schema.get("properties"))
    return {to_snake(str(name)) if snake_case else str(name): inner for name, inner in properties.items()}


def undefined(texts: Iterable[Text], defined: Defined, resources: list[Resource]) -> Iterator[Finding]:
    """Variables that nothing defines; none where some may be defined out of sight."""
    texts = list(texts)
    expected = {name for item in texts for name in (*item.jinja.guarded, *item.jinja.assigned)}
    known = defined.names | expected | _MAGIC | {name for resource in resources for name in resource.names()}
    if defined.hidden or not resources or any(resource.is_open for resource in resources):
        return
    for item in texts:
        for variable in item.jinja.variables:
            if variable.name not in known and not variable.name.startswith(("ansible_", "_ansible_")):
                hint = meant(variable.name, known)
                message = (
                    f"nothing defines {variable.name}: no default, no task, and no field of"
                    f" {_kinds(resources)}{hint or '; give it a default, or add the field to the CRD'}"
                )
                yield Finding("variable-undefined", item.file, item.at(variable.line), item.field, message)


def _kinds(resources: list[Resource]) -> str:
    return " or ".join(sorted({resource.watch.gvk.kind for resource in resources}))


def pruned(texts: Iterable[Text], defined: Defined, resources: list[Resource]) -> Iterator[Finding]:
    """Fields of the resource that are used and cannot be there: no schema of a watched kind has them."""
    for item in texts:
        for path, line in item.jinja.paths:
            names = [str(part) for part in path]
            place = (item.file, item.at(line), item.field)
            if path[0] in FIELDS and names[1] not in FIELDS[names[0]]:
                *most, last = FIELDS[names[0]]
                has = f"{', '.join(most)} and {last}"
                hint = _labels(names[1]) or meant(names[1], set(FIELDS[names[0]]))
                message = f"{names[0]} has {has} alone, no {names[1]}{hint}"
                yield Finding("meta-field-unknown", *place, message)
            elif path[0] not in defined.names and resources and all(_lacks(path, one) for one in resources):
                missing = ".".join(names)
                message = f"the CRD of {_kinds(resources)} has no field for {missing}, which is never there"
                hint = _near(path, resources[0]) or ": add the field, or mend the name"
                yield Finding("field-pruned", *place, message + hint)


def _labels(name: str) -> str:
    return "; the whole object is in _<group>_<kind>" if name in ("labels", "annotations", "uid", "kind") else ""


def _lacks(path: tuple[str | int, ...], resource: Resource) -> bool:
    """Whether a resource of that schema never has a value at the path."""
    first, *rest = path
    if first == resource.name and rest[:1] == ["spec"]:
        return _ends(resource.spec, rest[1:], False)
    if first == f"{resource.name}_spec":
        return _ends(resource.spec, rest, False)
    fields = resource.fields()
    return first in fields and _ends(fields[first], rest, resource.watch.snake_case)


def _ends(schema: Any, path: list[str | int], snake_case: bool) -> bool:  # noqa: ANN401  (any JSON)
    """Whether the schema, which is of an object, has no such field."""
    if not path or not isinstance(schema, Mapping):
        return False
    name, *rest = path
    if schema.get("type") == "array" and isinstance(name, int):
        return _ends(schema.get("items"), rest, snake_case)
    if schema.get("type") != "object" or keeps_all(schema) or schema.get("x-kubernetes-embedded-resource"):
        return False
    fields = _variables(schema, snake_case)
    return name not in fields if not rest or name not in fields else _ends(fields[str(name)], rest, snake_case)


def _near(path: tuple[str | int, ...], resource: Resource) -> str:
    whole = path[0] in (resource.name, f"{resource.name}_spec")
    return meant(str(path[-1]), _all_fields(resource.spec, resource.watch.snake_case and not whole))


def _all_fields(schema: Any, snake_case: bool) -> set[str]:  # noqa: ANN401  (any JSON)
    if not isinstance(schema, Mapping):
        return set()
    fields = _variables(schema, snake_case)
    return set(fields).union(
        *(_all_fields(inner, snake_case) for inner in (*fields.values(), schema.get("items")))
    )
