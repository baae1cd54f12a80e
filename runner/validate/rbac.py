"""Which modules, roles and files the tasks and plays of a document use. Pure.

What holds a Jinja expression is known only at run time and is no use here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.config.yamlfile import Located
from runner.validate.crds import Watched, crd_of
from runner.validate.documents import Document, Finding, Severity, child, entries, members, of_kind, text, texts

_TASK_LISTS = ("block", "rescue", "always")
_PLAY_LISTS = ("pre_tasks", "tasks", "post_tasks", "handlers")
_BUILTIN = ("ansible.builtin.", "ansible.legacy.")


class What(StrEnum):
    MODULE = "module"
    ROLE = "role"
    COLLECTION = "collection"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Use:
    """Something used by name: where in its file, counted from 1, and by which field."""

    what: What
    name: str
    line: int
    field: str


def of_tasks(node: Located, path: str = "") -> Iterator[Use]:
    """What a list of tasks uses, its blocks included."""
    for index, task in enumerate(members(node)):
        where = f"{path}[{index}]"
        blocks = [name for name in _TASK_LISTS if name in entries(task)]
        for name in blocks:
            yield from of_tasks(child(task, name), f"{where}.{name}")
        if not blocks:
            yield from _of_task(task, where)


def of_plays(node: Located) -> Iterator[Use]:
    """What a playbook uses."""
    for index, play in enumerate(members(node)):
        where = f"[{index}]"
        for name in ("import_playbook", "ansible.builtin.import_playbook"):
            yield from _named(What.FILE, child(play, name), f"{where}.{name}")
        yield from _listed(What.COLLECTION, child(play, "collections"), f"{where}.collections")
        yield from _listed(What.ROLE, child(play, "roles"), f"{where}.roles")
        for name in _PLAY_LISTS:
            yield from of_tasks(child(play, name), f"{where}.{name}")


def of_meta(node: Located) -> Iterator[Use]:
    """What a role's meta/main.yml uses."""
    yield from _listed(What.ROLE, child(node, "dependencies"), "dependencies")
    yield from _listed(What.COLLECTION, child(node, "collections"), "collections")


def _of_task(task: Located, where: str) -> Iterator[Use]:
    for name, value in entries(task).items():
        if name in ("action", "local_action"):
            module = text(child(value, "module")) or (text(value).split() or [""])[0]
            yield from _named(What.MODULE, Located(module, task.line), f"{where}.{name}")
        else:  # keywords such as `when` are taken for modules, too, of which nobody knows a collection
            yield from _of_module(name, value, task.line, where)


def _of_module(name: str, value: Located, line: int, where: str) -> Iterator[Use]:
    short = name
    for prefix in _BUILTIN:
        short = short.removeprefix(prefix)
    field = f"{where}.{name}"
    if short in ("include_role", "import_role"):
        yield from _named(What.ROLE, _argument(value, "name", "role"), f"{field}.name")
    elif short in ("include_tasks", "import_tasks"):
        yield from _named(What.FILE, _argument(value, "file", ""), field)
    elif short == name:
        yield from _named(What.MODULE, Located(name, line), field)


def _argument(value: Located, name: str, other: str) -> Located:
    """An argument as a field, as `name=value`, or (where there is no `other` name for it) as the whole text."""
    if isinstance(value.value, dict):
        found = child(value, name)
        return found if found.value is not None or not other else child(value, other)
    words = text(value).split()
    given = [word.partition("=")[2] for word in words if word.partition("=")[0] in (name, other)]
    return Located(given[0] if given else "" if other else text(value), value.line)


def _listed(what: What, node: Located, where: str) -> Iterator[Use]:
    for index, item in enumerate(members(node)):
        name = child(item, "role") if text(child(item, "role")) else child(item, "name")
        yield from _named(what, name if entries(item) else item, f"{where}[{index}]")


def _named(what: What, node: Located, field: str) -> Iterator[Use]:
    if text(node) and "{{" not in text(node):
        yield Use(what, text(node).strip(), node.line, field)


ROLES = ("Role", "ClusterRole")
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_ELECTION = ("--leader-elect", "--enable-leader-election")


