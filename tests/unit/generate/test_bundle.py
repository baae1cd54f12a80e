"""`generate bundle`: a ClusterServiceVersion of the manifests and a base, in the layout registry+v1."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.generate import csv
from runner.generate.webhooks import definitions

ROOT = Path(__file__).parents[3]
FILE = "bundle/manifests/sample-operator.clusterserviceversion.yaml"
BASE = "config/manifests/bases/sample-operator.clusterserviceversion.yaml"
IMAGE = "registry.example.com/sample-operator:v1.2.3"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The sample operator's project."""
    for name in ("config", "crds", "roles", "playbooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("watches.yaml", "requirements.yml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def generate(project: Path, *flags: str) -> Any:
    """The ClusterServiceVersion."""
    assert main(["generate", "bundle", str(project), *flags]) == 0
    return yaml.safe_load((project / FILE).read_text())


def test_the_bundle_of_the_sample_operator_has_no_mistakes(project: Path, capsys: Capture) -> None:
    generate(project, "--version=1.2.3", f"--image={IMAGE}", "--channels=alpha,stable", "--default-channel=stable")
    capsys.readouterr()
    assert main(["validate", str(project / "bundle")]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings\n"


def test_every_kind_is_owned_with_what_its_runs_make(project: Path) -> None:
    made = generate(project)["spec"]["customresourcedefinitions"]["owned"]
    resources = {one["kind"]: [resource["kind"] for resource in one["resources"]] for one in made}
    assert sorted(resources) == ["CIBuild", "HelloApp", "Memcached", "PodSet"]
    assert resources["PodSet"] == ["Pod"]
    assert resources["CIBuild"] == ["Deployment", "Job"]


def test_samples_are_the_examples(project: Path) -> None:
    examples = json.loads(generate(project)["metadata"]["annotations"]["alm-examples"])
    assert {example["kind"] for example in examples} == {"CIBuild", "HelloApp", "Memcached", "PodSet"}


def test_the_deployment_and_its_rights_are_those_of_config(project: Path) -> None:
    install = generate(project, f"--image={IMAGE}")["spec"]["install"]["spec"]
    (deployment,) = install["deployments"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    assert deployment["name"] == account == "sample-operator-controller-manager"
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    granted = [rule["resources"] for rule in install["clusterPermissions"][0]["rules"]]
    assert ["tokenreviews"] in granted
    inside = [rule["resources"] for rule in install["permissions"][0]["rules"]]
    assert inside == [["secrets"], ["secrets"], ["leases"]]


def test_what_is_beside_goes_into_files_of_its_own(project: Path) -> None:
    generate(project)
    found = {path.name for path in (project / "bundle/manifests").iterdir()}
    assert found >= {
        "sample.example.com_podsets.yaml",
        "sample-operator-controller-manager-metrics_v1_service.yaml",
        "sample-operator-metrics-reader_rbac.authorization.k8s.io_v1_clusterrole.yaml",
    }
    assert not any("binding" in name or "serviceaccount" in name for name in found)


def test_the_base_is_made_once_and_kept(project: Path, capsys: Capture) -> None:
    (project / BASE).unlink()
    generate(project)
    assert BASE in capsys.readouterr().out.split()
    (project / BASE).write_text((project / BASE).read_text().replace("Provider Name", "Ann"))
    assert generate(project)["spec"]["provider"]["name"] == "Ann"
    assert BASE not in capsys.readouterr().out.split()


def test_what_the_base_says_of_a_kind_goes_first(project: Path) -> None:
    base = yaml.safe_load((project / BASE).read_text())
    written = {
        "kind": "PodSet",
        "name": "podsets.sample.example.com",
        "version": "v1alpha1",
        "displayName": "Pods!",
    }
    base["spec"]["customresourcedefinitions"] = {"owned": [written], "required": [{"kind": "Other"}]}
    (project / BASE).write_text(yaml.safe_dump(base))
    made = generate(project)["spec"]["customresourcedefinitions"]
    assert [one["displayName"] for one in made["owned"] if one["kind"] == "PodSet"] == ["Pods!"]
    assert made["required"] == [{"kind": "Other"}]


def test_the_next_bundle_keeps_version_and_channels_unless_told_otherwise(project: Path) -> None:
    assert generate(project)["spec"]["version"] == "0.0.1"
    generate(project, "--version=1.0.0", "--channels=stable,fast", "--default-channel=fast")
    assert generate(project)["metadata"]["name"] == "sample-operator.v1.0.0"
    text = (project / "bundle/metadata/annotations.yaml").read_text()
    assert "bundle.channels.v1: stable,fast\n" in text
    assert "bundle.channel.default.v1: fast\n" in text


def test_a_check_of_a_bundle_compares_all_of_it(project: Path) -> None:
    generate(project, "--version=1.0.0")
    assert main(["generate", "bundle", str(project), "--check"]) == 0
    file = project / "crds/sample.example.com_podsets.yaml"
    file.write_text(file.read_text().replace("How many pods to keep", "Pods"))
    assert main(["generate", "bundle", str(project), "--check"]) == 1


def test_a_project_without_manifests_is_told_where_they_come_from(tmp_path: Path, capsys: Capture) -> None:
    assert main(["generate", "bundle", str(tmp_path)]) == 1
    assert "ansible-operator init" in capsys.readouterr().err


def test_a_file_that_is_left_over_is_told(project: Path, capsys: Capture) -> None:
    (project / "bundle/manifests").mkdir(parents=True)
    (project / "bundle/manifests/old.yaml").touch()
    generate(project)
    assert "old.yaml is not of this bundle any more" in capsys.readouterr().err


def deployment(**env: str) -> dict[str, Any]:
    container = {
        "name": "manager",
        "ports": [{"name": "webhooks", "containerPort": 9443}],
        "env": [{"name": name, "value": value} for name, value in env.items()],
    }
    pod = {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [container]}}
    return {"kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"template": pod}}


SERVICE = {
    "kind": "Service",
    "metadata": {"name": "hooks"},
    "spec": {"selector": {"app": "shop"}, "ports": [{"port": 443, "targetPort": "webhooks"}]},
}


def test_a_webhook_is_one_of_its_deployment() -> None:
    webhook = {
        "name": "v.example.com",
        "clientConfig": {"service": {"name": "hooks", "namespace": "x", "path": "/validate"}, "caBundle": "x"},
        "rules": [],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "c"}, "webhooks": [webhook]}
    assert definitions([configuration, SERVICE, deployment()]) == [
        {
            "admissionReviewVersions": ["v1"],
            "containerPort": 443,
            "deploymentName": "shop",
            "generateName": "v.example.com",
            "rules": [],
            "sideEffects": "None",
            "targetPort": 9443,
            "type": "ValidatingAdmissionWebhook",
            "webhookPath": "/validate",
        }
    ]


def test_conversions_are_one_webhook_for_all_their_crds() -> None:
    def crd(name: str) -> dict[str, Any]:
        client = {"service": {"name": "hooks", "path": "/convert"}}
        spec = {"group": "example.com", "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}}}
        return {"kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": spec}

    (made,) = definitions([crd("b.example.com"), crd("a.example.com"), SERVICE, deployment()])
    assert (made["type"], made["deploymentName"]) == ("ConversionWebhook", "shop")
    assert made["conversionCRDs"] == ["a.example.com", "b.example.com"]


@pytest.mark.parametrize(
    ("supported", "env"), [(False, {"WATCH_NAMESPACE": ""}), (True, {}), (True, {"WATCH_NAMESPACE": "a"})]
)
def test_olm_says_which_namespaces_are_watched(supported: bool, env: dict[str, str]) -> None:
    base = csv.base("shop")
    base["spec"]["installModes"][0]["supported"] = supported
    made = csv.made(base, "shop", "1.0.0", csv.Manifests([deployment(**env)], [], {}), "test")
    (container,) = made["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [
        {
            "name": "WATCH_NAMESPACE",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
        }
    ]


def test_an_operator_of_all_namespaces_is_not_told_any() -> None:
    made = csv.made(csv.base("shop"), "shop", "1.0.0", csv.Manifests([deployment()], [], {}), "test")
    (container,) = made["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"]
    assert container["env"] == []
