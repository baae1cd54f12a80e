"""`generate manifests`: what of config/ follows from the rest of a project: rights, webhooks, lists of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config.watches import Watch
from runner.config.webhooks import Endpoint, configurations, conversion, unserved
from runner.errors import SettingsError
from runner.generate import prune_key, rbac
from runner.generate.files import yaml_text as dump
from runner.generate.kustomize import built, kustomization
from runner.objects import GroupVersionKind
from runner.validate.clusterrole import Needs, needs
from runner.validate.documents import read, shown, yaml_files
from runner.validate.manifests.crds import crd_of
from runner.validate.manifests.touches import guessed_plural

CRDS = Path("crds")
DEFAULT = Path("config/default")
MANAGER = Path("config/manager")
SAMPLES = Path("config/samples")
WEBHOOK = Path("config/webhook")
SERVICE = "webhook-service"
WEBHOOKS = "webhooks"
"""Both webhook configurations, before a prefix."""
OF_CERTIFICATES = ("webhook-certificate-role", "webhook-authority-role")
"""The roles for a certificate of the operator's own."""
PORT = 9443
"""Of --webhook-port, by default."""
_MADE = "# Made by `ansible-operator generate manifests`.\n"
_HEAD = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
_CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_NAMES_A_SERVICE = {
    "kind": "Service",
    "version": "v1",
    "fieldSpecs": [
        {
            "kind": "CustomResourceDefinition",
            "version": "v1",
            "group": "apiextensions.k8s.io",
            "path": "spec/conversion/webhook/clientConfig/service/name",
        }
    ],
}
"""Where kustomize does not look by itself for the name of a Service, which gets a prefix."""
_NAMES_A_CONFIGURATION = [
    {
        "kind": kind,
        "group": "admissionregistration.k8s.io",
        "version": "v1",
        "fieldSpecs": [
            {"kind": "ClusterRole", "group": "rbac.authorization.k8s.io", "path": "rules/resourceNames"}
        ],
    }
    for kind in _CONFIGURATIONS
]
"""The same for the webhook configurations, which the operator may change."""
_RBAC = "rbac.authorization.k8s.io"


def files(project: Path, environment: Mapping[str, str]) -> dict[Path, str]:
    """The files; to kustomizations that are there only what they lack is added.

    Raises SettingsError, WatchesError.
    """
    if kustomization(project / DEFAULT) is None:
        raise SettingsError(
            f"{shown(project / DEFAULT)} has no kustomization.yaml: a project of `ansible-operator init` has one,"
            " with a Deployment and what it needs"
        )
    found = needs(project, environment)
    made = rbac.files(project, rbac.Asked(), environment)
    made |= _lists(project)
    if any(watch.prune for watch in found.watches):
        made |= _prune_key(project)
    reviewed = [watch for watch in found.watches if watch.admission or watch.conversions]
    if reviewed:
        made |= _webhooks(project, reviewed, found)
        made |= _with(project, DEFAULT, "components", ["../webhook"])
    return made


def _prune_key(project: Path) -> dict[Path, str]:
    """What lets the operator keep the key of marks."""
    objects = prune_key.roles(_deployment(project))
    if not objects:
        return {}
    text = _MADE + "".join(f"---\n{dump(one)}" for one in objects)
    return {prune_key.FILE: text} | _with(project, prune_key.FILE.parent, "resources", [prune_key.FILE.name])


def _lists(project: Path) -> dict[Path, str]:
    """Kustomizations that list files: the CRDs, and the samples beside them."""
    made: dict[Path, str] = {}
    for directory in (CRDS, CRDS / "samples", SAMPLES):
        names = [path.name for path in yaml_files(project / directory) if path.parent == project / directory]
        listed = [name for name in names if _holds_objects(project / directory / name)]
        if listed:
            made |= _with(project, directory, "resources", listed)
    return made


def _holds_objects(path: Path) -> bool:
    found, _ = read(path)
    return bool(found) and all(
        document.text("kind") not in ("", "Kustomization", "Component") for document in found
    )


def _with(project: Path, directory: Path, field: str, wanted: Sequence[str]) -> dict[Path, str]:
    """The directory's kustomization with these entries, as it was written otherwise; nothing where it has them."""
    file = kustomization(project / directory)
    if file is None:
        return {directory / "kustomization.yaml": _MADE + dump({**_HEAD, field: list(wanted)})}
    text = file.read_text(encoding="utf-8")
    given = read(file)[0]
    there = [] if not given else [str(one) for one in given[0].get(field).plain() or ()]
    missing = [name for name in wanted if name not in there]
    return {file.relative_to(project): _inserted(text, field, missing, shown(file))} if missing else {}


def _inserted(text: str, field: str, missing: Sequence[str], file: str) -> str:
    """With more entries at the beginning of a list, or with a list that was not there."""
    lines = "".join(f"  - {name}\n" for name in missing)
    head = re.search(rf"^{field}:(?P<rest>.*)\n", text, re.MULTILINE)
    if head is None:
        return f"{text.rstrip()}\n{field}:\n{lines}"
    if head["rest"].partition("#")[0].strip() not in ("", "[]"):
        raise SettingsError(f"{file}: {field} is written in one line: write it with a line an entry")
    return f"{text[: head.start()]}{field}:\n{lines}{text[head.end() :]}"


