"""The ClusterServiceVersion of a bundle, made of its base and the manifests of the project. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from runner.generate.descriptors import display_name, joined, of_spec, of_status
from runner.generate.patches import Object
from runner.generate.webhooks import definitions

API_VERSION = "operators.coreos.com/v1alpha1"
KIND = "ClusterServiceVersion"
WATCH_NAMESPACE = "WATCH_NAMESPACE"
_TARGETS = {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}
_EXAMPLES = "alm-examples"
_NO_ICON = [{"base64data": "", "mediatype": ""}]


@dataclass(frozen=True, slots=True)
class Manifests:
    """What a ClusterServiceVersion is made of: the objects, and for each kind those that its runs touch.

    `samples` are custom resources; `touched` maps the kind of a custom resource to (kind, version).
    """

    objects: Sequence[Object]
    samples: Sequence[Object]
    touched: Mapping[str, Sequence[tuple[str, str]]]

    def of_kind(self, *kinds: str) -> list[Object]:
        return [found for found in self.objects if found["kind"] in kinds]


def base(name: str) -> Object:
    """What a person is to fill in once: the base of every version's."""
    title = display_name(name)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "annotations": {_EXAMPLES: "[]", "capabilities": "Basic Install"},
            "name": f"{name}.v0.0.0",
            "namespace": "placeholder",
        },
        "spec": {
            "apiservicedefinitions": {},
            "customresourcedefinitions": {},
            "description": f"{title} description. TODO.",
            "displayName": title,
            "icon": deepcopy(_NO_ICON),
            "install": {"spec": {"deployments": None}, "strategy": ""},
            "installModes": [
                {"supported": mode == "AllNamespaces", "type": mode}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "keywords": [name],
            "links": [{"name": title, "url": f"https://{name}.domain"}],
            "maintainers": [{"email": "your@email.com", "name": "Maintainer Name"}],
            "maturity": "alpha",
            "provider": {"name": "Provider Name", "url": "https://your.domain"},
            "version": "0.0.0",
        },
    }


def made(written: Object, name: str, version: str, manifests: Manifests, builder: str) -> Object:
    """The ClusterServiceVersion of a version; what `written`, the base, says is kept."""
    found = deepcopy(written)
    spec = found["spec"]
    metadata = found.setdefault("metadata", {})
    metadata |= {"name": f"{name}.v{version}", "namespace": metadata.get("namespace", "placeholder")}
    metadata["annotations"] = dict(
        sorted(
            {
                "operators.operatorframework.io/builder": builder,
                "operators.operatorframework.io/project_layout": "ansible.sdk.operatorframework.io/v1",
                **(metadata.get("annotations") or {}),
                _EXAMPLES: json.dumps(list(manifests.samples), indent=2),
            }.items()
        )
    )
    if spec.get("icon") == _NO_ICON:
        del spec["icon"]  # an empty one is refused, none at all only warned of
    definitions_ = spec.setdefault("customresourcedefinitions", {})
    definitions_["owned"] = _owned(manifests, definitions_.get("owned") or ())
    spec["install"] = {"spec": _strategy(manifests, spec.get("installModes") or ()), "strategy": "deployment"}
    if webhooks := definitions(manifests.objects):
        spec["webhookdefinitions"] = webhooks
    spec["version"] = version
    found["spec"] = dict(sorted(spec.items()))
    return found


def _owned(manifests: Manifests, written: Iterable[Object]) -> list[Object]:
    """Every version of every CRD; what a person has written of one goes first."""
    known = {(one.get("name"), one.get("version")): one for one in written}
    made_ = [
        _described(crd, version, manifests, known.get((crd["metadata"]["name"], version["name"]), {}))
        for crd in manifests.of_kind("CustomResourceDefinition")
        for version in crd["spec"]["versions"]
    ]
    return sorted(made_, key=lambda one: (one["name"], one["version"]))


def _described(crd: Object, version: Object, manifests: Manifests, written: Object) -> Object:
    kind = crd["spec"]["names"]["kind"]
    schema = version.get("schema", {}).get("openAPIV3Schema", {})
    fields = schema.get("properties", {})
    replicas = version.get("subresources", {}).get("scale", {}).get("specReplicasPath", "")
    resources = [{"kind": touched, "name": "", "version": of} for touched, of in manifests.touched.get(kind, ())]
    found = {
        "description": schema.get("description")
        or fields.get("spec", {}).get("description")
        or display_name(kind),
        "displayName": display_name(kind),
        "kind": kind,
        "name": crd["metadata"]["name"],
        **({"resources": resources} if resources else {}),
        **written,
        "specDescriptors": joined(of_spec(fields.get("spec", {}), replicas), written.get("specDescriptors") or []),
        "statusDescriptors": joined(of_status(fields.get("status", {})), written.get("statusDescriptors") or []),
        "version": version["name"],
    }
    return {field: value for field, value in found.items() if value}


def _strategy(manifests: Manifests, modes: Iterable[Object]) -> Object:
    deployments = [deepcopy(found) for found in manifests.of_kind("Deployment")]
    scoped = any(mode.get("supported") and mode.get("type") != "AllNamespaces" for mode in modes)
    for deployment in deployments:
        _scope(deployment["spec"]["template"]["spec"], scoped=scoped)
    accounts = sorted({account_of(deployment) for deployment in deployments})
    found = {
        "clusterPermissions": _permissions(manifests, accounts, "ClusterRole", "ClusterRoleBinding"),
        "deployments": [
            {
                "label": deployment["metadata"].get("labels", {}),
                "name": deployment["metadata"]["name"],
                "spec": deployment["spec"],
            }
            for deployment in deployments
        ],
        "permissions": _permissions(manifests, accounts, "Role", "RoleBinding"),
    }
    return {field: value for field, value in found.items() if value}


def account_of(deployment: Object) -> str:
    return str(deployment["spec"]["template"]["spec"].get("serviceAccountName") or "default")


def _scope(pod: Object, *, scoped: bool) -> None:
    """Have the operator watch the namespaces that OLM says, where it may be another than all of them."""
    for container in pod["containers"]:
        env = container.get("env") or []
        given = [one["name"] for one in env]
        if scoped and WATCH_NAMESPACE not in given and len(pod["containers"]) == 1:
            container["env"] = env = [*env, {"name": WATCH_NAMESPACE}]
        for one in env:
            if one["name"] == WATCH_NAMESPACE:
                one.pop("value", None)
                one["valueFrom"] = deepcopy(_TARGETS)


def _permissions(manifests: Manifests, accounts: list[str], role: str, binding: str) -> list[Object]:
    found = [
        {"rules": [rule for one in bound(manifests, account, role, binding) for rule in one.get("rules") or ()]}
        | {"serviceAccountName": account}
        for account in accounts
    ]
    return [one for one in found if one["rules"]]


def bound(manifests: Manifests, account: str, role: str, binding: str) -> list[Object]:
    """The roles of a kind that bindings of a kind give to an account."""
    names = {
        one["roleRef"]["name"]
        for one in manifests.of_kind(binding)
        if one["roleRef"]["kind"] == role
        and any((s["kind"], s["name"]) == ("ServiceAccount", account) for s in one.get("subjects") or ())
    }
    return [one for one in manifests.of_kind(role) if one["metadata"]["name"] in names]
