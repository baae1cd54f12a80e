"""What tests of the operator in pods rely on: the node runs pods, and everybody reaches everybody."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

from runner.errors import DevError
from tests.node.cluster import BUSYBOX, Cluster
from tests.node.waiting import wait_for

pytestmark = pytest.mark.cluster
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "runAsUser": 1000650000,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(name: str, script: str, **container: Any) -> dict[str, Any]:
    """One that runs `script` as the restricted Pod Security Standard wants it."""
    main = {"name": "main", "image": BUSYBOX.name, "command": ["sh", "-c", script], "securityContext": RESTRICTED}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [main | container], "terminationGracePeriodSeconds": 0},
    }


def run(cluster: Cluster, namespace: str, body: dict[str, Any]) -> None:
    cluster.apply(body, namespace)
    cluster.kubectl(
        "wait", "--for=condition=Ready", f"pod/{body['metadata']['name']}", "-n", namespace, "--timeout=30s"
    )


def test_the_log_of_a_pod_can_be_read(cluster: Cluster, namespace: str) -> None:
    run(cluster, namespace, pod("talks", "echo hello from $(hostname); sleep 1000"))

    assert cluster.kubectl("logs", "talks", "-n", namespace) == "hello from talks\n"


def test_a_command_runs_in_a_pod(cluster: Cluster, namespace: str) -> None:
    run(cluster, namespace, pod("waits", "sleep 1000"))

    assert cluster.kubectl("exec", "waits", "-n", namespace, "--", "id", "-u") == "1000650000\n"


def test_a_pod_has_its_account_and_reaches_the_api_server(cluster: Cluster, namespace: str) -> None:
    reach = "nc -w 5 $KUBERNETES_SERVICE_HOST 443 </dev/null && echo reached"
    script = f"echo $(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace); {reach}"
    run(cluster, namespace, pod("asks", f"{script}; sleep 1000"))

    said = wait_for("both lines", lambda: _lines(cluster, namespace, "asks", 2), seconds=10)
    assert said == [namespace, "reached"]


def test_this_machine_and_so_the_api_server_reaches_a_service(cluster: Cluster, namespace: str) -> None:
    serve = "echo served >/tmp/index.html; httpd -f -p 8080 -h /tmp"
    body = pod("serves", serve, volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}])
    body["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    run(cluster, namespace, body)
    cluster.kubectl("expose", "pod", "serves", "-n", namespace, "--port=80", "--target-port=8080")
    address = cluster.kubectl("get", "service", "serves", "-n", namespace, "-o=jsonpath={.spec.clusterIP}")

    assert wait_for("the service", lambda: _get(f"http://{address}"), seconds=20) == "served\n"


def test_of_a_container_beyond_its_memory_one_process_is_killed_and_counted(
    cluster: Cluster, namespace: str
) -> None:
    if not cluster.kills_one_process:
        pytest.skip("all are killed: the next test")
    counters = "/sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events"
    script = f"tail /dev/zero; echo $?; cat {counters} 2>/dev/null | grep -w oom_kill; sleep 1000"
    run(cluster, namespace, pod("eats", script, resources={"limits": {"memory": "16Mi"}}))

    said = wait_for("its end", lambda: _lines(cluster, namespace, "eats", 3), seconds=20)
    assert [line for line in said if line != "Killed"] == ["137", "oom_kill 1"]


def test_of_a_container_beyond_its_memory_all_processes_are_killed(cluster: Cluster, namespace: str) -> None:
    if cluster.kills_one_process:
        pytest.skip("one is killed: the test before")
    body = pod("eats", "tail /dev/zero; echo survived", resources={"limits": {"memory": "16Mi"}})
    body["spec"]["restartPolicy"] = "Never"
    cluster.apply(body, namespace)
    reason = "{.status.containerStatuses[0].state.terminated.reason}"
    get = ("get", "pod/eats", "-n", namespace, f"-o=jsonpath={reason}")

    assert wait_for("its end", lambda: cluster.kubectl(*get), seconds=30) == "OOMKilled"
    assert cluster.kubectl("logs", "eats", "-n", namespace) == ""


def test_a_pod_that_is_not_restricted_is_refused(cluster: Cluster, namespace: str) -> None:
    with pytest.raises(DevError, match="violates PodSecurity"):
        cluster.apply(pod("root", "id", securityContext={}), namespace)


def _get(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return str(answer.read().decode())
    except OSError:  # no endpoint yet
        return ""


def _lines(cluster: Cluster, namespace: str, name: str, least: int) -> list[str] | None:
    lines = cluster.kubectl("logs", name, "-n", namespace).splitlines()
    return lines if len(lines) >= least else None
