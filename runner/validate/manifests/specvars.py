"""Fields of a spec that a role does not get as it expects: keys that meet, and names that are Ansible's. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from runner.config.yamlfile import Located
from runner.execute.variables import steers_ansible, to_snake
from runner.validate.documents import Document, child, entries
from runner.validate.findings import Finding
from runner.validate.manifests.crds import Watched
from runner.validate.manifests.schemas import schema_of, version_of

KEYWORDS = frozenset(
    {
        *("action", "always", "any_errors_fatal", "args", "become", "become_exe", "become_flags", "become_method"),
        *("become_user", "block", "changed_when", "check_mode", "collections", "connection", "debugger", "delay"),
        *("delegate_facts", "delegate_to", "diff", "fact_path", "failed_when", "force_handlers", "gather_facts"),
        *("gather_timeout", "handlers", "hosts", "ignore_errors", "ignore_unreachable", "local_action", "loop"),
        *("loop_control", "max_fail_percentage", "module_defaults", "name", "no_log", "notify", "order", "poll"),
        *("port", "post_tasks", "pre_tasks", "register", "remote_user", "rescue", "retries", "roles", "run_once"),
        *("serial", "strategy", "tags", "tasks", "throttle", "timeout", "until", "vars_files", "vars_prompt"),
        "when",
    }
)
"""Names of a play, block or task, of which Ansible warns in every run where a variable has one."""
HARMLESS = frozenset(
    {"collections", "connection", "delay", "name", "order", "port", "retries", "strategy", "tags", "timeout"}
)
"""Such as specs have for good reasons; nothing comes of the variable but Ansible's warning."""
FUNCTIONS = frozenset({"lookup", "query", "q", "now", "undef", "range", "dict", "lipsum", "cycler", "joiner"})
"""What templates call."""


def check(watched: Watched, crd: Document) -> Iterator[Finding]:
    """What is wrong with the names in the spec of the watched version."""
    found = version_of(crd, watched.watch.gvk.version)
    if found is None:
        return
    field = f"spec.versions[{found[0]}].schema.openAPIV3Schema.properties.spec"
    spec = child(schema_of(crd, watched.watch.gvk.version), "properties", "spec")
    if watched.watch.snake_case:
        yield from _merged(crd, spec, field)
    for name, node in entries(child(spec, "properties")).items():
        variable = to_snake(name) if watched.watch.snake_case else name
        place = f"{field}.properties.{name}"
        if message := _shadows(variable, mark_unsafe=watched.watch.mark_unsafe):
            yield Finding("spec-shadows-ansible", crd.file, node.line, place, message)


def _merged(crd: Document, schema: Located, field: str) -> Iterator[Finding]:
    """Keys of one map, at any depth, that become the same in snake case."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    properties = child(schema, "properties")
    for name, node in entries(properties).items():
        names[to_snake(name)].append(name)
        yield from _merged(crd, node, f"{field}.properties.{name}")
    yield from (
        Finding(
            "spec-keys-meet",
            crd.file,
            child(properties, keys[-1]).line,
            f"{field}.properties.{keys[-1]}",
            f"{' and '.join(keys)} both become the variable {name}, and one of them is lost: rename one, or set"
            " `snakeCaseParameters: false` in the watch",
        )
        for name, keys in names.items()
        if len(keys) > 1
    )
    if entries(child(schema, "items")):
        yield from _merged(crd, child(schema, "items"), f"{field}.items")


def _shadows(variable: str, *, mark_unsafe: bool) -> str:
    if steers_ansible(variable):
        if mark_unsafe:
            return f"{variable} is a variable of Ansible's own, which `markUnsafe` leaves out: rename the field"
        return f"{variable} is a variable of Ansible's own, and says how tasks run: rename the field"
    if variable in FUNCTIONS:
        return f"the variable {variable} takes the place of the function that templates call: rename the field"
    if variable in KEYWORDS - HARMLESS:
        return (
            f"{variable} is a keyword of Ansible's, which warns of such a variable in every run: rename the field"
        )
    return ""
