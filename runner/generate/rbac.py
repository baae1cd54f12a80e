"""`generate rbac`: the roles of the operator, from what its files tell or what its runs were seen to do."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import SettingsError
from runner.generate.calls import calls_below, elsewhere, untold, unused, verbs_of
from runner.generate.files import yaml_text as dump
from runner.generate.kustomize import built, documents, kustomization
from runner.generate.patches import Object
from runner.validate.clusterrole import HEADER, Needs, Verbs, dumped, needs, role_of, rules_of, united
from runner.validate.clusterrole import NAME as MANAGER_ROLE

FILE = Path("config/rbac/role.yaml")
NAMESPACED = Path("config/namespaced")
_DEFAULT = Path("config/default")
_API = "rbac.authorization.k8s.io"
_MADE = "# Made by `ansible-operator generate rbac --namespaces {}`.\n"
_CLUSTER_SCOPED = {
    "": {"namespaces", "nodes", "persistentvolumes"},
    _API: {"clusterroles", "clusterrolebindings"},
    "apiextensions.k8s.io": {"customresourcedefinitions"},
    "apiregistration.k8s.io": {"apiservices"},
    "scheduling.k8s.io": {"priorityclasses"},
    "storage.k8s.io": {"storageclasses", "csidrivers", "csinodes", "volumeattachments"},
    "networking.k8s.io": {"ingressclasses"},
    "node.k8s.io": {"runtimeclasses"},
    "admissionregistration.k8s.io": {
        *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        *("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    },
    "certificates.k8s.io": {"certificatesigningrequests"},
    "security.openshift.io": {"securitycontextconstraints"},
    "config.openshift.io": {"*"},
}
"""Resources of no namespace, beside those that the project's CRDs define."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says. `account` is NAMESPACE/NAME, where config/default does not say."""

    name: str = MANAGER_ROLE
    from_runs: str = ""
    namespaces: str = ""
    account: str = ""
    keep_unused: bool = False


def files(project: Path, asked: Asked, environment: Mapping[str, str]) -> dict[Path, str]:
    """The files; says on stderr what cannot be told, and what is granted otherwise than the files tell.

    Raises SettingsError, WatchesError.
    """
    found = needs(project, environment)
    namespaces = [name.strip() for name in asked.namespaces.split(",") if name.strip()]
    granted, notes = _granted(found, asked, namespaces)
    for note in notes:
        sys.stderr.write(f"{note}\n")
    if not namespaces:
        return {FILE: HEADER + dumped(role_of("ClusterRole", {"name": asked.name}, rules_of(granted)))}
    return _namespaced(project, asked, granted, found, namespaces)


def _granted(found: Needs, asked: Asked, namespaces: Sequence[str]) -> tuple[Verbs, list[str]]:
    """What is granted, and what is to be said of it."""
    if not asked.from_runs:
        return united(found.own, found.content), [f"cannot tell: {item}" for item in found.unknown]
    calls = calls_below(Path(asked.from_runs))
    known = united(found.own, found.content)
    granted = united(found.own, verbs_of(calls, found.watches))
    notes = untold(calls, known)
    if namespaces:
        notes += elsewhere(calls, namespaces)
    if asked.keep_unused:
        return united(granted, found.content), notes
    return granted, [*notes, *unused(found.content, granted)]


def _namespaced(
    project: Path, asked: Asked, granted: Verbs, found: Needs, namespaces: Sequence[str]
) -> dict[Path, str]:
    """A Role for each namespace in place of the ClusterRole, and what remains for the whole cluster."""
    cluster = {key: verbs for key, verbs in granted.items() if _is_cluster_scoped(*key, found)}
    inside = {key: verbs for key, verbs in granted.items() if key not in cluster}
    objects = built(project / _DEFAULT) if (project / _DEFAULT).is_dir() else []
    account = _account(project, asked, objects)
    roles = [
        one
        for namespace in namespaces
        for one in _bound("Role", asked.name, account, inside, {"namespace": namespace})
    ]
    if cluster:
        roles += _bound("ClusterRole", f"{account[1]}-{asked.name}", account, cluster, {})
    head = _MADE.format(",".join(namespaces))
    made = {NAMESPACED / "role.yaml": head + "---\n" + "---\n".join(map(dump, roles))}
    if objects:
        made[NAMESPACED / "kustomization.yaml"] = head + dump(_overlay(objects, account[1], namespaces))
    return made


def _is_cluster_scoped(group: str, resource: str, found: Needs) -> bool:
    plural = resource.partition("/")[0]
    own = {
        (crd.text("spec", "group"), crd.text("spec", "names", "plural"))
        for crd in found.crds
        if crd.text("spec", "scope") == "Cluster"
    }
    return (group, plural) in own or bool({"*", plural} & _CLUSTER_SCOPED.get(group, set()))


def _account(project: Path, asked: Asked, objects: Sequence[Object]) -> tuple[str, str]:
    """Namespace and name of the operator's account. Raises SettingsError."""
    if asked.account:
        namespace, slash, name = asked.account.partition("/")
        if not (slash and name):
            raise SettingsError(f"--account={asked.account} must be NAMESPACE/NAME")
        return namespace, name
    file = kustomization(project / _DEFAULT)
    pods = [one["spec"]["template"]["spec"] for one in objects if one["kind"] == "Deployment"]
    if file is None or not pods:
        raise SettingsError("config/default does not say whose the rights are: give --account NAMESPACE/NAME")
    return documents(file)[0].text("namespace") or "default", str(pods[0].get("serviceAccountName", "default"))


def _bound(
    kind: str, name: str, account: tuple[str, str], verbs: Verbs, metadata: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A role, and the binding that gives it to the account."""
    subject = {"kind": "ServiceAccount", "name": account[1], "namespace": account[0]}
    return [
        role_of(kind, {"name": name, **metadata}, rules_of(verbs)),
        {
            "apiVersion": f"{_API}/v1",
            "kind": f"{kind}Binding",
            "metadata": {"name": name.replace("-role", "-rolebinding"), **metadata},
            "roleRef": {"apiGroup": _API, "kind": kind, "name": name},
            "subjects": [subject],
        },
    ]


def _overlay(objects: Sequence[Object], account: str, namespaces: Collection[str]) -> Object:
    """config/default without the ClusterRole, and with WATCH_NAMESPACE."""
    bindings = [
        one
        for one in objects
        if one["kind"] == "ClusterRoleBinding"
        and one["roleRef"]["name"].endswith(MANAGER_ROLE)
        and any(subject["name"] == account for subject in one.get("subjects") or ())
    ]
    removed = [one for binding in bindings for one in (("ClusterRole", binding["roleRef"]["name"]),)]
    removed += [("ClusterRoleBinding", binding["metadata"]["name"]) for binding in bindings]
    patches = [_patch(f"{_API}/v1", kind, name, {"$patch": "delete"}) for kind, name in removed]
    for deployment in (one for one in objects if one["kind"] == "Deployment"):
        container = deployment["spec"]["template"]["spec"]["containers"][0]["name"]
        env = [{"name": "WATCH_NAMESPACE", "value": ",".join(namespaces)}]
        spec = {"template": {"spec": {"containers": [{"name": container, "env": env}]}}}
        patches.append(_patch("apps/v1", "Deployment", deployment["metadata"]["name"], {"spec": spec}))
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../default", "role.yaml"],
        "patches": patches,
    }


def _patch(api_version: str, kind: str, name: str, change: Object) -> Object:
    """With its target, which is found in whichever namespace it is."""
    itself = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
    return {"target": {"kind": kind, "name": name}, "patch": dump(itself | change)}
