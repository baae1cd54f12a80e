"""Components that bring the webhooks' certificate: cert-manager's, or one that the operator makes. Pure.

`config/webhook` mounts a Secret. `config/certmanager` has cert-manager keep that Secret, and its authority in what
the API server asks by. `config/own-certificate` has the operator do both, which takes the right to change its
webhook configurations: in effect, that of cluster-admin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.generate.files import yaml_text as dump
from runner.generate.patches import Object

CERTMANAGER = Path("config/certmanager")
OWN = Path("config/own-certificate")
SECRET = "webhook-server-cert"  # noqa: S105  (a name)
"""The Secret that is mounted. No kustomization has it, so its name gets no prefix."""
ROLES = ("webhook-certificate-role", "webhook-authority-role")
"""The roles for a certificate of the operator's own."""
FLAG = "--webhook-cert-secret"
INJECT = "cert-manager.io/inject-ca-from"
_VOLUME = "webhook-certs"
_USUAL = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108  (controller-runtime's)
_PATH = "--webhook-cert-path="
_CERTIFICATE = "serving-cert"
_ISSUER = "selfsigned-issuer"
_CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_NAMES_AN_ISSUER = {
    "kind": "Issuer",
    "group": "cert-manager.io",
    "fieldSpecs": [{"kind": "Certificate", "group": "cert-manager.io", "path": "spec/issuerRef/name"}],
}
"""Where kustomize does not look by itself for a name that gets a prefix."""
_NAMES_A_CONFIGURATION = [
    {
        "kind": kind,
        "group": _ADMISSION,
        "version": "v1",
        "fieldSpecs": [{"kind": "ClusterRole", "group": _RBAC, "path": "rules/resourceNames"}],
    }
    for kind in _CONFIGURATIONS
]


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything that names a certificate: the API server's questions, and the Deployment that answers.

    `configured` are the kinds of the webhook configurations, all named `webhooks`; `converted` names CRDs.
    `namespace`, `prefix` and `suffix` are those that config/default gives its objects.
    """

    deployment: Mapping[str, Any]
    service: str
    webhooks: str
    configured: Sequence[str]
    converted: Sequence[str]
    namespace: str
    prefix: str = ""
    suffix: str = ""

    def named(self, name: str) -> str:
        """The name of an object in the cluster."""
        return f"{self.prefix}{name}{self.suffix}"


def files(asked: Asked) -> dict[Path, str]:
    """Both components, without their heads; config/default takes one of them."""
    certmanager = {
        "certificate.yaml": _texts([_issuer(), _certificate(asked)]),
        "patches.yaml": _texts(_injections(asked)),
        "names.yaml": dump({"nameReference": [_NAMES_AN_ISSUER]}),
        "kustomization.yaml": _component(["certificate.yaml"], [{"path": "patches.yaml"}]),
    }
    own = {
        "role.yaml": _texts(_roles(asked)),
        "patches.yaml": _texts([_unmounted(asked.deployment)]),
        "names.yaml": dump({"nameReference": _NAMES_A_CONFIGURATION}),
        "kustomization.yaml": _component(["role.yaml"], [{"path": "patches.yaml"}, _opted_in(asked)]),
    }
    both = {CERTMANAGER: certmanager, OWN: own}
    return {directory / name: text for directory, texts in both.items() for name, text in texts.items()}


def mount(deployment: Mapping[str, Any]) -> tuple[Object, Object]:
    """The volume of the mounted Secret, and its mount in the operator's container."""
    return (
        {"name": _VOLUME, "secret": {"secretName": SECRET}},
        {"name": _VOLUME, "mountPath": _mounted_at(deployment), "readOnly": True},
    )


def without(objects: Iterable[Object]) -> list[Object]:
    """The objects of a project without any of this: OLM makes and mounts certificates itself."""
    return [_without(one) for one in objects if not one["metadata"]["name"].endswith(ROLES)]


def _without(one: Object) -> Object:
    changed = deepcopy(one)
    (changed["metadata"].get("annotations") or {}).pop(INJECT, None)
    if one["kind"] == "Deployment":
        pod = changed["spec"]["template"]["spec"]
        _drop(pod, "volumes")
        for container in pod["containers"]:
            _drop(container, "volumeMounts")
            if "args" in container:
                container["args"] = [arg for arg in container["args"] if not arg.startswith(f"{FLAG}=")]
    return changed


def _drop(holder: Object, field: str) -> None:
    if field in holder:
        holder[field] = [one for one in holder[field] if one["name"] != _VOLUME]


def _texts(objects: Iterable[Object]) -> str:
    return "".join(f"---\n{dump(one)}" for one in objects)


def _component(resources: list[str], patches: list[Object]) -> str:
    return dump(
        {
            "apiVersion": "kustomize.config.k8s.io/v1alpha1",
            "kind": "Component",
            "resources": resources,
            "patches": patches,
            "configurations": ["names.yaml"],
        }
    )


def _issuer() -> Object:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Issuer",
        "metadata": {"name": _ISSUER, "namespace": "system"},
        "spec": {"selfSigned": {}},
    }


