"""`prune: true` deletes only objects that a run of this very custom resource created, on a real API server."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.observer import Object, wait_for
from runner.dev.api import Api
from tests.fixtures.operators import PATIENCE, Operate, Project, Share, SharedOperator, Things

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("prune_ownership")]

PREFIX = "ansible.sdk.operatorframework.io/"
PRODUCE = """
- name: Wait, if it is to
  ansible.builtin.wait_for:
    path: "{{ until }}"
  when: until is defined
- name: Produce what the spec names
  kubernetes.core.k8s:
    definition: "{{ objects }}"
- name: Report what it did
  operator_sdk.util.k8s_event:
    state: present
    name: "{{ ansible_operator_meta.name }}-report"
    namespace: "{{ ansible_operator_meta.namespace }}"
    reason: Reported
    message: A backup was made
    reportingComponent: test.example.com
    appendTimestamp: true
    involvedObject:
      apiVersion: test.example.com/v1
      kind: Maker
      name: "{{ ansible_operator_meta.name }}"
      namespace: "{{ ansible_operator_meta.namespace }}"
  when: reports is defined
- name: End early, if it is to
  ansible.builtin.meta: end_play
  when: ends is defined
"""


def config_map(name: str, namespace: str, **metadata: object) -> Object:
    meta = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


class Cluster:
    """ConfigMaps of Things, in the test's namespace and in another."""

    def __init__(self, things: Things, elsewhere: str, admin: Api) -> None:
        self.things, self.elsewhere, self._admin = things, elsewhere, admin
        self.observer, self.home = things.observer, things.observer.namespace

    def give(self, name: str, *objects: Object, wait: bool = True, **more: object) -> None:
        """Have the Thing produce these objects."""
        spec = {"until": None, "reports": None, "ends": None, "objects": list(objects), **more}
        if self.things.get(name):
            self.things.patch(name, {"spec": spec})
        else:
            self.things.create(name, {key: value for key, value in spec.items() if value is not None})
        if wait:
            self.things.wait(name, "Successful")

    def names(self, namespace: str = "") -> set[str]:
        found = self.observer.list("v1", "ConfigMap", namespace=namespace or self.home)
        return {body["metadata"]["name"] for body in found} - {"kube-root-ca.crt"}

    def copy(self, name: str, new: str, namespace: str = "") -> None:
        """As a person does it: `kubectl get -o json | jq | kubectl create -f -`."""
        body = copy.deepcopy(self.observer.get("v1", "ConfigMap", name) or {})
        for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            body["metadata"].pop(field)
        body["metadata"] |= {"name": new, "namespace": namespace or self.home}
        if namespace:
            body["metadata"].pop("ownerReferences")
        self.create(body)

    def create(self, body: Object) -> None:
        path = f"/api/v1/namespaces/{body['metadata']['namespace']}/configmaps"
        status, answer = self._admin.call("POST", path, body)
        assert status == 201, answer

    def events(self, reason: str) -> list[str]:
        return [event["message"] for event in self.observer.list("v1", "Event") if event.get("reason") == reason]


@pytest.fixture
def own_cluster(things: Things, admin: Api, namespace: str) -> Iterator[Cluster]:
    """For a test that starts its own operator."""
    elsewhere = f"{namespace}-too"
    admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": elsewhere}})
    yield Cluster(things, elsewhere, admin)
    admin.call("DELETE", f"/api/v1/namespaces/{elsewhere}")


def write(project: Project) -> None:
    project.role("produce", PRODUCE)
    project.watch("produce", "Maker", prune=True, snakeCaseParameters=False)


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


@pytest.fixture
def cluster(shared: SharedOperator, own_cluster: Cluster, things: Things, admin: Api) -> Cluster:
    """For a test of the shared operator."""
    return Cluster(things.of("Maker"), own_cluster.elsewhere, admin)


def reference(owner: Object) -> Object:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}


