"""Admission on a real API server, which asks the operator by URL before it stores a custom resource."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml
from kubernetes.client.exceptions import ApiException

from bench.observer import Object, Observer, wait_for
from bench.operator import OperatorProcess
from runner.config.watches import Watch
from runner.config.webhooks import configurations, conversion
from runner.control.pause import PAUSED
from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from runner.objects import PRUNE_PLACES
from runner.serve.admission.registration import NAME as DEV
from runner.serve.certificates import LOCAL, issued
from tests.fixtures import manifests as programs
from tests.fixtures.operators import (
    GROUP,
    Operate,
    Project,
    Share,
    SharedOperator,
    Things,
    collection,
    definition,
    is_served,
    ledger,
    refusal,
)
from tests.fixtures.webhooks import NOBODY, Webhooks, watches_of, webhooks, written

__all__ = ["webhooks"]

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("admission")]

ROOT = Path(__file__).parents[2]

SPECS = """
argument_specs:
  main:
    options:
      maxSize: {type: int, description: unused by anybody}
      size: {type: int, description: How many to keep}
      pull_policy: {type: str, choices: [Always, Never], description: When the image is pulled}
      disks: {type: list, elements: dict, options: {size_limit: {type: int, required: true}}}
"""
ADMIT = """
- name: Look around
  kubernetes.core.k8s_info:
    {api_version: v1, kind: ConfigMap, namespace: "{{ ansible_operator_meta.namespace }}", name: limits}
  register: limits
- name: Keep the limit
  ansible.builtin.assert:
    that: size | int <= (limits.resources | map(attribute='data.most') | first | default(5)) | int
    fail_msg: "size {{ size }} is more than there is room for"
- name: Do not shrink
  ansible.builtin.assert:
    that: size | int >= ansible_operator_admission.old_object.spec.size
    fail_msg: "{{ ansible_operator_admission.user.username }} may not shrink it"
  when: ansible_operator_admission.operation == 'UPDATE'
- name: Warn of much
  ansible.builtin.assert: {that: size | int < 4, fail_msg: "size {{ size }} is a lot"}
  ignore_errors: true
"""
DEFAULT = """
- name: Say what is missing
  ansible.builtin.set_stats:
    data: {size: 2, pull_policy: Always}
"""


ONE_OR_TWO = SPECS.replace("type: int, description: How", "type: int, choices: [1, 2], description: How")
WRITE = """
- name: Write
  kubernetes.core.k8s:
    definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: default}}
"""
OWN_NAMESPACE = """
- name: Stay in the own namespace
  ansible.builtin.assert:
    that: target == ansible_operator_meta.namespace
    fail_msg: "spec.target must be the own namespace"
"""
CLEANUP = """
- name: Note the target of this run
  ansible.builtin.lineinfile:
    path: "LEDGER"
    line: '"{{ target }}"'
    create: true
    mode: "0600"
