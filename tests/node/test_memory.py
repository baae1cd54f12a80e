"""A run takes more memory than the pod may have: the run ends, and the operator does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.observer import condition
from tests.fixtures.manifests import NAMESPACE
from tests.node import operators
from tests.node.cluster import Cluster
from tests.node.waiting import wait_for

pytestmark = pytest.mark.cluster
WATCHES = """
- {group: sample.example.com, version: v1alpha1, kind: HelloApp, playbook: /opt/ansible/project/eat.yml}
"""
EAT = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Take what the annotation says
      ansible.builtin.command: "python3 -c '{{ _sample_example_com_helloapp.metadata.annotations.eat }}'"
"""
AT_ONCE = 'import time; taken = b"x" * 2 ** 30; time.sleep(60)'
SLOWLY = 'import time; taken = [(b"x" * 2 ** 23, time.sleep(0.05)) for _ in range(128)]; time.sleep(60)'
NOTHING = "pass"


@pytest.fixture(scope="module", autouse=True)
def operator(cluster: Cluster, operator_image: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Installed, with a playbook that eats memory."""
    project = tmp_path_factory.mktemp("project")
    (project / "watches.yaml").write_text(WATCHES)
    (project / "eat.yml").write_text(EAT)
    operators.install(cluster, project)


@pytest.mark.parametrize("eat", [AT_ONCE, SLOWLY], ids=["at-once", "slowly"])
def test_the_run_ends_and_says_why_and_the_next_one_is_fine(cluster: Cluster, namespace: str, eat: str) -> None:
    cluster.apply(_helloapp("eats", eat), namespace)
    failed = wait_for("the run to fail", lambda: _condition(cluster, namespace, "eats", "Failure"), seconds=60)
    assert "memory" in failed["message"], failed

    cluster.apply(_helloapp("modest", NOTHING), namespace)
    wait_for("the next run", lambda: _condition(cluster, namespace, "modest", "Successful"), seconds=40)
    assert _restarts(cluster) == {}


def _helloapp(name: str, eat: str) -> dict[str, Any]:
    return {
        "apiVersion": "sample.example.com/v1alpha1",
        "kind": "HelloApp",
        "metadata": {"name": name, "annotations": {"eat": eat}},
        "spec": {"image": "none"},
    }


def _condition(cluster: Cluster, namespace: str, name: str, kind: str) -> dict[str, Any] | None:
    body = json.loads(cluster.kubectl("get", "helloapp", name, "-n", namespace, "-o=json"))
    found = condition(body, kind)
    return found if found.get("status") == "True" else None


def _restarts(cluster: Cluster) -> dict[str, int]:
    """Of the pods that have restarted, how often; one that is being deleted is of an earlier module."""
    pods = json.loads(cluster.kubectl("get", "pods", "-n", NAMESPACE, "-o=json"))["items"]
    counts = {
        pod["metadata"]["name"]: sum(status["restartCount"] for status in pod["status"]["containerStatuses"])
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
    }
    return {name: count for name, count in counts.items() if count}