def _certificate(asked: Asked) -> Object:
    host = f"{asked.named(asked.service)}.{asked.namespace}.svc"
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": _CERTIFICATE, "namespace": "system"},
        "spec": {
            "dnsNames": [host, f"{host}.cluster.local"],
            "issuerRef": {"kind": "Issuer", "name": _ISSUER},
            "secretName": SECRET,
        },
    }


def _injections(asked: Asked) -> Iterable[Object]:
    """Annotations by which cert-manager finds where the API server is to be given the authority."""
    annotations = {INJECT: f"{asked.namespace}/{asked.named(_CERTIFICATE)}"}
    for kind in asked.configured:
        metadata = {"name": asked.webhooks, "annotations": annotations}
        yield {"apiVersion": f"{_ADMISSION}/v1", "kind": kind, "metadata": metadata}
    for name in asked.converted:
        metadata = {"name": name, "annotations": annotations}
        yield {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata}


def _mounted_at(deployment: Mapping[str, Any]) -> str:
    arguments = deployment["spec"]["template"]["spec"]["containers"][0].get("args") or ()
    given = [one.removeprefix(_PATH) for one in arguments if one.startswith(_PATH)]
    return given[-1] if given else _USUAL


def _unmounted(deployment: Mapping[str, Any]) -> Object:
    """A patch that takes the mount away again."""
    container = deployment["spec"]["template"]["spec"]["containers"][0]["name"]
    gone = {"mountPath": _mounted_at(deployment), "$patch": "delete"}
    pod = {
        "containers": [{"name": container, "volumeMounts": [gone]}],
        "volumes": [{"name": _VOLUME, "$patch": "delete"}],
    }
    metadata = {name: value for name, value in deployment["metadata"].items() if name in ("name", "namespace")}
    template = {"template": {"spec": pod}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": template}


def _opted_in(asked: Asked) -> Object:
    """A patch that adds the flag, without which the operator makes no certificate."""
    flag = f"{FLAG}={_kept_in(asked)}"
    arguments = "/spec/template/spec/containers/0/args"
    has_arguments = "args" in asked.deployment["spec"]["template"]["spec"]["containers"][0]
    added = {"path": f"{arguments}/-", "value": flag} if has_arguments else {"path": arguments, "value": [flag]}
    target = {"group": "apps", "version": "v1", "kind": "Deployment", "name": asked.deployment["metadata"]["name"]}
    return {"target": target, "patch": dump([{"op": "add", **added}])}


def _kept_in(asked: Asked) -> str:
    return asked.named("webhook-cert")


def _roles(asked: Asked) -> Iterable[Object]:
    """Rules for the Secret of the certificate, and for its authority in what the API server asks by."""
    account = asked.deployment["spec"]["template"]["spec"].get("serviceAccountName", "default")
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "system"}]
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    own = [  # a rule for `create` can name no object
        {**secrets, "verbs": ["create"]},
        {**secrets, "resourceNames": [_kept_in(asked)], "verbs": ["get", "update"]},
    ]
    configurations = {"apiGroups": [_ADMISSION], "resources": [f"{kind.lower()}s" for kind in _CONFIGURATIONS]}
    cluster: list[Object] = [{**configurations, "verbs": ["list"]}]
    if asked.configured:
        cluster.append({**configurations, "resourceNames": [asked.webhooks], "verbs": ["patch"]})
    if asked.converted:
        crds = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}
        cluster.append({**crds, "resourceNames": list(asked.converted), "verbs": ["get", "patch"]})
    yield from granted("Role", {"name": ROLES[0], "namespace": "system"}, own, subjects)
    yield from granted("ClusterRole", {"name": ROLES[1]}, cluster, subjects)


def granted(
    kind: str, metadata: Mapping[str, str], rules: list[Object], subjects: list[dict[str, str]]
) -> Iterable[Object]:
    """A role, and its binding to the subjects."""
    name = metadata["name"]
    yield {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": dict(metadata), "rules": rules}
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": {**metadata, "name": name.replace("-role", "-rolebinding")},
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": subjects,
    }
