"""The sample operator of this repository, as its users see it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException

from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess
from runner.config.watchesfile import load_watches
from runner.dev.controlplane import ControlPlane
from runner.serve.certificates import LOCAL, issued
from tests.fixtures.audit import Audit
from tests.fixtures.samples import CHECK, SAMPLES
from tests.fixtures.webhooks import Webhooks

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("sample")]

ROOT = Path(__file__).parents[2]
GROUP = "sample.example.com/v1alpha1"
REVIEWED = "sample-reviewed"
PROTECTED = "sample.example.com/protected-replicas"
PATIENCE = 90.0


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> Iterator[Observer]:
    """A namespace for the sample operator, with its kinds served."""
    observer = Observer(control_plane.kubeconfig, "sample")
    observer.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sample"}})
    observer.apply(ROOT / "crds")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-login"}, "data": {"a": "e30="}}
    observer.apply(secret)
    yield observer
    observer.close()


@pytest.fixture(scope="module")
def reviewing(served: Observer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhooks]:
    """The operator's webhooks, asked about custom resources of a namespace that has no others."""
    served.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": REVIEWED}})
    directory = tmp_path_factory.mktemp("certificates")
    webhooks = Webhooks(served, directory, issued(LOCAL), "sample", (REVIEWED,))
    webhooks.rotate()
    yield webhooks
    webhooks.unregister()