@dataclass(frozen=True, slots=True)
class Need:
    """What the operator does, and why; without it an error, or less than that."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    severity: Severity = Severity.ERROR
    cluster: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a Role or (`cluster`) ClusterRole."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    cluster: bool

    def allows(self, need: Need, verb: str) -> bool:
        subresource = need.resource.partition("/")[2]
        names = {"*", need.resource, *([f"*/{subresource}"] if subresource else [])}
        return bool(
            {"*", need.group} & set(self.groups)
            and names & set(self.resources)
            and {"*", verb} & set(self.verbs)
            and (self.cluster or not need.cluster)
        )


def check(watched: Sequence[Watched], manifests: list[Document]) -> Iterator[Finding]:
    """One finding for each missing rule, at the first role that counts; none where the manifests have no role."""
    roles = _roles(manifests)
    if not roles:
        return
    rules = [rule for role in roles for rule in _rules(role)]
    place = roles[0]
    for need in _needs(watched, manifests):
        lacking = [verb for verb in need.verbs if not any(rule.allows(need, verb) for rule in rules)]
        if lacking:
            what = f"no{' cluster' if need.cluster else ''} role allows {', '.join(lacking)} on {need.resource}"
            message = f"{what}, {need.why}; add {_yaml(need)}"
            yield Finding(place.file, place.get("rules").line, "rules", message, need.severity)


def _roles(manifests: list[Document]) -> list[Document]:
    """The roles that a service account is bound to; every role where no binding names one of them."""
    roles = of_kind(manifests, *ROLES)
    bound = {
        (binding.text("roleRef", "kind"), binding.text("roleRef", "name"))
        for binding in of_kind(manifests, *BINDINGS)
        if any(text(child(subject, "kind")) == "ServiceAccount" for subject in members(binding.get("subjects")))
    }
    counted = [role for role in roles if (role.text("kind"), role.text("metadata", "name")) in bound]
    return counted or roles


def _rules(role: Document) -> Iterator[Rule]:
    for node in members(role.get("rules")):
        if not members(child(node, "resourceNames")):
            groups, resources, verbs = (
                tuple(texts(child(node, name))) for name in ("apiGroups", "resources", "verbs")
            )
            yield Rule(groups, resources, verbs, role.text("kind") == "ClusterRole")


def _needs(watched: Sequence[Watched], manifests: list[Document]) -> Iterator[Need]:
    crds = of_kind(manifests, "CustomResourceDefinition")
    for item in watched:
        yield from _needs_of(item, crd_of(item.watch, crds))
    if watched:
        why = "so that Events tell what happens to a custom resource"
        yield Need("", "events", ("create", "patch"), why, Severity.WARNING)
    if any(_elects(manifest) for manifest in of_kind(manifests, "Deployment", "StatefulSet")):
        yield Need("coordination.k8s.io", "leases", ("get", "create", "update"), "needed by --leader-elect")


def _needs_of(item: Watched, crd: Document | None) -> Iterator[Need]:
    watch = item.watch
    group, kind = watch.gvk.group, watch.gvk.kind
    plural = crd.text("spec", "names", "plural") if crd else _guessed_plural(kind)
    severity = Severity.ERROR if crd else Severity.WARNING  # the plural is a guess
    cluster = crd is not None and crd.text("spec", "scope") == "Cluster"
    verbs = ("get", "list", "watch", *(["update"] if watch.finalizer else []))
    yield Need(group, plural, verbs, f"needed to reconcile {kind}", severity, cluster)
    if watch.manage_status:
        yield Need(
            group, f"{plural}/status", ("update",), f"needed to write the status of {kind}", severity, cluster
        )
    why = f"needed where an owner reference may only be set by who may update the finalizers of {kind} (OpenShift)"
    yield Need(group, f"{plural}/finalizers", ("update",), why, Severity.WARNING, cluster)


def _guessed_plural(kind: str) -> str:
    """As Kubernetes guesses where it is not told."""
    name = kind.lower()
    return f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _elects(manifest: Document) -> bool:
    containers = members(manifest.get("spec", "template", "spec", "containers"))
    arguments = [word for container in containers for word in texts(child(container, "args"))]
    return any(word.split("=")[0] in _ELECTION and not word.endswith("=false") for word in arguments)


def _yaml(need: Need) -> str:
    """The rule in YAML's flow style, so that it stays on one line."""
    group = need.group or '""'
    return f"`- {{apiGroups: [{group}], resources: [{need.resource}], verbs: [{', '.join(need.verbs)}]}}`"
