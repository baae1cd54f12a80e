"""`generate manifests`: what of config/ follows from the rest of a project: rights, webhooks, lists of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config.watches import Watch
from runner.config.webhooks import Endpoint, configurations, conversion, unserved
from runner.errors import SettingsError
from runner.generate import certificates, prune_key, rbac
from runner.generate.files import yaml_text as dump
from runner.generate.kustomize import built, documents, kustomization
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
PORT = 9443
"""Of --webhook-port, by default."""
_MADE = "# Made by `ansible-operator generate manifests`.\n"
_HEAD = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
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
        made |= _with(project, DEFAULT, "components", _missing_components(project))
    return made


def _prune_key(project: Path) -> dict[Path, str]:
    """What lets the operator keep the key of marks."""
    objects = prune_key.roles(_deployment(project))
    if not objects:
        return {}
    text = _MADE + "".join(f"---\n{dump(one)}" for one in objects)
    return {prune_key.FILE: text} | _with(project, prune_key.FILE.parent, "resources", [prune_key.FILE.name])


def remarks(project: Path, _environment: Mapping[str, str]) -> list[str]:
    """Say what the command leaves to the project's author."""
    found: list[str] = []
    old = project / WEBHOOK / "role.yaml"
    if old.is_file():
        found.append(f"{shown(old)} is no longer used: remove it. Its roles are in {certificates.OWN} now")
    listed = _listed(project, DEFAULT, "components")
    if "../webhook" in listed and not {"../certmanager", "../own-certificate"} & set(listed):
        found.append(
            f"{DEFAULT} has webhooks, and nothing that makes their certificate: list ../certmanager or"
            f" ../own-certificate after ../webhook, or make the Secret {certificates.SECRET} yourself"
            " (docs/how-to/admission.md)"
        )
    return found


def _missing_components(project: Path) -> list[str]:
    """The webhooks, and at first cert-manager's certificate for them: what is listed later is up to its author."""
    listed = _listed(project, DEFAULT, "components")
    return [] if "../webhook" in listed else ["../webhook", "../certmanager"]


def _listed(project: Path, directory: Path, field: str) -> list[str]:
    file = kustomization(project / directory)
    given = read(file)[0] if file else ()
    return [str(one) for one in given[0].get(field).plain() or ()] if given else []


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
    there = _listed(project, directory, field)
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
    """A component that has the API server ask the operator, and those that bring its certificate."""
    deployment = _deployment(project)
    endpoint = Endpoint(service=SERVICE, namespace="system")
    plurals = {watch.gvk: _plural(watch.gvk, found) for watch in watches}
    asked = configurations(watches, plurals, endpoint, name=WEBHOOKS)
    patches = [_port(deployment), *(_converted(watch, endpoint, found) for watch in watches if watch.conversions)]
    made = {
        "manifests.yaml": asked,
        "service.yaml": [_service(deployment)],
        "patches.yaml": [patch for patch in patches if patch],
    }
    made = {name: objects for name, objects in made.items() if objects}
    converted = [f"{plurals[one.gvk]}.{one.gvk.group}" for one in watches if one.conversions]
    component: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "resources": [name for name in made if name != "patches.yaml"],
        "patches": [{"path": "patches.yaml"}, *_served(watches, found)],
        **({"configurations": ["names.yaml"]} if converted else {}),
    }
    texts = {name: "".join(f"---\n{dump(one)}" for one in objects) for name, objects in made.items()}
    texts["kustomization.yaml"] = dump(component)
    if converted:
        texts["names.yaml"] = dump({"nameReference": [_NAMES_A_SERVICE]})
    named = _certified(project, deployment, [one["kind"] for one in asked], sorted(converted))
    all_ = {WEBHOOK / name: text for name, text in texts.items()} | certificates.files(named)
    return {path: _MADE + text for path, text in all_.items()}


def _certified(
    project: Path, deployment: Mapping[str, Any], configured: Sequence[str], converted: Sequence[str]
) -> certificates.Asked:
    """Everything that names the certificate, as config/default names it in the cluster."""
    file = kustomization(project / DEFAULT)
    document = documents(file)[0] if file else None
    namespace, prefix, suffix = (
        document.text(field) if document else "" for field in ("namespace", "namePrefix", "nameSuffix")
    )
    return certificates.Asked(
        deployment, SERVICE, WEBHOOKS, configured, converted, namespace or "system", prefix, suffix
    )


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
    """A patch with the port of the webhooks, and the mount of their certificate."""
    name = deployment["spec"]["template"]["spec"]["containers"][0]["name"]
    volume, mounted = certificates.mount(deployment)
    ports = [{"name": "webhooks", "containerPort": PORT}]
    container = {"name": name, "ports": ports, "volumeMounts": [mounted]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            name: deployment["metadata"][name] for name in ("name", "namespace") if name in deployment["metadata"]
        },
        "spec": {"template": {"spec": {"containers": [container], "volumes": [volume]}}},
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
