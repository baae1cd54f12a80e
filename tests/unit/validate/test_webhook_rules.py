"""What the operator's account needs to keep the webhooks' certificate by itself."""

from __future__ import annotations

from typing import Any

import yaml

from runner.config.yamlfile import read_yaml
from runner.validate.documents import Document
from runner.validate.manifests.webhooks import INJECTED, rules_of

SERVICE = {"service": {"name": "webhook-service", "namespace": "system"}}


def manifest(kind: str, annotations: dict[str, str] | None = None, **fields: Any) -> Document:
    body = {"kind": kind, "metadata": {"name": "a", "annotations": annotations or {}}, **fields}
    return Document("a.yaml", read_yaml(yaml.safe_dump(body), "a.yaml"))


def configuration(client: dict[str, Any], annotations: dict[str, str] | None = None) -> Document:
    return manifest(
        "ValidatingWebhookConfiguration", annotations, webhooks=[{"name": "a", "clientConfig": client}]
    )


def test_a_project_without_webhooks_needs_nothing() -> None:
    assert rules_of([manifest("Deployment")]) == []


def test_the_authority_may_be_written_into_the_projects_configuration_alone() -> None:
    listed, patched = rules_of([configuration(SERVICE)])
    assert listed["verbs"] == ["list"]
    assert (patched["resources"], patched["verbs"]) == (["validatingwebhookconfigurations"], ["patch"])
    assert patched["resourceNames"] == ["a"]


def test_cert_manager_needs_no_help() -> None:
    assert rules_of([configuration(SERVICE, {INJECTED: "system/serving-cert"})]) == []


def test_a_url_needs_no_certificate_of_the_operators() -> None:
    assert rules_of([configuration({"url": "https://localhost"})]) == []


def test_a_converted_kind_needs_its_crd() -> None:
    crd = manifest("CustomResourceDefinition", spec={"conversion": {"strategy": "Webhook"}})
    (rule,) = rules_of([crd])
    assert (rule["resources"], rule["verbs"]) == (["customresourcedefinitions"], ["get", "patch"])
