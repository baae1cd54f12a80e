"""What a started control plane can do: pods, Jobs, tokens and rights, as in a real cluster."""

from __future__ import annotations

import base64
import json
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import pytest
import yaml

from bench.observer import wait_for
from runner.dev.api import Api
from runner.dev.components import SIMULATED
from runner.dev.controlplane import ControlPlane

pytestmark = pytest.mark.cluster

DEADLINE = 30.0
POD_SPEC = {"containers": [{"name": "main", "image": "registry.invalid/main"}]}


def create(admin: Api, path: str, body: dict[str, Any]) -> Any:
    status, answer = admin.call("POST", path, body)
    assert status == 201, answer
    return answer


def create_deployment(admin: Api, namespace: str, replicas: int) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    create(
        admin,
        f"/apis/apps/v1/namespaces/{namespace}/deployments",
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec},
    )


def create_service_account(admin: Api, namespace: str, name: str) -> str:
    """Make the account and return a token for it."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    create(admin, accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    return str(create(admin, f"{accounts}/{name}/token", request)["status"]["token"])


def get_with_token(plane: ControlPlane, token: str, path: str) -> int:
    server = yaml.safe_load(plane.kubeconfig.read_text())["clusters"][0]["cluster"]
    authority = base64.b64decode(server["certificate-authority-data"]).decode()
    request = urllib.request.Request(f"{server['server']}{path}", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, context=ssl.create_default_context(cadata=authority)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def pods(admin: Api, namespace: str) -> list[dict[str, Any]]:
    status, answer = admin.call("GET", f"/api/v1/namespaces/{namespace}/pods")
    assert status == 200, answer
    return list(answer["items"])


def test_pods_of_a_deployment_become_ready(admin: Api, namespace: str) -> None:
    create_deployment(admin, namespace, replicas=3)

    def ready() -> bool:
        _, answer = admin.call("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/web")
        return bool(answer.get("status", {}).get("readyReplicas") == 3)

    wait_for("three ready replicas", ready, seconds=DEADLINE)
    assert {pod["status"]["phase"] for pod in pods(admin, namespace)} == {"Running"}


def test_pod_of_a_job_completes_by_itself(admin: Api, namespace: str) -> None:
    template = {"spec": POD_SPEC | {"restartPolicy": "Never"}}
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}}
    create(admin, jobs, body)

    wait_for(
        "the Job has succeeded",
        lambda: bool(admin.call("GET", f"{jobs}/once")[1].get("status", {}).get("succeeded") == 1),
        seconds=DEADLINE,
    )


def test_pod_without_a_job_keeps_running(admin: Api, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": POD_SPEC}
    create(admin, f"/api/v1/namespaces/{namespace}/pods", body)
    wait_for(
        "the pod runs", lambda: pods(admin, namespace)[0]["status"].get("phase") == "Running", seconds=DEADLINE
    )

    conditions = {c["type"]: c["status"] for c in pods(admin, namespace)[0]["status"]["conditions"]}
    assert conditions["Ready"] == "True"


def test_pods_of_a_deleted_deployment_go(admin: Api, namespace: str) -> None:
    create_deployment(admin, namespace, replicas=2)
    wait_for("two pods", lambda: len(pods(admin, namespace)) == 2, seconds=DEADLINE)

    admin.call("DELETE", f"/apis/apps/v1/namespaces/{namespace}/deployments/web")

    wait_for("no pods", lambda: not pods(admin, namespace), seconds=DEADLINE)


def test_node_renews_its_lease(admin: Api) -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"
    before = admin.call("GET", lease)[1]["spec"]["renewTime"]

    # The node stays Ready for as long as this goes on.
    wait_for(
        "the lease is renewed",
        lambda: bool(admin.call("GET", lease)[1]["spec"]["renewTime"] != before),
        seconds=DEADLINE,
    )


def test_kubeconfig_is_for_its_owner_only(control_plane: ControlPlane) -> None:
    assert stat.S_IMODE(control_plane.kubeconfig.stat().st_mode) == 0o600


def test_kubeconfig_verifies_the_server(control_plane: ControlPlane) -> None:
    cluster = yaml.safe_load(control_plane.kubeconfig.read_text())["clusters"][0]["cluster"]

    assert set(cluster) == {"server", "certificate-authority-data"}
    assert cluster["server"].startswith("https://127.0.0.1:")


def test_token_without_a_role_is_refused(admin: Api, control_plane: ControlPlane, namespace: str) -> None:
    token = create_service_account(admin, namespace, "nobody")

    assert get_with_token(control_plane, token, f"/api/v1/namespaces/{namespace}/configmaps") == 403


def test_token_with_a_role_may_do_what_the_role_says(
    admin: Api, control_plane: ControlPlane, namespace: str
) -> None:
    token = create_service_account(admin, namespace, "reader")
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    create(
        admin,
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
        {"kind": "RoleBinding", "metadata": {"name": "reader"}, "roleRef": role, "subjects": [subject]},
    )

    # The API server learns of a new binding by its own watch.
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    wait_for("the role is granted", lambda: get_with_token(control_plane, token, path) == 200, seconds=DEADLINE)
    assert get_with_token(control_plane, token, "/api/v1/nodes") == 403


def test_made_up_token_is_not_accepted(control_plane: ControlPlane) -> None:
    assert get_with_token(control_plane, "made-up", "/api/v1/nodes") == 401


def test_audit_log_tells_who_did_what(admin: Api, control_plane: ControlPlane, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "audited"}}
    create(admin, f"/api/v1/namespaces/{namespace}/configmaps", body)

    events = [json.loads(line) for line in control_plane.audit_log.read_text().splitlines()]
    mine = [e for e in events if e["verb"] == "create" and e.get("objectRef", {}).get("name") == "audited"]
    assert [event["user"]["username"] for event in mine] == ["kubernetes-admin"]


def test_log_of_a_pod_says_that_nothing_runs(admin: Api, namespace: str) -> None:
    create_deployment(admin, namespace, replicas=1)
    pod = wait_for("a running pod", lambda: running_pod(admin, namespace), seconds=DEADLINE)

    status, log = admin.call("GET", f"/api/v1/namespaces/{namespace}/pods/{pod}/log")

    assert (status, log) == (200, f"{SIMULATED}\n")


@pytest.mark.parametrize("way", ["exec?command=true", "attach", "portforward"])
def test_way_into_a_pod_is_refused_because_nothing_runs(admin: Api, namespace: str, way: str) -> None:
    create_deployment(admin, namespace, replicas=1)
    pod = wait_for("a running pod", lambda: running_pod(admin, namespace), seconds=DEADLINE)

    def refusal() -> str:
        _, answer = admin.call("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/{way}")
        return str(answer["message"]) if SIMULATED in str(answer) else ""

    # The API server takes some seconds to heed a policy that is new to it.
    assert SIMULATED in wait_for("the sentence", refusal, seconds=DEADLINE)


def running_pod(admin: Api, namespace: str) -> str:
    _, pods = admin.call("GET", f"/api/v1/namespaces/{namespace}/pods")
    return next((pod["metadata"]["name"] for pod in pods["items"] if pod["status"]["phase"] == "Running"), "")


def kubeconfig_as(plane: ControlPlane, account: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "runner", "dev", "kubeconfig", "--dir", str(plane.layout.directory)]
    return subprocess.run([*command, "--as", account, "--content"], capture_output=True, text=True, check=False)


def test_kubeconfig_of_a_service_account_acts_as_its_pods_would(
    control_plane: ControlPlane, admin: Api, namespace: str
) -> None:
    create_service_account(admin, namespace, "operator")

    made = kubeconfig_as(control_plane, f"serviceaccount/{namespace}/operator")

    config = yaml.safe_load(made.stdout)
    assert config["contexts"][0]["context"]["namespace"] == namespace
    token = config["users"][0]["user"]["token"]
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    user = create(admin, "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]["user"]
    assert user["username"] == f"system:serviceaccount:{namespace}:operator"
    assert f"system:serviceaccounts:{namespace}" in user["groups"]
    assert get_with_token(control_plane, token, path) == 403


def test_kubeconfig_of_a_service_account_that_is_not_there_says_so(
    control_plane: ControlPlane, namespace: str
) -> None:
    made = kubeconfig_as(control_plane, f"serviceaccount/{namespace}/nobody")

    assert made.returncode == 1
    assert made.stderr.startswith(
        f"error: there is no ServiceAccount nobody in the namespace {namespace}: create it"
    )