def test_copies_and_objects_of_other_controllers_are_kept_and_an_event_says_so(cluster: Cluster) -> None:
    maps = [config_map("kept", cluster.home), config_map("dropped", cluster.home)]
    cluster.give("one", *maps)
    cluster.copy("dropped", "backup-of-alice")
    owner = reference(cluster.things.get("one"))
    cluster.create(config_map("of-a-controller", cluster.home, ownerReferences=[owner]))
    cluster.give("one", maps[0])
    assert cluster.names() == {"kept", "backup-of-alice", "of-a-controller"}
    [message] = wait_for("the Event", lambda: cluster.events("NotPruned"), seconds=PATIENCE)
    assert f"ConfigMap {cluster.home}/backup-of-alice, ConfigMap {cluster.home}/of-a-controller" in message


def test_a_custom_resource_that_reuses_a_name_deletes_nothing_of_its_predecessor(cluster: Cluster) -> None:
    cluster.give("one", config_map("precious", cluster.elsewhere))
    cluster.things.delete("one")
    wait_for("the Thing to be gone", lambda: not cluster.things.get("one"), seconds=PATIENCE)
    cluster.give("one", config_map("other", cluster.elsewhere))
    cluster.give("one", config_map("third", cluster.elsewhere))
    assert cluster.names(cluster.elsewhere) == {"precious", "third"}


def test_annotations_that_a_tenant_wrote_delete_nothing(cluster: Cluster) -> None:
    theirs = {
        "operator-sdk/primary-resource": f"{cluster.home}/one",
        "operator-sdk/primary-resource-type": "Maker.test.example.com",
    }
    cluster.create(config_map("theirs", cluster.elsewhere, annotations=theirs))
    cluster.give("one", config_map("a", cluster.home), config_map("b", cluster.home))
    places = cluster.things.get("one")["metadata"]["annotations"][f"{PREFIX}prune-places"]
    cluster.copy("a", "theirs-too", cluster.elsewhere)
    forged = f"v1/ConfigMap@{cluster.elsewhere},{places}"
    cluster.things.patch("one", {"metadata": {"annotations": {f"{PREFIX}prune-places": forged}}})
    cluster.give("one", config_map("a", cluster.home))
    assert cluster.names(cluster.elsewhere) == {"theirs", "theirs-too"}
    assert cluster.names() == {"a"}


def test_annotations_that_a_role_takes_from_a_spec_adopt_nothing(cluster: Cluster) -> None:
    named = {
        "operator-sdk/primary-resource": f"{cluster.home}/one",
        "operator-sdk/primary-resource-type": "Maker.test.example.com",
    }
    cluster.create(config_map("precious", cluster.elsewhere))
    own = config_map("own", cluster.elsewhere)
    for _ in range(2):
        cluster.give("one", own, config_map("precious", cluster.elsewhere, annotations=named))
        cluster.give("one", own)
    assert cluster.names(cluster.elsewhere) == {"own", "precious"}
    cluster.give("one", config_map("other", cluster.home))
    assert cluster.names(cluster.elsewhere) == {"precious"}


def test_what_helm_keeps_and_events_stay(cluster: Cluster) -> None:
    hook = config_map("hook", cluster.home, annotations={"helm.sh/hook": "pre-install"})
    kept = config_map("kept", cluster.home, annotations={"helm.sh/resource-policy": "keep"})
    managed = config_map("managed", cluster.home, labels={"app.kubernetes.io/managed-by": "Helm"})
    plain = config_map("plain", cluster.home)
    cluster.give("one", hook, kept, managed, plain, config_map("dropped", cluster.home), reports=True)
    cluster.give("one", plain)
    assert cluster.names() == {"hook", "kept", "managed", "plain"}
    assert cluster.events("Reported")


def test_nothing_is_deleted_for_a_spec_or_a_pause_that_came_during_the_run(
    cluster: Cluster, tmp_path: Path
) -> None:
    both = [config_map("a", cluster.home), config_map("b", cluster.home)]
    cluster.give("one", *both)
    uid = (cluster.observer.get("v1", "ConfigMap", "b") or {})["metadata"]["uid"]

    def run_without_b(go: Path, meanwhile: Object) -> None:
        cluster.give("one", both[0], until=str(go), wait=False)
        cluster.things.wait("one", "Running")
        cluster.things.patch("one", meanwhile)
        go.touch()

    run_without_b(tmp_path / "first", {"spec": {"objects": both}})
    cluster.things.wait("one", "Successful")
    assert (cluster.observer.get("v1", "ConfigMap", "b") or {})["metadata"]["uid"] == uid
    run_without_b(tmp_path / "second", {"metadata": {"annotations": {f"{PREFIX}paused": "true"}}})
    cluster.things.wait("one", "Paused")
    assert cluster.names() == {"a", "b"}
    reasons = " ".join(cluster.events("NotPruned"))
    assert "the custom resource's spec changed during the run" in reasons
    assert "the custom resource was paused during the run" in reasons
    cluster.things.patch("one", {"metadata": {"annotations": {f"{PREFIX}paused": None}}})
    wait_for("b to be gone", lambda: cluster.names() == {"a"}, seconds=PATIENCE)