@pytest.fixture(scope="module")
def operator(
    control_plane: ControlPlane,
    served: Observer,
    reviewing: Webhooks,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[OperatorProcess]:
    """The sample operator at work in all namespaces."""
    work = tmp_path_factory.mktemp("sample")
    with OperatorProcess(ROOT, control_plane.kubeconfig, work, *reviewing.flags()) as operator:
        watches, _ = load_watches(ROOT / "watches.yaml", ROOT, {})
        reviewing.register(watches, reviewing.endpoint(operator))
        yield operator


@pytest.fixture(scope="module")
def sample(served: Observer, operator: OperatorProcess) -> Observer:
    """A view of the namespace in which the sample operator is used."""
    return served


def test_memcached_becomes_a_deployment_of_its_size(sample: Observer) -> None:
    sample.create(resource("Memcached", "cache", {"size": 2}))
    successful(sample, "Memcached", "cache")
    assert deployment(sample, "cache")["spec"]["replicas"] == 2
    sample.patch(GROUP, "Memcached", "cache", {"spec": {"size": 1}})
    wait_for("one replica", lambda: deployment(sample, "cache")["spec"]["replicas"] == 1, seconds=PATIENCE)


def test_helloapp_becomes_a_deployment_and_a_service_and_refuses_what_is_no_image(sample: Observer) -> None:
    sample.create(resource("HelloApp", "hello", {"image": "nginx:1.29", "size": 1}))
    successful(sample, "HelloApp", "hello")
    assert deployment(sample, "hello")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.29"
    assert sample.get("v1", "Service", "hello")
    sample.patch(GROUP, "HelloApp", "hello", {"spec": {"image": "{{ not }} an image"}})
    failed = reached(sample, "HelloApp", "hello", "Failure")
    assert "{{ not }} an image" in condition(failed, "Failure")["message"]


def test_the_ingress_of_a_helloapp_comes_and_goes_with_its_host(sample: Observer) -> None:
    sample.create(resource("HelloApp", "hosted", {"image": "nginx:1.29", "host": "hello.example.com"}))
    successful(sample, "HelloApp", "hosted")
    ingress = sample.get("networking.k8s.io/v1", "Ingress", "hosted") or {}
    assert ingress["spec"]["rules"][0]["host"] == "hello.example.com"
    sample.patch(GROUP, "HelloApp", "hosted", {"spec": {"host": None}})
    gone = partial(sample.get, "networking.k8s.io/v1", "Ingress", "hosted")
    wait_for("the Ingress to be gone", lambda: gone() is None, seconds=PATIENCE)
    assert deployment(sample, "hosted")
    assert sample.get("v1", "Service", "hosted")


def test_podset_scales_by_its_scale_subresource_and_names_its_pods(sample: Observer) -> None:
    sample.create(resource("PodSet", "set", {"replicas": 1}))
    for replicas in (3, 2):
        sample.scale(GROUP, "PodSet", "set", replicas)
        wait_for(f"{replicas} pods in the status", partial(status_is, sample, replicas), seconds=PATIENCE)
        names = [pod["metadata"]["name"] for pod in ready_pods(sample)]
        assert sorted(pod_names(sample, "set")) == sorted(names)


def test_podset_tells_of_its_pods_soon_after_they_are_ready(sample: Observer) -> None:
    sample.create(resource("PodSet", "soon", {"replicas": 4}))
    wait_for("4 pods in the status", partial(status_is, sample, 4, "soon"), seconds=PATIENCE, every=0.05)
    told = time.time()
    pods = [sample.get("v1", "Pod", name) or {} for name in pod_names(sample, "soon")]
    assert told - max(map(ready_since, pods)) < 5  # a second, whole seconds, and a busy machine


def test_a_pod_that_ended_is_replaced(sample: Observer) -> None:
    sample.create(resource("PodSet", "ended", {"replicas": 1}))
    wait_for("a pod in the status", partial(status_is, sample, 1, "ended"), seconds=PATIENCE)
    (name,) = pod_names(sample, "ended")
    uid = (sample.get("v1", "Pod", name) or {})["metadata"]["uid"]
    sample.patch_status("v1", "Pod", name, {"phase": "Failed"})

    def replaced() -> bool:
        status = (sample.get(GROUP, "PodSet", "ended") or {})["status"]
        pods = [sample.get("v1", "Pod", pod) or {} for pod in status.get("podNames", ())]
        return len(pods) == 1 and pods[0].get("metadata", {}).get("uid") not in (None, uid)

    wait_for("another pod in its place", replaced, seconds=PATIENCE)


def test_a_pod_that_somebody_deletes_is_replaced(sample: Observer) -> None:
    sample.create(resource("PodSet", "lasting", {"replicas": 1}))
    successful(sample, "PodSet", "lasting")
    wait_for("a pod in the status", partial(status_is, sample, 1, "lasting"), seconds=PATIENCE)
    (name,) = pod_names(sample, "lasting")
    uid = (sample.get("v1", "Pod", name) or {})["metadata"]["uid"]
    sample.delete("v1", "Pod", name)

    def replaced() -> bool:
        pod = sample.get("v1", "Pod", name)
        return bool(pod and pod["metadata"]["uid"] != uid)

    wait_for("another pod in its place", replaced, seconds=PATIENCE)


def test_cibuild_builds_then_deploys_and_never_shows_its_credentials(sample: Observer) -> None:
    spec = {
        "repository": "https://git.example.com/a.git",
        "revision": "main",
        "image": "registry.example.com/a:1",
        "deploy": True,
        "credentialsSecret": "registry-login",
    }
    sample.create(resource("CIBuild", "build", spec))
    wait_for("the build to succeed", lambda: phase(sample, "build") == "Succeeded", seconds=PATIENCE)
    assert deployment(sample, "build")["spec"]["template"]["spec"]["containers"][0]["image"] == spec["image"]
    job = (sample.get(GROUP, "CIBuild", "build") or {})["status"]["jobName"]
    assert sample.get("batch/v1", "Job", job)


@pytest.fixture
def no_pods(sample: Observer) -> Iterator[None]:
    """Nobody gets a new pod; those of Jobs would end at once here."""
    name = "no-pods"
    metadata = {"name": name}
    sample.create(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": "0"}}}
    )
    yield
    sample.delete("v1", "ResourceQuota", name)


def test_cibuild_builds_again_what_failed_when_its_credentials_change(sample: Observer, no_pods: None) -> None:
    spec = {
        "repository": "https://git.example.com/b.git",
        "image": "registry.example.com/b:1",
        "credentialsSecret": "expired-login",
    }
    login = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "expired-login"}}
    sample.create({**login, "stringData": {"password": "old"}})
    sample.create(resource("CIBuild", "rotated", spec))
    job = wait_for("a Job", lambda: status_of(sample, "rotated").get("jobName"), seconds=PATIENCE, every=0.02)
    begun = wait_for("the Job to begin", lambda: begun_job(sample, job), seconds=PATIENCE, every=0.02)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    failed = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in ("FailureTarget", "Failed")]
    status = {"active": 0, "ready": 0, "terminating": 0, "failed": 1, "conditions": failed}
    sample.patch_status("batch/v1", "Job", job, status)
    wait_for("the build to fail", lambda: status_of(sample, "rotated").get("phase") == "Failed", seconds=PATIENCE)
    sample.patch("v1", "Secret", "expired-login", {"stringData": {"password": "new"}})

    def built_again() -> bool:
        found = sample.get("batch/v1", "Job", job)
        return bool(found and found["metadata"]["uid"] != begun["metadata"]["uid"])

    wait_for("another Job", built_again, seconds=PATIENCE)