def _webhooks(project: Path, watches: Sequence[Watch], found: Needs) -> dict[Path, str]:
    """A component that has the API server ask the operator, which keeps its certificate in a Secret."""
    deployment = _deployment(project)
    endpoint = Endpoint(service=SERVICE, namespace="system")
    plurals = {watch.gvk: _plural(watch.gvk, found) for watch in watches}
    asked = configurations(watches, plurals, endpoint, name=WEBHOOKS)
    patches = [_port(deployment), *(_converted(watch, endpoint, found) for watch in watches if watch.conversions)]
    made = {
        "manifests.yaml": asked,
        "service.yaml": [_service(deployment)],
        "role.yaml": list(_roles(deployment, found, watches, [one["kind"] for one in asked])),
        "patches.yaml": [patch for patch in patches if patch],
    }
    made = {name: objects for name, objects in made.items() if objects}
    component: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": [name for name in made if name != "patches.yaml"],
        "patches": [{"path": "patches.yaml"}, *_served(watches, found)],
        "configurations": ["names.yaml"],
    }
    texts = {name: "".join(f"---\n{dump(one)}" for one in objects) for name, objects in made.items()}
    texts["kustomization.yaml"] = dump(component)
    named = [*_NAMES_A_CONFIGURATION, *([_NAMES_A_SERVICE] if any(one.conversions for one in watches) else [])]
    texts["names.yaml"] = dump({"nameReference": named})
    return {WEBHOOK / name: _MADE + text for name, text in texts.items()}


def _deployment(project: Path) -> dict[str, Any]:
    found = [one for one in built(project / MANAGER) if one["kind"] == "Deployment"]
    if len(found) != 1:
        raise SettingsError(
            f"{shown(project / MANAGER)} has {len(found)} Deployments: which one runs the operator?"
        )
    return found[0]


def _plural(gvk: GroupVersionKind, found: Needs) -> str:
    crd = crd_of(gvk.group, gvk.kind, found.crds)
    return (crd.text("spec", "names", "plural") if crd else "") or guessed_plural(gvk.kind)


def _service(deployment: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": "system"},
        "spec": {
            "selector": deployment["spec"]["selector"]["matchLabels"],
            "ports": [{"name": "webhooks", "port": 443, "targetPort": PORT}],
        },
    }


def _port(deployment: Mapping[str, Any]) -> dict[str, Any]:
    container = deployment["spec"]["template"]["spec"]["containers"][0]["name"]
    ports = [{"name": "webhooks", "containerPort": PORT}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            name: deployment["metadata"][name] for name in ("name", "namespace") if name in deployment["metadata"]
        },
        "spec": {"template": {"spec": {"containers": [{"name": container, "ports": ports}]}}},
    }


def _converted(watch: Watch, endpoint: Endpoint, found: Needs) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{_plural(watch.gvk, found)}.{watch.gvk.group}"},
        "spec": {"conversion": conversion(watch, endpoint)},
    }


def _served(watches: Iterable[Watch], found: Needs) -> Iterable[dict[str, Any]]:
    """Patches that serve the versions that take a conversion, which `crds/` does not serve by itself."""
    for watch in watches:
        crd = crd_of(watch.gvk.group, watch.gvk.kind, found.crds)
        body = crd.node.plain() if crd else {}
        operations = [
            {"op": "replace", "path": f"/spec/versions/{index}/served", "value": True}
            for index in unserved(body, watch.conversions)
        ]
        if operations:
            kind = {"group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition"}
            target = {**kind, "name": body["metadata"]["name"]}
            yield {"target": target, "patch": dump(operations)}


def _roles(
    deployment: Mapping[str, Any], found: Needs, watches: Iterable[Watch], configured: Iterable[str]
) -> Iterable[dict[str, Any]]:
    """What keeping the certificate takes: its Secret, and the authority in what the API server asks by.

    `configured` are the kinds of webhook configurations that there are.
    """
    account = deployment["spec"]["template"]["spec"].get("serviceAccountName", "default")
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "system"}]
    secrets = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "get", "update"]}]
    configurations_ = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": [f"{kind.lower()}s" for kind in _CONFIGURATIONS],
    }
    cluster: list[dict[str, Any]] = [{**configurations_, "verbs": ["list"]}]
    if any(configured):
        cluster.append({**configurations_, "resourceNames": [WEBHOOKS], "verbs": ["patch"]})
    if names := sorted(f"{_plural(one.gvk, found)}.{one.gvk.group}" for one in watches if one.conversions):
        crds = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}
        cluster.append({**crds, "resourceNames": names, "verbs": ["get", "patch"]})
    yield from _granted("Role", {"name": OF_CERTIFICATES[0], "namespace": "system"}, secrets, subjects)
    yield from _granted("ClusterRole", {"name": OF_CERTIFICATES[1]}, cluster, subjects)


def _granted(
    kind: str, metadata: Mapping[str, str], rules: list[dict[str, Any]], subjects: list[dict[str, str]]
) -> Iterable[dict[str, Any]]:
    """A role, and its binding."""
    name = metadata["name"]
    yield {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": dict(metadata), "rules": rules}
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": {**metadata, "name": name.replace("-role", "-rolebinding")},
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": subjects,
    }
