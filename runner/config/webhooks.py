"""The webhooks that watches need, as data: what the API server is told of them, for a Service or a URL. Pure.

Rules name the watched kinds and their scale subresource alone, so that nothing which the operator needs at its
start is reviewed: no Secret, no Lease, no Pod, and of a custom resource neither its status nor its deletion. A
changed spec is always reviewed, also that of a custom resource that is being deleted: its finalizer's run uses it.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.config.watches import Requirement, Watch
from runner.objects import PRUNE_PLACES, GroupVersionKind

Json = dict[str, Any]
TIMEOUT = 10
"""Seconds that the API server waits for an answer: twice what tasks may take."""
CONVERT = "/convert"
_OF_KUBERNETES = ("kube-node-lease", "kube-public", "kube-system")
MOST_COMPARED = 1000
"""Annotations that are compared one by one, which keeps the condition within the cost limit of the API server."""
_SPEC = "has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)"


def _texts(whose: str, field: str) -> str:
    """The CEL expression for labels or annotations, an empty map where there are none."""
    return f"has({whose}.metadata.{field}) ? {whose}.metadata.{field} : {{}}"


def _annotations_changed() -> str:
    """The CEL expression that compares annotations without the one that the operator itself writes.

    CEL has no variables: `exists` over a list of one item gives the item a name.
    """
    differences = (
        f"size(new) > {MOST_COMPARED}",
        f"size(old) > {MOST_COMPARED}",
        f"new.exists(name, name != '{PRUNE_PLACES}' && !(name in old && new[name] == old[name]))",
        f"old.exists(name, name != '{PRUNE_PLACES}' && !(name in new))",
    )
    changed = f"new != old && ({' || '.join(differences)})"
    new, old = _texts("object", "annotations"), _texts("oldObject", "annotations")
    return f"[{new}].exists(new, [{old}].exists(old, {changed}))"


_LABELS_CHANGED = f"({_texts('object', 'labels')}) != ({_texts('oldObject', 'labels')})"
_CONDITIONS = [
    {
        "name": "changes-spec-or-metadata",
        "expression": f"request.operation == 'CREATE' || {_SPEC} || "
        f"(!has(oldObject.metadata.deletionTimestamp) && ({_LABELS_CHANGED} || {_annotations_changed()}))",
    }
]
"""The API server evaluates the condition before it asks, so that a custom resource can be deleted while nobody
reviews: removing a finalizer changes no spec. The spec comes first: a changed one is reviewed, whatever the rest
costs to compare. `Review.changes_anything` repeats the condition for an API server that has none, as with OLM.
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server finds the webhooks: at `url` (https://HOST:PORT), or by a Service.

    `authority` holds the certificates, as PEM, of which one has signed the server's; empty where somebody else
    fills it in (cert-manager, OLM, or the operator).
    """

    url: str = ""
    service: str = ""
    namespace: str = ""
    port: int = 443
    authority: bytes = b""

    def client_config(self, path: str) -> Json:
        """The `clientConfig` of a webhook at this path."""
        if self.url:
            place: Json = {"url": self.url + path}
        else:
            service = {"name": self.service, "namespace": self.namespace, "path": path, "port": self.port}
            place = {"service": service}
        bundle = {"caBundle": base64.b64encode(self.authority).decode()} if self.authority else {}
        return place | bundle


def configurations(
    watches: Iterable[Watch],
    plurals: Mapping[GroupVersionKind, str],
    endpoint: Endpoint,
    *,
    name: str,
    namespaces: Iterable[str] = (),
) -> list[Json]:
    """The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration that these watches need.

    Each is left out where no watch asks for it; both are called `name`. `plurals` has the resource of each kind.
    Of `namespaces`, those that the operator watches, none means all.
    """
    watches = [watch for watch in watches if watch.admission]
    selector = _namespace_selector(tuple(namespaces))
    found: list[Json] = []
    for kind, verb in (("MutatingWebhookConfiguration", "mutate"), ("ValidatingWebhookConfiguration", "validate")):
        webhooks = [
            _webhook(watch, verb, plurals[watch.gvk], endpoint, selector)
            for watch in watches
            if watch.admission and (watch.admission.default if verb == "mutate" else watch.admission.validates)
        ]
        if webhooks:
            head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
            found.append(head | {"webhooks": webhooks})
    return found


def conversion(watch: Watch, endpoint: Endpoint) -> Json | None:
    """The stanza `spec.conversion` of the kind's CRD; None where the watch has no `versions`."""
    if not watch.conversions:
        return None
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": endpoint.client_config(CONVERT)}
    return {"strategy": "Webhook", "webhook": webhook}


def unserved(crd: Mapping[str, Any], names: Collection[str]) -> list[int]:
    """Of a CRD's versions with these names, the places of those that are not served."""
    versions = enumerate((crd.get("spec") or {}).get("versions") or ())
    return [place for place, one in versions if one.get("name") in names and one.get("served") is not True]


def path(verb: str, gvk: GroupVersionKind) -> str:
    """Where a kind's webhook is; `verb` is mutate or validate. As kubebuilder names them."""
    return "-".join((f"/{verb}", *gvk.group.split("."), gvk.version, gvk.kind.lower()))


def _webhook(watch: Watch, verb: str, plural: str, endpoint: Endpoint, namespaces: Json) -> Json:
    scaled = [f"{plural}/scale"] if verb == "validate" else []
    rule = {
        "apiGroups": [watch.gvk.group],
        "apiVersions": [watch.gvk.version],
        "operations": ["CREATE", "UPDATE"],
        "resources": [plural, *scaled],
        "scope": "*",
    }
    selector = {"objectSelector": _label_selector(watch)} if watch.selector.requirements else {}
    return {
        "name": f"{verb}.{plural}.{watch.gvk.group or 'core'}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": endpoint.client_config(path(verb, watch.gvk)),
        "rules": [rule],
        "matchPolicy": "Equivalent",  # other versions are converted to the watch's before
        "matchConditions": _CONDITIONS,
        "namespaceSelector": namespaces,
        **selector,
        "failurePolicy": str(watch.admission.failure_policy) if watch.admission else "Fail",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT,
    }


def _namespace_selector(namespaces: tuple[str, ...]) -> Json:
    requirement = (
        {"operator": "In", "values": list(namespaces)}
        if namespaces
        else {"operator": "NotIn", "values": list(_OF_KUBERNETES)}
    )
    return {"matchExpressions": [{"key": "kubernetes.io/metadata.name", **requirement}]}


def _label_selector(watch: Watch) -> Json:
    return {"matchExpressions": [_expression(requirement) for requirement in watch.selector.requirements]}


def _expression(requirement: Requirement) -> Json:
    values = {"values": list(requirement.values)} if requirement.values else {}
    return {"key": requirement.key, "operator": requirement.operator, **values}