"""


def write(project: Project) -> None:
    """A kind for each way to review."""
    written(project, "specified", meta__argument_specs=SPECS)
    project.watch("specified", "Specified", markUnsafe=True, admission={"validate": True})
    written(project, "sized", meta__argument_specs=ONE_OR_TWO)
    project.watch("sized", "Sized", markUnsafe=True, admission={"validate": True})
    for name, tasks in (("Admitted", ADMIT), ("Writing", WRITE)):
        written(project, name.lower(), tasks__admit=tasks)
        project.watch(name.lower(), name, admission={"validate": {"tasks": "admit"}})
    written(project, "defaulted", tasks__default=DEFAULT)
    project.watch("defaulted", "Defaulted", admission={"default": {"tasks": "default"}})
    written(project, "confined", tasks__admit=OWN_NAMESPACE)
    project.role("cleanup", CLEANUP.replace("LEDGER", str(project / "ledger")))
    finalizer = {"name": "test.example.com/cleanup", "role": "cleanup"}
    admission = {"validate": {"tasks": "admit"}}
    project.watch("confined", "Confined", markUnsafe=True, admission=admission, finalizer=finalizer)


@pytest.fixture(scope="module")
def shared(
    share: Share, kinds: Observer, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedOperator]:
    """An operator that the API server asks about all kinds that it watches."""
    kinds.apply(scalable("Sized"))
    wait_for("Sized to be served", partial(is_served, admin, "Sized"), seconds=30)
    webhooks = Webhooks(kinds, tmp_path_factory.mktemp("certificates"), issued(LOCAL), "admission")
    webhooks.rotate()
    shared = share(write, *webhooks.flags())
    webhooks.register(watches_of(shared.project), webhooks.endpoint(shared.process))
    yield shared
    webhooks.unregister()


def scalable(kind: str) -> Object:
    """The definition of a kind that is scaled by `spec.size`."""
    body = definition(kind)
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    body["spec"]["versions"][0]["subresources"]["scale"] = paths
    return body


@pytest.mark.usefixtures("shared")
def test_a_spec_that_does_not_fit_the_argument_specs_is_refused_with_its_path(things: Things) -> None:
    things = things.of("Specified")
    said = refusal(things, "a", {"size": "many", "pullPolicy": "Sometimes", "disks": [{"sizeLimit": 1}, {}]})

    assert 'spec.size: must be a whole number, is "many" (How many to keep)' in said
    assert 'spec.pullPolicy: must be one of "Always", "Never", is "Sometimes" (When the image is pulled)' in said
    assert "spec.disks[1].sizeLimit: is required" in said
    things.create("b", {"size": 3, "pullPolicy": "Never", "disks": [{"sizeLimit": 1}]})
    things.wait("b", "Successful")


@pytest.mark.usefixtures("shared")
def test_tasks_of_the_role_refuse_in_their_own_words_and_look_at_the_cluster(
    things: Things, observer: Observer
) -> None:
    things = things.of("Admitted")
    assert refusal(things, "a", {"size": 6}).endswith("size 6 is more than there is room for")
    observer.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"most": "9"}}
    )
    things.create("a", {"size": 6})
    with pytest.raises(ApiException) as caught:
        things.patch("a", {"spec": {"size": 5}})
    assert "admin may not shrink it" in str(caught.value.body)


@pytest.mark.usefixtures("shared")
def test_what_the_tasks_publish_is_the_default(things: Things) -> None:
    things = things.of("Defaulted")

    def defaulted() -> Any:
        spec = things.create("a", {"size": 7})["spec"]
        if len(spec) == 1:
            things.delete("a")
        return spec if len(spec) > 1 else None

    assert wait_for("the webhook to be heeded", defaulted, seconds=20) == {"size": 7, "pullPolicy": "Always"}


@pytest.mark.usefixtures("shared")
def test_tasks_that_would_write_are_refused_and_decide_nothing(things: Things, observer: Observer) -> None:
    things = things.of("Writing")
    said = refusal(things, "a", {})
    assert "could not be reviewed (failurePolicy: Fail)" in said
    assert "may read the cluster, and change nothing" in said
    assert observer.get("v1", "ConfigMap", "x", namespace="default") is None


def test_a_custom_resource_from_before_can_be_deleted_while_nobody_reviews(
    project: Project, webhooks: Webhooks, things: Things, observer: Observer
) -> None:
    written(project, "thing", meta__argument_specs=SPECS)
    project.watch("thing", admission={"validate": True})
    things.create("a", {"size": "many"}, finalizers=["test.example.com/kept"])
    webhooks.register(watches_of(project), NOBODY)
    assert "failed calling webhook" in refusal(things, "b", {"size": 1})

    things.delete("a")
    things.patch("a", {"metadata": {"annotations": {"noted": "by somebody"}}})
    things.patch("a", {"metadata": {"finalizers": None}})

    wait_for("it to be gone", lambda: observer.get(GROUP, "Thing", "a") is None, seconds=10)


def test_a_spec_that_is_changed_during_the_deletion_is_reviewed_before_the_finalizer_runs(
    shared: SharedOperator, things: Things, observer: Observer
) -> None:
    things = things.of("Confined")
    assert refusal(things, "a", {"target": "kube-system"})
    things.create("a", {"target": observer.namespace})
    things.wait("a", "Successful")
    things.patch("a", {"metadata": {"annotations": {PAUSED: "true"}}})
    things.delete("a")

    with pytest.raises(ApiException) as caught:
        things.patch("a", {"spec": {"target": "kube-system"}})

    assert "spec.target must be the own namespace" in str(caught.value.body)
    things.patch("a", {"metadata": {"annotations": {PAUSED: None}}})
    wait_for("it to be gone", lambda: things.get("a") == {}, seconds=30)
    assert ledger(shared.project / "ledger") == [observer.namespace]


def test_annotations_of_the_operator_alone_are_written_while_nobody_reviews(
    project: Project, webhooks: Webhooks, things: Things
) -> None:
    written(project, "thing", meta__argument_specs=SPECS)
    project.watch("thing", markUnsafe=True, admission={"validate": True})
    things.create("a", {"size": 1}, annotations={"kept": "as it is"})
    webhooks.register(watches_of(project), NOBODY)
    assert "failed calling webhook" in refusal(things, "b", {"size": 1})

    for value in ("v1/ConfigMap@a", "v1/Secret@a", None):
        things.patch("a", {"metadata": {"annotations": {PRUNE_PLACES: value}}})

    changes: list[dict[str, str | None]] = [{"other": "1"}, {"kept": None}, {"kept": "other", PRUNE_PLACES: "x"}]
    for change in changes:
        with pytest.raises(ApiException, match="failed calling webhook"):
            things.patch("a", {"metadata": {"annotations": change}})


MOST_ANNOTATIONS = {f"a{number:x}": "" for number in range(50_000)}
"""Nearly as many as the API server accepts, which is 256 KiB."""
LARGE: dict[str, dict[str, Any]] = {
    "many-items": {"spec": {"items": [{}] * 300_000}},
    "one-text": {"spec": {"text": "x" * 1_400_000}},
    "many-fields": {"spec": {"fields": {f"f{number}": {} for number in range(90_000)}}},
    "annotated": {"metadata": {"annotations": MOST_ANNOTATIONS}},
}


def test_the_match_condition_stays_within_the_cost_limit_for_the_largest_objects(
    project: Project, webhooks: Webhooks, things: Things, observer: Observer, control_plane: ControlPlane
) -> None:
    """An exceeded limit would let an object through unreviewed under failurePolicy Ignore; here it would fail."""
    written(project, "thing", meta__argument_specs=SPECS)
    project.watch("thing", markUnsafe=True, admission={"validate": True, "failurePolicy": "Ignore"})
    watches = watches_of(project)
    send = partial(sent, control_plane)
    path = collection("Thing", observer.namespace)
    for name, fields in LARGE.items():
        metadata = {"name": name, **fields.get("metadata", {})}
        body = {"apiVersion": GROUP, "kind": "Thing", **fields, "metadata": metadata}
        assert send("POST", path, body)[0] == 201
    for body in configurations(
        watches,
        {watches[0].gvk: "things"},
        NOBODY,
        name=webhooks.name,
        namespaces=[observer.namespace],
    ):
        for webhook in body["webhooks"]:
            webhook["failurePolicy"] = "Fail"
        observer.apply(body)
    refusal(things, "b", {})

    for name, fields in LARGE.items():
        annotated = {"metadata": {"annotations": {PRUNE_PLACES: "x"}}}
        status, answer = send("PATCH", f"{path}/{name}", {"spec": {"more": 1}} if "spec" in fields else annotated)
        assert "failed calling webhook" in answer
        assert status == 500  # 403, if the condition could not be evaluated
        for finalizers in (["test.example.com/kept"], None):
            assert send("PATCH", f"{path}/{name}", {"metadata": {"finalizers": finalizers}})[0] == 200


def sent(control_plane: ControlPlane, method: str, path: str, body: Object) -> tuple[int, str]:
    """Status and text of the answer, which the official client takes seconds to read if the object is large."""
    server = yaml.safe_load(control_plane.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    layout = control_plane.layout
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    with urllib3.PoolManager(
        cert_file=layout.certificate("admin"),
        key_file=layout.key("admin"),
        ca_certs=layout.certificate("ca"),
        retries=False,
    ) as pool:
        answer = pool.request(method, f"{server}{path}", body=json.dumps(body), headers={"Content-Type": kind})
        return answer.status, answer.data.decode()


@pytest.mark.usefixtures("shared")
def test_a_scale_is_reviewed_at_the_path_of_a_handwritten_definition_also_during_the_deletion(
    things: Things, observer: Observer
) -> None:
    assert refusal(things, "b", {"size": 3}, "Sized")
    things.create("a", {"size": 1}, "Sized", finalizers=["test.example.com/kept"])
    observer.scale(GROUP, "Sized", "a", 2)
    for deleted in (False, True):
        if deleted:
            things.delete("a", "Sized")
        with pytest.raises(ApiException, match=r"spec\.size: must be one of 1, 2, is 3"):
            observer.scale(GROUP, "Sized", "a", 3)
    things.patch("a", {"metadata": {"finalizers": None}}, "Sized")


OLD, NEW = "test.example.com/v1alpha1", GROUP


@pytest.fixture
def convertible(control_plane: ControlPlane, webhooks: Webhooks) -> Iterator[Callable[..., None]]:
    """Serves a kind in two versions, of which the given one is stored, converted by the operator."""
    admin, name = Observer(control_plane.kubeconfig), "convertibles.test.example.com"

    def serve(operator: OperatorProcess, watch: Watch, stored: str) -> None:
        body = definition("Convertible")
        (version,) = body["spec"]["versions"]
        body["spec"]["versions"] = [
            {**version, "name": name, "storage": name == stored} for name in ("v1", "v1alpha1")
        ]
        body["spec"]["conversion"] = conversion(watch, webhooks.endpoint(operator))
        admin.apply(body)
        for api_version in (OLD, NEW):
            wait_for("it to be served", partial(admin.serves, api_version, "Convertible"), seconds=30)

    yield serve
    admin.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
    admin.close()


def test_a_kind_is_read_and_written_in_two_versions_and_its_stored_version_migrates(
    project: Project,
    operate: Operate,
    webhooks: Webhooks,
    convertible: Callable[..., None],
    observer: Observer,
    things: Things,
) -> None:
    written(project, "convertible")
    maps = {"v1alpha1": {"to": {"size": "spec.replicas"}, "from": {"replicas": "spec.size"}}}
    project.watch("convertible", "Convertible", versions=maps)
    (watch,) = watches_of(project)
    operator = operate(*webhooks.flags(), "--executor=cold", ready=False)
    wait_for("it to listen", lambda: list(operator.records("Listening")), seconds=30)
    convertible(operator, watch, "v1alpha1")
    body = {"apiVersion": OLD, "kind": "Convertible", "metadata": {"name": "a"}, "spec": {"size": 3, "image": "x"}}
    wait_for("the conversion to be heeded", partial(_created, observer, body), seconds=20)

    assert spec_in(observer, NEW) == {"replicas": 3, "image": "x"}
    assert spec_in(observer, OLD) == {"size": 3, "image": "x"}
    things.wait("a", "Successful", "Convertible")

    convertible(operator, watch, "v1")
    things.patch("a", {"spec": {"replicas": 4}}, "Convertible")
    assert spec_in(observer, OLD) == {"size": 4, "image": "x"}
    assert spec_in(observer, NEW) == {"replicas": 4, "image": "x"}
    assert [body["spec"]["size"] for body in observer.list(OLD, "Convertible")] == [4]


def _created(observer: Observer, body: dict[str, Any]) -> bool:
    try:
        observer.create(body)
    except ApiException:
        return False
    return True


def spec_in(observer: Observer, api_version: str) -> dict[str, Any]:
    return dict((observer.get(api_version, "Convertible", "a") or {})["spec"])


SAMPLES, V1 = "sample.example.com/v1alpha1", "sample.example.com/v1"
STORED, OTHER = "memcacheds.v1alpha1.sample.example.com", "memcacheds.v1.sample.example.com"


def test_a_memcached_is_read_and_written_as_v1_for_as_long_as_somebody_converts(
    control_plane: ControlPlane, observer: Observer, tmp_path: Path
) -> None:
    def kubectl(*arguments: str) -> str:
        command = [str(programs.kubectl()), f"--kubeconfig={control_plane.kubeconfig}", "-n", observer.namespace]
        command.append(f"--cache-dir={tmp_path}")  # kubectl remembers v1, and others come after this
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False).stdout.strip()

    def spec(kind: str) -> str:
        return kubectl("get", kind, "a", "-o", "jsonpath={.apiVersion} {.spec}")

    observer.apply(ROOT / "crds")
    wait_for("it to be served", partial(observer.serves, SAMPLES, "Memcached"), seconds=30)
    observer.create({"apiVersion": SAMPLES, "kind": "Memcached", "metadata": {"name": "a"}, "spec": {"size": 2}})
    assert not observer.serves(V1, "Memcached")
    environment = {"WATCH_NAMESPACE": observer.namespace, "ANSIBLE_GATHERING": "explicit"}
    flags = ("--webhooks=dev", "--webhook-port=0")
    with OperatorProcess(ROOT, control_plane.kubeconfig, tmp_path / "w", *flags, environment=environment):
        wait_for("v1 to be shown", lambda: spec(OTHER) == f'{V1} {{"replicas":2}}', seconds=30)
        observer.apply(ROOT / "crds")  # which hides v1, until the operator looks again
        wait_for("v1 to be shown again", lambda: spec(OTHER) == f'{V1} {{"replicas":2}}', seconds=30)
        kubectl("patch", OTHER, "a", "--type=merge", "-p", '{"spec": {"replicas": 3}}')
        assert spec(STORED) == f'{SAMPLES} {{"size":3}}'
        kubectl("patch", STORED, "a", "--type=merge", "-p", '{"spec": {"size": 4}}')
        assert spec(OTHER) == f'{V1} {{"replicas":4}}'
    wait_for("v1 to be hidden", lambda: not observer.serves(V1, "Memcached"), seconds=30)
    assert spec(STORED) == f'{SAMPLES} {{"size":4}}'


def test_for_development_the_operator_registers_itself_and_withdraws(
    project: Project, operate: Operate, things: Things, observer: Observer
) -> None:
    written(project, "thing", meta__argument_specs=SPECS)
    project.watch("thing", admission={"validate": True})
    operator = operate("--webhooks=dev", "--webhook-port=0", "--executor=cold")

    assert "spec.size: must be a whole number" in refusal(things, "a", {"size": "many"})
    operator.stop()

    things.create("a", {"size": "many"})
    name = f"{DEV}.things.v1.test.example.com"
    assert observer.get("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name) is None
