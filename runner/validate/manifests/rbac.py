"""Whether the roles among a project's manifests allow what the operator itself does. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.validate.documents import Document, child, entries, members, of_kind, text, texts
from runner.validate.findings import Finding
from runner.validate.manifests.crds import Watched, crd_of
from runner.validate.manifests.touches import EVENTS, LEASES, Touch, of_watch, resource_of

ROLES = ("Role", "ClusterRole")
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_CONTAINERS = ("spec", "template", "spec", "containers")
_KEY_NAME = "prune-key"
_KEY_FILE = "--prune-key-file"
_OF_CERTIFICATES = ("webhook-certificate-role", "webhook-authority-role")
"""Roles of a component that may not be in use, for objects that are no run's business."""
_ELECTION = ("--leader-elect", "--enable-leader-election")
_WHY = {
    "": "needed to reconcile {}",
    "status": "needed to write the status of {}",
    "finalizers": "needed where an owner reference may only be set by who may update the finalizers of {}"
    " (OpenShift)",
}
"""For each subresource of a watched kind."""


@dataclass(frozen=True, slots=True)
class Need:
    """What the operator does, and why; `certain` where it will fail without."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    certain: bool = True
    cluster: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a Role or (`cluster`) ClusterRole; `names` are the only objects that it is for, if any."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    cluster: bool
    names: tuple[str, ...] = ()

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
    if not roles or _is_given_more(manifests):
        return
    rules = [rule for role in roles for rule in _rules(role)]
    for need in _needs(watched, manifests):
        lacking = _lacking(need, rules)
        if lacking:
            yield _finding(
                "rbac-missing" if need.certain else "rbac-maybe-missing", _largest(roles), need, lacking
            )


def check_tasks(touches: Sequence[tuple[str, Touch]], manifests: list[Document]) -> Iterator[Finding]:
    """One finding for each kind that the tasks write to, each touch with its file, and no role allows it."""
    roles = _roles(manifests)
    if not roles or _is_given_more(manifests):
        return
    rules = [rule for role in roles for rule in _rules(role, named=True)]
    crds = of_kind(manifests, "CustomResourceDefinition")
    needed: dict[tuple[str, str], tuple[str, set[str]]] = {}
    for file, touch in touches:
        _, verbs = needed.setdefault((touch.group, resource_of(touch, crds)), (file, set()))
        verbs |= _surely(touch)
    for (group, resource), (file, verbs) in needed.items():
        need = Need(group, resource, tuple(sorted(verbs)), f"which {file} does")
        lacking = _lacking(need, rules)
        if lacking == ["patch"] and any(rule.allows(need, "update") for rule in rules):
            continue  # enough with `force`, and nobody can tell from here
        if lacking:
            yield _finding("rbac-missing-for-tasks", _largest(roles), need, lacking)


def check_prune(
    item: Watched, touches: Sequence[tuple[str, Touch]], manifests: list[Document]
) -> Iterator[Finding]:
    """One finding for each kind that the tasks create and no role allows to prune."""
    roles = _roles(manifests)
    if not item.watch.prune or not roles or _is_given_more(manifests):
        return
    rules = [rule for role in roles for rule in _rules(role)]
    crds = of_kind(manifests, "CustomResourceDefinition")
    created = {(touch.group, resource_of(touch, crds)) for _, touch in touches if "create" in touch.verbs}
    for group, resource in sorted(created):
        why = f"needed to prune what {item.watch.gvk.kind}s no longer have"
        need = Need(group, resource, ("delete", "list"), why)
        lacking = _lacking(need, rules)
        if lacking and "/" not in resource:
            yield _finding("rbac-missing-for-prune", _largest(roles), need, lacking)


def check_prune_key(watched: Sequence[Watched], manifests: list[Document]) -> Iterator[Finding]:
    """A finding where a watch prunes, and no role lets the operator in the manifests keep the key of marks."""
    roles, pods = _roles(manifests), of_kind(manifests, "Deployment", "StatefulSet")
    if not roles or not pods or _is_given_more(manifests) or not any(item.watch.prune for item in watched):
        return
    containers = [container for pod in pods for container in members(pod.get(*_CONTAINERS))]
    if any(word.startswith(_KEY_FILE) for container in containers for word in texts(child(container, "args"))):
        return
    why = "needed to keep the key that marks what runs create: `ansible-operator generate manifests` makes a Role"
    need = Need("", "secrets", ("create", "get"), why)
    rules = [rule for role in roles for rule in _rules(role, named=True)]
    rules = [rule for rule in rules if not rule.names or any(name.endswith(_KEY_NAME) for name in rule.names)]
    if lacking := _lacking(need, rules):
        yield _finding("rbac-missing-for-prune", _largest(roles), need, lacking)


def _surely(touch: Touch) -> set[str]:
    """Of the verbs that a module may use, those it cannot do without; reading needs one of two."""
    if touch.subresource:
        return {"create"} & set(touch.verbs)
    for change in ("create", "delete", "patch"):
        if change in touch.verbs:
            return {"get", change, *(["patch"] if change == "create" else [])}
    return set()


def _is_given_more(manifests: list[Document]) -> bool:
    """Whether an operator's service account may do what no role among the manifests says."""
    known = {(role.text("kind"), role.text("metadata", "name")) for role in of_kind(manifests, *ROLES)}
    foreign = {reference for reference in _bound(manifests) - known if not reference[1].startswith("system:")}
    aggregated = any(entries(role.get("aggregationRule")) for role in of_kind(manifests, *ROLES))
    return bool(foreign) or aggregated


