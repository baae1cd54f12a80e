"""The sample operator in a pod of a real node, by the manifests and the image that users get."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from runner.errors import DevError
from tests.fixtures.manifests import CONFIG, NAMESPACE
from tests.node import operators, reviews
from tests.node.cluster import Cluster
from tests.node.waiting import wait_for

pytestmark = pytest.mark.cluster
ARBITRARY_UID = 1000650000
MANY = 12
ENOUGH = 20
PROTECTED = "sample.example.com/protected-replicas"


@pytest.fixture(scope="module", autouse=True)
def operator(cluster: Cluster, operator_image: None) -> None:
    """Installed, and ready."""
    operators.install(cluster)


def sample(name: str, **spec: Any) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load((CONFIG.parent / f"crds/samples/{name}.yaml").read_text())
    body["spec"] |= spec
    return body


def reconciled(cluster: Cluster, namespace: str, body: dict[str, Any]) -> None:
    name = f"{body['kind'].lower()}/{body['metadata']['name']}"
    with operators.explained(cluster):
        cluster.apply(body, namespace)
        cluster.kubectl("wait", "--for=condition=Successful", name, "-n", namespace, "--timeout=40s")


def test_a_custom_resource_is_reconciled_by_a_warm_run_that_the_pod_tells_of(
    cluster: Cluster, namespace: str
) -> None:
    reconciled(cluster, namespace, sample("memcached"))

    runs = cluster.kubectl("exec", operators.DEPLOYMENT, "-n", NAMESPACE, "--", "ansible-operator", "runs")
    (line,) = (line for line in runs.splitlines() if f"{namespace}/memcached-sample" in line)
    assert {"warm", "succeeded"} <= set(line.split())


def test_what_a_spec_lacks_is_filled_in_through_the_webhook_service(cluster: Cluster, namespace: str) -> None:
    cluster.apply(sample("helloapp", image="nginx:1"), namespace)

    port = cluster.kubectl("get", "helloapp/helloapp-sample", "-n", namespace, "-o=jsonpath={.spec.port}")
    assert port == "80"


def test_what_the_role_refuses_is_refused_through_the_webhook_service(cluster: Cluster, namespace: str) -> None:
    body = sample("podset", replicas=1)
    body["metadata"]["annotations"] = {PROTECTED: "2"}

    with pytest.raises(DevError, match=r"spec.replicas 1 is less than 2"):
        cluster.apply(body, namespace)


def test_metrics_are_for_those_who_may_read_them(cluster: Cluster, namespace: str) -> None:
    for account in ("reader", "nobody"):
        cluster.kubectl("create", "serviceaccount", account, "-n", namespace)
    role = "--clusterrole=sample-operator-metrics-reader"
    cluster.kubectl("create", "clusterrolebinding", namespace, role, f"--serviceaccount={namespace}:reader")

    def answer(account: str) -> tuple[int, str]:
        return _metrics(cluster, cluster.kubectl("create", "token", account, "-n", namespace).strip())

    text = wait_for("the role to be bound", lambda: _allowed(answer("reader")), seconds=15)
    assert "controller_runtime_reconcile_total" in text
    assert answer("nobody")[0] == 403
    assert _metrics(cluster, "")[0] == 401


def test_an_arbitrary_user_is_rolled_out_and_reconciles(cluster: Cluster, namespace: str) -> None:
    user = {"runAsUser": ARBITRARY_UID, "runAsGroup": 0}
    patch = yaml.safe_dump({"spec": {"template": {"spec": {"securityContext": user}}}})
    cluster.kubectl("patch", operators.DEPLOYMENT, "-n", NAMESPACE, f"--patch={patch}")
    operators.rolled_out(cluster)

    assert cluster.kubectl("exec", operators.DEPLOYMENT, "-n", NAMESPACE, "--", "id", "-u").strip() == str(
        ARBITRARY_UID
    )
    reconciled(cluster, namespace, sample("memcached"))


def test_a_standby_takes_over_when_the_leader_s_pod_is_deleted(cluster: Cluster, namespace: str) -> None:
    operators.scale(cluster, 2)
    leader = operators.leader(cluster)
    cluster.kubectl("delete", f"pod/{leader}", "-n", NAMESPACE, "--wait=false")

    wait_for("another leader", lambda: operators.leader(cluster) not in ("", leader), seconds=40)
    reconciled(cluster, namespace, sample("memcached"))


def test_a_rollout_amid_many_custom_resources_loses_none(cluster: Cluster, namespace: str) -> None:
    names = [f"memcached-{number}" for number in range(MANY)]
    with operators.explained(cluster):
        for name in names:
            body = sample("memcached")
            body["metadata"]["name"] = name
            cluster.apply(body, namespace)
        cluster.kubectl("rollout", "restart", operators.DEPLOYMENT, "-n", NAMESPACE)
        operators.rolled_out(cluster)
        successful = "--for=condition=Successful"
        cluster.kubectl("wait", successful, "memcached", "--all", "-n", namespace, "--timeout=60s", seconds=70)

    assert sorted(operators.created_deployments(cluster, namespace)) == sorted(names)


def test_no_review_fails_while_the_operator_is_rolled_out(cluster: Cluster, namespace: str) -> None:
    before = _pods(cluster)
    with (
        operators.explained(cluster),
        reviews.under_way(cluster, namespace, "memcacheds", sample("memcached")) as asked,
    ):
        wait_for("reviews", lambda: len(asked.seconds) > ENOUGH, seconds=30)
        cluster.kubectl("rollout", "restart", operators.DEPLOYMENT, "-n", NAMESPACE)
        operators.rolled_out(cluster, reviews=False)
        wait_for("the last pods to be gone", lambda: not before & _pods(cluster), seconds=60)
        so_far = len(asked.seconds)
        wait_for("more reviews", lambda: len(asked.seconds) > so_far + ENOUGH, seconds=30)

    assert asked.failed == []


@pytest.fixture
def stored_as_v1(cluster: Cluster, namespace: str) -> Iterator[None]:
    """No pod runs, and a Memcached has to be converted from how it is stored to how the operator watches it."""
    _store(cluster, "v1")
    reconciled(cluster, namespace, sample("memcached"))
    operators.stop(cluster)
    _store(cluster, "v1alpha1")  # the API server now lists it anew when it is asked
    yield
    operators.scale(cluster, 1)


def test_a_start_that_has_to_convert_what_it_lists_becomes_ready(
    cluster: Cluster, namespace: str, stored_as_v1: None
) -> None:
    operators.scale(cluster, 1)

    cluster.apply(sample("memcached", size=3), namespace)
    three = "--for=jsonpath={.spec.replicas}=3"
    cluster.kubectl("wait", three, "deployment/memcached-sample", "-n", namespace, "--timeout=40s")


def _store(cluster: Cluster, version: str) -> None:
    crd = "customresourcedefinition/memcacheds.sample.example.com"
    versions = json.loads(cluster.kubectl("get", crd, "-o=json"))["spec"]["versions"]
    stored = [{**each, "storage": each["name"] == version} for each in versions]
    patch = json.dumps({"spec": {"versions": stored}})
    cluster.kubectl("patch", crd, "--type=merge", f"--patch={patch}")


def _pods(cluster: Cluster) -> set[str]:
    return set(cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o=name").split())


def _metrics(cluster: Cluster, token: str) -> tuple[int, str]:
    service = "service/sample-operator-controller-manager-metrics"
    address = cluster.kubectl("get", service, "-n", NAMESPACE, "-o=jsonpath={.spec.clusterIP}")
    request = urllib.request.Request(f"https://{address}:8443/metrics")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    anybody = ssl._create_unverified_context()  # self-signed, as Prometheus is told to expect
    try:
        with urllib.request.urlopen(request, timeout=10, context=anybody) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""


def _allowed(answer: tuple[int, str]) -> str:
    return answer[1] if answer[0] == 200 else ""
