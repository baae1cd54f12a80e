"""What the operator's account needs to keep the webhooks' certificate by itself, by a project's manifests. Pure.

Nothing where the API server is told of no Service of the project's, or cert-manager fills in the authority.
"""

from __future__ import annotations

from collections.abc import Iterable

from runner.validate.documents import Document, entries, members, text

GROUP, CRDS = "admissionregistration.k8s.io", "apiextensions.k8s.io"
INJECTED = "cert-manager.io/inject-ca-from"
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")

Rule = dict[str, list[str]]


def rules_of(manifests: Iterable[Document]) -> list[Rule]:
    """The rules of its ClusterRole: to write the authority into the named objects, and find them.

    The Secret is in the operator's namespace, and so for a Role.
    """
    named: dict[tuple[str, str], list[str]] = {}
    for document in manifests:
        if INJECTED in entries(document.get("metadata", "annotations")):
            continue
        kind, name = document.text("kind"), document.text("metadata", "name")
        if kind in CONFIGURATIONS and _by_service(document):
            named.setdefault((GROUP, f"{kind.lower()}s"), []).append(name)
        if (
            kind == "CustomResourceDefinition"
            and text(document.get("spec", "conversion", "strategy")) == "Webhook"
        ):
            named.setdefault((CRDS, "customresourcedefinitions"), []).append(name)
    rules: list[Rule] = []
    if any(group == GROUP for group, _ in named):
        resources = [f"{kind.lower()}s" for kind in CONFIGURATIONS]
        rules.append({"apiGroups": [GROUP], "resources": resources, "verbs": ["list"]})
    for (group, resource), names in sorted(named.items()):
        verbs = ["get", "patch"] if group == CRDS else ["patch"]
        rules.append(
            {"apiGroups": [group], "resources": [resource], "verbs": verbs, "resourceNames": sorted(names)}
        )
    return rules


def _by_service(document: Document) -> bool:
    configs = (entries(webhook).get("clientConfig") for webhook in members(document.get("webhooks")))
    return any("service" in entries(config) for config in configs if config is not None)