def _bound(manifests: list[Document]) -> set[tuple[str, str]]:
    """Kind and name of each role that a service account is bound to."""
    return {
        (binding.text("roleRef", "kind"), binding.text("roleRef", "name"))
        for binding in of_kind(manifests, *BINDINGS)
        if any(text(child(subject, "kind")) == "ServiceAccount" for subject in members(binding.get("subjects")))
    }


def _largest(roles: list[Document]) -> Document:
    """The role with most rules: rather the manager's than that of the leader election."""
    return max(roles, key=lambda role: len(members(role.get("rules"))))


def _lacking(need: Need, rules: list[Rule]) -> list[str]:
    return [verb for verb in need.verbs if not any(rule.allows(need, verb) for rule in rules)]


def _finding(rule: str, place: Document, need: Need, lacking: list[str]) -> Finding:
    what = f"no{' cluster' if need.cluster else ''} role allows {', '.join(lacking)} on {need.resource}"
    return Finding(rule, place.file, place.get("rules").line, "rules", f"{what}, {need.why}; add {_yaml(need)}")


def _roles(manifests: list[Document]) -> list[Document]:
    """The roles that a service account is bound to; every role where no binding names one of them."""
    all_ = of_kind(manifests, *ROLES)
    roles = [role for role in all_ if role.text("metadata", "name") not in _OF_CERTIFICATES]
    bound = _bound(manifests)
    counted = [role for role in roles if (role.text("kind"), role.text("metadata", "name")) in bound]
    return counted or roles


def _rules(role: Document, *, named: bool = False) -> Iterator[Rule]:
    """The rules of a role, those for single objects included where they are asked for."""
    for node in members(role.get("rules")):
        groups, resources, verbs, names = (
            tuple(texts(child(node, name))) for name in ("apiGroups", "resources", "verbs", "resourceNames")
        )
        if named or not names:
            yield Rule(groups, resources, verbs, role.text("kind") == "ClusterRole", names)


def _needs(watched: Sequence[Watched], manifests: list[Document]) -> Iterator[Need]:
    crds = of_kind(manifests, "CustomResourceDefinition")
    for item in watched:
        yield from _needs_of(item, crds)
    if watched:
        yield _need(EVENTS, crds, "so that Events tell what happens to a custom resource", certain=False)
    if any(_elects(manifest) for manifest in of_kind(manifests, "Deployment", "StatefulSet")):
        yield _need(LEASES, crds, "needed by --leader-elect")


def _needs_of(item: Watched, crds: list[Document]) -> Iterator[Need]:
    crd = crd_of(item.watch.gvk.group, item.watch.gvk.kind, crds)
    cluster = crd is not None and crd.text("spec", "scope") == "Cluster"
    for touch in of_watch(item.watch):
        certain = crd is not None and touch.subresource != "finalizers"  # else the plural is a guess
        yield _need(touch, crds, _WHY[touch.subresource].format(touch.kind), certain=certain, cluster=cluster)


def _need(touch: Touch, crds: list[Document], why: str, *, certain: bool = True, cluster: bool = False) -> Need:
    return Need(touch.group, resource_of(touch, crds), touch.verbs, why, certain, cluster)


def _elects(manifest: Document) -> bool:
    containers = members(manifest.get("spec", "template", "spec", "containers"))
    arguments = [word for container in containers for word in texts(child(container, "args"))]
    return any(word.split("=")[0] in _ELECTION and not word.endswith("=false") for word in arguments)


def _yaml(need: Need) -> str:
    """The rule in YAML's flow style, so that it stays on one line."""
    group = need.group or '""'
    return f"`- {{apiGroups: [{group}], resources: [{need.resource}], verbs: [{', '.join(need.verbs)}]}}`"