def test_a_run_that_a_meta_task_ended_early_deletes_nothing_and_one_whose_condition_was_false_does(
    cluster: Cluster,
) -> None:
    both = [config_map("a", cluster.home), config_map("b", cluster.home)]
    cluster.give("one", *both)
    cluster.give("one", both[0], ends=True)
    assert cluster.names() == {"a", "b"}
    cluster.give("one", both[0])
    assert cluster.names() == {"a"}


def test_an_inventory_that_fails_to_parse_fails_the_run_and_nothing_is_deleted(
    project: Project, operate: Operate, own_cluster: Cluster, tmp_path: Path
) -> None:
    inventory, broken = tmp_path / "inventory", tmp_path / "broken"
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    script = json.dumps({"workers": {"hosts": ["w1"]}, "_meta": {"hostvars": {"w1": here}}})
    inventory.write_text(f"#!/bin/sh\ntest ! -e {broken} || exit 1\necho '{script}'\n")
    inventory.chmod(0o755)
    tasks = "[{kubernetes.core.k8s: {definition: '{{ objects }}'}}]"
    plays = f"- {{hosts: localhost, gather_facts: false, tasks: {tasks.replace('objects', 'local')}}}\n"
    plays += f"- {{hosts: workers, gather_facts: false, tasks: {tasks}}}\n"
    (project / "play.yml").write_text(plays)
    watch = "- {group: test.example.com, version: v1, kind: Thing, playbook: play.yml, prune: true,"
    (project / "watches.yaml").write_text(f"{watch} snakeCaseParameters: false}}\n")
    operate(ANSIBLE_INVENTORY=str(inventory))
    local = [config_map("l", own_cluster.home)]
    own_cluster.give("one", config_map("a", own_cluster.home), local=local)
    broken.touch()
    own_cluster.give("one", config_map("a", own_cluster.home), local=local, more=1, wait=False)
    own_cluster.things.wait("one", "Failure")
    assert own_cluster.names() == {"a", "l"}
    assert "inventory" in own_cluster.things.condition("one", "Failure")["message"]


def test_objects_from_before_pruning_was_asked_for_are_adopted_when_a_run_writes_them(
    project: Project, operate: Operate, own_cluster: Cluster
) -> None:
    project.role("produce", PRODUCE)
    project.watch("produce", snakeCaseParameters=False)
    first = operate()
    maps = [config_map(name, own_cluster.home) for name in ("a", "b", "never-written-again")]
    own_cluster.give("one", *maps)
    first.stop()
    (project / "watches.yaml").unlink()
    project.watch("produce", prune=True, snakeCaseParameters=False)
    own_cluster.give("one", *maps[:2], wait=False)
    operate()
    own_cluster.things.wait("one", "Successful")
    own_cluster.give("one", maps[0])
    assert own_cluster.names() == {"a", "never-written-again"}


def test_without_a_key_nothing_is_marked_and_nothing_pruned(
    project: Project, operate: Operate, own_cluster: Cluster, tmp_path: Path
) -> None:
    project.role("produce", PRODUCE)
    project.watch("produce", prune=True, snakeCaseParameters=False)
    (tmp_path / "key").write_text("short")
    operator = operate(f"--prune-key-file={tmp_path / 'key'}")
    both = [config_map("a", own_cluster.home), config_map("b", own_cluster.home)]
    own_cluster.give("one", *both)
    own_cluster.give("one", both[0])
    assert own_cluster.names() == {"a", "b"}
    [warning] = operator.records("Nothing is pruned: there is no key to mark objects with")
    assert "holds 5 bytes: a key has 32 or more" in warning["why"]
