"""What the API server is told of the webhooks that watches need."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from runner.config.admission import Admission, Conversion, FailurePolicy
from runner.config.watches import Content, Requirement, Selector, Watch
from runner.config.webhooks import Endpoint, configurations, conversion, path
from runner.objects import GroupVersionKind

GVK = GroupVersionKind("sample.example.com", "v1", "PodSet")
PLURALS = {GVK: "podsets"}
SERVICE = Endpoint(service="webhook-service", namespace="system")


def watch(admission: Admission | None = None, **fields: Any) -> Watch:
    return Watch(GVK, Content(Path("/roles/podset"), is_role=True), admission=admission, **fields)


def made(*watches: Watch, endpoint: Endpoint = SERVICE, **more: Any) -> dict[str, dict[str, Any]]:
    return {body["kind"]: body for body in configurations(watches, PLURALS, endpoint, name="thing", **more)}


def validating(admission: Admission | None = None, **more: Any) -> dict[str, Any]:
    body = made(watch(admission or Admission(tasks="admit.yml")), **more)["ValidatingWebhookConfiguration"]
    (webhook,) = body["webhooks"]
    return dict(webhook)


def test_a_project_without_admission_needs_no_configuration() -> None:
    assert made(watch()) == {}


def test_validation_and_defaults_are_configurations_of_their_own() -> None:
    assert list(made(watch(Admission(tasks="a.yml")))) == ["ValidatingWebhookConfiguration"]
    assert list(made(watch(Admission(default="d.yml")))) == ["MutatingWebhookConfiguration"]
    assert len(made(watch(Admission(tasks="a.yml", default="d.yml")))) == 2


def test_rules_name_creation_change_and_scale_of_the_kind_alone() -> None:
    (rule,) = validating()["rules"]
    assert rule["apiGroups"] == ["sample.example.com"]
    assert rule["apiVersions"] == ["v1"]
    assert rule["operations"] == ["CREATE", "UPDATE"]
    assert rule["resources"] == ["podsets", "podsets/scale"]


def test_other_versions_are_reviewed_in_that_of_the_watch() -> None:
    assert validating()["matchPolicy"] == "Equivalent"


def test_a_review_has_no_effects_and_a_time() -> None:
    webhook = validating()
    assert webhook["sideEffects"] == "None"
    assert webhook["timeoutSeconds"] == 10


@pytest.mark.parametrize("policy", FailurePolicy)
def test_the_failure_policy_is_that_of_the_watch(policy: FailurePolicy) -> None:
    assert validating(Admission(tasks="a.yml", failure_policy=policy))["failurePolicy"] == policy


def test_one_condition_decides_what_is_reviewed_and_looks_at_the_spec_before_the_deletion() -> None:
    (condition,) = validating()["matchConditions"]
    spec, deletion = "object.spec != oldObject.spec", "oldObject.metadata.deletionTimestamp"
    assert condition["expression"].index(spec) < condition["expression"].index(deletion)


def test_a_service_is_named_with_the_path_of_the_kind() -> None:
    assert validating()["clientConfig"] == {
        "service": {
            "name": "webhook-service",
            "namespace": "system",
            "path": "/validate-sample-example-com-v1-podset",
            "port": 443,
        }
    }


def test_a_url_goes_with_the_authority_of_its_certificate() -> None:
    config = validating(endpoint=Endpoint(url="https://127.0.0.1:9443", authority=b"PEM"))["clientConfig"]
    assert config == {
        "url": "https://127.0.0.1:9443/validate-sample-example-com-v1-podset",
        "caBundle": base64.b64encode(b"PEM").decode(),
    }


def test_namespaces_of_kubernetes_itself_are_left_alone() -> None:
    (expression,) = validating()["namespaceSelector"]["matchExpressions"]
    assert expression["operator"] == "NotIn"
    assert "kube-system" in expression["values"]


def test_where_namespaces_are_watched_only_those_are_reviewed() -> None:
    (expression,) = validating(namespaces=("a", "b"))["namespaceSelector"]["matchExpressions"]
    assert (expression["operator"], expression["values"]) == ("In", ["a", "b"])


def test_only_what_the_watch_selects_is_reviewed() -> None:
    selector = Selector((Requirement("app", "In", ("web",)), Requirement("old", "DoesNotExist")))
    body = made(watch(Admission(tasks="a.yml"), selector=selector))["ValidatingWebhookConfiguration"]
    assert body["webhooks"][0]["objectSelector"] == {
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["web"]},
            {"key": "old", "operator": "DoesNotExist"},
        ]
    }


def test_a_kind_with_other_versions_is_converted_by_a_webhook() -> None:
    stanza = conversion(watch(conversions={"v1alpha1": Conversion()}), SERVICE)
    assert stanza is not None
    assert stanza["strategy"] == "Webhook"
    assert stanza["webhook"]["conversionReviewVersions"] == ["v1"]
    assert stanza["webhook"]["clientConfig"]["service"]["path"] == "/convert"


def test_a_kind_of_one_version_is_not_converted() -> None:
    assert conversion(watch(), SERVICE) is None


def test_paths_of_two_kinds_are_two() -> None:
    assert path("validate", GVK) != path("mutate", GVK)