@pytest.mark.usefixtures("operator")
def test_the_sample_operator_refuses_to_scale_below_what_is_protected_and_fills_in_a_port(
    control_plane: ControlPlane,
) -> None:
    observer = Observer(control_plane.kubeconfig, REVIEWED)

    def helloapp() -> Any:
        body = {
            "apiVersion": GROUP,
            "kind": "HelloApp",
            "metadata": {"name": "a"},
            "spec": {"image": "nginx:1.29"},
        }
        spec = observer.create(body)["spec"]
        if "port" not in spec:
            observer.delete(GROUP, "HelloApp", "a")
        return spec.get("port")

    assert wait_for("the webhook to be heeded", helloapp, seconds=20) == 80
    metadata = {"name": "a", "annotations": {PROTECTED: "2"}}
    podset = {"apiVersion": GROUP, "kind": "PodSet", "metadata": metadata, "spec": {"replicas": 3}}
    scale = partial(observer.scale, GROUP, "PodSet", "a")
    patch = partial(observer.patch, GROUP, "PodSet", "a")
    wait_for("a PodSet to be admitted", lambda: observer.create(podset), seconds=PATIENCE)
    wait_for("a scale to be admitted", lambda: scale(2) is None, seconds=PATIENCE)
    for replicas, change in ((1, partial(scale, 1)), (0, partial(patch, {"spec": {"replicas": 0}}))):
        assert f"spec.replicas {replicas} is less than 2, which the annotation {PROTECTED} protects" in refusal(
            change
        )
    unprotected = {"metadata": {"annotations": {PROTECTED: None}}}
    wait_for("a patch to be admitted", lambda: patch(unprotected), seconds=PATIENCE)
    wait_for("a scale to be admitted", lambda: scale(0) is None, seconds=PATIENCE)
    observer.close()


def refusal(change: Callable[[], object]) -> str:
    """The answer to a change; 429 is none, and asks to try again, where there was no time for a review."""

    def answer() -> str:
        with pytest.raises(ApiException) as caught:
            change()
        return "" if caught.value.status == 429 else str(caught.value.body)

    return wait_for("an answer", answer, seconds=PATIENCE)


@pytest.mark.usefixtures("operator")
def test_the_samples_are_checked_without_a_write(control_plane: ControlPlane, namespace: str) -> None:
    observer = Observer(control_plane.kubeconfig, namespace)
    observer.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-login"}})
    audit = Audit(control_plane, namespace)
    for kind, spec in SAMPLES.items():
        observer.create({"apiVersion": GROUP, "kind": kind, "metadata": {"name": "a", **CHECK}, "spec": spec})

    found = {kind: wait_for(kind, partial(drift, observer, kind), seconds=PATIENCE) for kind in SAMPLES}

    assert {kind: each["status"] for kind, each in found.items()} == dict.fromkeys(SAMPLES, "True"), found
    changes = [uri for uri in audit.changes() if not uri.startswith("create /apis/sample.example.com/")]
    assert all("/status?" in uri and "/apis/sample.example.com/" in uri for uri in changes)
    assert audit.dry_runs()
    observer.close()


def drift(observer: Observer, kind: str) -> Object | None:
    return condition(observer.get(GROUP, kind, "a"), "Drifted") or None


def begun_job(sample: Observer, name: str) -> Object | None:
    """The Job, once its controller has written when it began, which nobody may change from then on."""
    found = sample.get("batch/v1", "Job", name)
    return found if found and (found.get("status") or {}).get("startTime") else None


def status_of(sample: Observer, name: str) -> Object:
    return (sample.get(GROUP, "CIBuild", name) or {}).get("status") or {}


def resource(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}


def reached(sample: Observer, kind: str, name: str, wanted: str) -> Object:
    def look() -> Object | None:
        body = sample.get(GROUP, kind, name) or {}
        found = condition(body, wanted)
        current = found.get("observedGeneration") == body.get("metadata", {}).get("generation")
        return body if current and found.get("status") == "True" else None

    return wait_for(f"{kind} {name} to be {wanted}", look, seconds=PATIENCE)


def successful(sample: Observer, kind: str, name: str) -> Object:
    return reached(sample, kind, name, "Successful")


def deployment(sample: Observer, name: str) -> Object:
    return sample.get("apps/v1", "Deployment", name) or {}


def phase(sample: Observer, name: str) -> str:
    return str(((sample.get(GROUP, "CIBuild", name) or {}).get("status") or {}).get("phase"))


def pod_names(sample: Observer, name: str) -> list[str]:
    return list((sample.get(GROUP, "PodSet", name) or {})["status"]["podNames"])


def ready_pods(sample: Observer) -> list[Object]:
    pods = sample.list("v1", "Pod", label_selector="app.kubernetes.io/instance=set")
    alive = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    return [pod for pod in alive if condition(pod, "Ready").get("status") == "True"]


def ready_since(pod: Object) -> float:
    return datetime.fromisoformat(condition(pod, "Ready")["lastTransitionTime"]).timestamp()


def status_is(sample: Observer, replicas: int, name: str = "set") -> bool:
    status = (sample.get(GROUP, "PodSet", name) or {}).get("status") or {}
    return status.get("availableReplicas") == replicas and len(status.get("podNames", ())) == replicas
