"""The sample operator's CRDs, as `kubectl` shows them: the role's words, short names, categories, columns."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bench.observer import Observer, condition, wait_for
from runner.dev.controlplane import ControlPlane
from runner.generate import crds
from tests.fixtures.manifests import kubectl
from tests.fixtures.operators import PATIENCE

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]
CRDS = sorted((ROOT / "crds").glob("*.yaml"))
API = "apiextensions.k8s.io/v1"
KIND = "CustomResourceDefinition"


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> Iterator[Observer]:
    """A view of a cluster that serves the sample kinds."""
    observer = Observer(control_plane.kubeconfig)
    run(control_plane, "apply", "--validate=strict", *(f"--filename={path}" for path in CRDS))
    for path in CRDS:
        established(observer, path.stem.split("_")[1] + ".sample.example.com")
    yield observer
    observer.close()


def established(observer: Observer, name: str) -> None:
    wait_for(
        f"{name} to be served",
        lambda: condition(observer.get(API, KIND, name), "Established").get("status") == "True",
        seconds=PATIENCE,
    )


def run(plane: ControlPlane, *arguments: str) -> str:
    command = [str(kubectl()), f"--kubeconfig={plane.kubeconfig}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("path", CRDS, ids=lambda path: path.stem)
def test_its_schema_is_structural(path: Path, served: Observer) -> None:
    crd = served.get(API, KIND, yaml.safe_load(path.read_text())["metadata"]["name"])
    assert condition(crd, "NonStructuralSchema") == {}


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("memcached.spec.size", "How many pods to run"),
        ("helloapp", "for a HelloApp"),
        ("cibuild.spec.credentialsSecret", "logs in to the registry"),
        ("podset.status.podNames", "The names of the pods, by index"),
    ],
)
def test_explain_shows_the_roles_words(
    field: str, words: str, served: Observer, control_plane: ControlPlane
) -> None:
    wait_for(
        f"{field} to be explained",
        lambda: words in " ".join(explained(control_plane, field).split()),
        seconds=PATIENCE,  # the API server publishes a new schema a moment later
    )


def explained(plane: ControlPlane, field: str) -> str:
    command = [str(kubectl()), f"--kubeconfig={plane.kubeconfig}", "explain", field]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def test_all_sample_kinds_have_a_short_name_and_a_category(served: Observer, control_plane: ControlPlane) -> None:
    listed = run(control_plane, "api-resources", "--categories=samples", "--no-headers")
    assert [line.split()[:2] for line in sorted(listed.splitlines())] == [
        ["cibuilds", "cib"],
        ["helloapps", "ha"],
        ["memcacheds", "mc"],
        ["podsets", "ps"],
    ]


def test_a_list_tells_the_size_and_how_the_last_run_went(
    served: Observer, control_plane: ControlPlane, namespace: str
) -> None:
    api = "sample.example.com/v1alpha1"
    body = {"apiVersion": api, "kind": "Memcached", "metadata": {"name": "cache"}, "spec": {}}
    served.apply(body, namespace=namespace)
    running = {"type": "Running", "status": "True", "reason": "Running"}
    plane = Observer(control_plane.kubeconfig, namespace)
    plane.patch_status(api, "Memcached", "cache", {"conditions": [running]})
    plane.close()
    header, line = run(control_plane, "get", "mc", "-n", namespace).splitlines()
    assert header.split() == ["NAME", "SIZE", "RUNNING", "SUCCESSFUL", "AGE"]
    assert line.split()[:3] == ["cache", "1", "True"]


def test_a_crd_of_two_versions_is_accepted(control_plane: ControlPlane, tmp_path: Path) -> None:
    specs = {"main": {"options": {"replicas": {"type": "int", "default": 1}}}}
    watch = {
        "group": "two.example.com",
        "version": "v1",
        "kind": "Web",
        "role": "web",
        "versions": {"v1alpha1": {"to": {"size": "spec.replicas"}, "from": {"replicas": "spec.size"}}},
    }
    (tmp_path / "roles/web/meta").mkdir(parents=True)
    (tmp_path / "roles/web/meta/argument_specs.yml").write_text(yaml.safe_dump({"argument_specs": specs}))
    (tmp_path / "watches.yaml").write_text(yaml.safe_dump([watch]))
    ((path, text),) = crds.files(tmp_path).items()
    (file := tmp_path / path.name).write_text(text)
    said = run(control_plane, "apply", "--validate=strict", "--dry-run=server", f"--filename={file}")
    assert said == "customresourcedefinition.apiextensions.k8s.io/webs.two.example.com created (server dry run)\n"
