"""`generate manifests`: what of config/ follows from watches, files and CRDs; what people wrote stays as it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.generate.kustomize import built

ROOT = Path(__file__).parents[3]
ADMISSION = """\
  admission: {{validate: {{tasks: main}}}}
  versions:
    {version}: {{to: {{size: spec.size}}, from: {{size: spec.size}}}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The sample operator's project, of which no watch asks for webhooks."""
    for name in ("config", "crds", "roles", "playbooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.rmtree(tmp_path / "config/webhook", ignore_errors=True)
    default = tmp_path / "config/default/kustomization.yaml"
    default.write_text(default.read_text().replace("components:\n  - ../webhook\n", ""))
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    for watch in watches:
        watch.pop("admission", None)
        watch.pop("versions", None)
    (tmp_path / "watches.yaml").write_text(yaml.safe_dump(watches, sort_keys=False))
    return tmp_path


def reviewed(project: Path, version: str = "v1beta1") -> None:
    """Have the first watch, that of Memcached, ask for webhooks."""
    file = project / "watches.yaml"
    first, role, rest = file.read_text().partition("  role: memcached\n")
    file.write_text(first + role + ADMISSION.format(version=version) + rest)


def generate(project: Path, *flags: str) -> int:
    return main(["generate", "manifests", str(project), *flags])


def whole(project: Path) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in built(project / "config/default")}


def test_the_manifests_of_the_sample_operator_are_what_the_command_makes() -> None:
    assert generate(ROOT, "--check") == 0, "run `ansible-operator generate manifests`"


def test_a_new_crd_and_a_new_sample_are_listed_and_comments_stay(project: Path) -> None:
    for directory in ("crds", "crds/samples"):
        file = project / directory / "new.yaml"
        file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n")
    generate(project)
    text = (project / "crds/Kustomization").read_text()
    assert text.startswith("# Without an extension")
    assert text.count("  - new.yaml\n") == 1
    assert "  - new.yaml\n" in (project / "crds/samples/Kustomization").read_text()
    assert generate(project, "--check") == 0


def test_a_list_that_is_empty_or_missing_gets_its_entries(project: Path) -> None:
    (project / "crds/Kustomization").write_text("resources: []  # none yet\n# last\n")
    (project / "crds/samples/Kustomization").write_text("kind: Kustomization\n")
    generate(project)
    assert (
        (project / "crds/Kustomization")
        .read_text()
        .startswith("resources:\n  - sample.example.com_cibuilds.yaml\n")
    )
    listed = yaml.safe_load((project / "crds/samples/Kustomization").read_text())["resources"]
    assert "podset.yaml" in listed


def test_a_list_in_one_line_is_left_to_its_author(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "crds/Kustomization").write_text("resources: [a.yaml]\n")
    assert generate(project) == 1
    assert "resources is written in one line" in capsys.readouterr().err


def test_without_webhooks_there_is_no_component_for_them(project: Path) -> None:
    generate(project)
    assert not (project / "config/webhook").exists()


def test_webhooks_are_a_component_of_the_whole(project: Path) -> None:
    reviewed(project)
    generate(project)
    made = whole(project)
    webhook = made["ValidatingWebhookConfiguration", "sample-operator-webhooks"]["webhooks"][0]
    service = made["Service", webhook["clientConfig"]["service"]["name"]]
    deployment = made["Deployment", "sample-operator-controller-manager"]["spec"]["template"]
    ports = deployment["spec"]["containers"][0]["ports"]
    assert service["spec"]["ports"][0]["targetPort"] in [port["containerPort"] for port in ports]
    assert service["spec"]["selector"].items() <= deployment["metadata"]["labels"].items()


def test_the_crd_asks_the_same_service_for_conversions(project: Path) -> None:
    reviewed(project)
    generate(project)
    crd = whole(project)["CustomResourceDefinition", "memcacheds.sample.example.com"]
    client = crd["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client["service"]["name"] == "sample-operator-webhook-service"


def test_a_version_that_takes_a_conversion_is_served_where_there_is_one(project: Path) -> None:
    def served() -> list[bool]:
        crd = whole(project)["CustomResourceDefinition", "memcacheds.sample.example.com"]
        return [version["served"] for version in crd["spec"]["versions"]]

    assert served() == [True, False]
    reviewed(project, "v1")
    generate(project)
    assert served() == [True, True]


def test_the_operator_may_change_its_own_webhook_configurations_alone(project: Path) -> None:
    reviewed(project)
    generate(project)
    made = whole(project)
    changed = made["ClusterRole", "sample-operator-webhook-authority-role"]["rules"][1]
    (name,) = changed["resourceNames"]
    assert (changed["verbs"], ("ValidatingWebhookConfiguration", name) in made) == (["patch"], True)


def test_the_certificate_may_be_kept_and_its_authority_be_told(project: Path) -> None:
    reviewed(project)
    generate(project)
    made = whole(project)
    assert made["Role", "sample-operator-webhook-certificate-role"]["rules"][0]["resources"] == ["secrets"]
    rules = made["ClusterRole", "sample-operator-webhook-authority-role"]["rules"]
    assert rules[2]["resourceNames"] == ["memcacheds.sample.example.com"]


def test_a_bundle_has_the_webhooks_and_no_rights_for_certificates(project: Path) -> None:
    reviewed(project)
    generate(project)
    assert main(["generate", "bundle", str(project)]) == 0
    file = project / "bundle/manifests/sample-operator.clusterserviceversion.yaml"
    spec = yaml.safe_load(file.read_text())["spec"]
    assert [one["type"] for one in spec["webhookdefinitions"]] == [
        "ValidatingAdmissionWebhook",
        "ConversionWebhook",
    ]
    # OLM knows no conditions: with Fail, what is being deleted would wait for the operator.
    assert spec["webhookdefinitions"][0]["failurePolicy"] == "Ignore"
    rules = spec["install"]["spec"]["clusterPermissions"][0]["rules"]
    assert not any("validatingwebhookconfigurations" in rule["resources"] for rule in rules)
    assert main(["validate", str(project / "bundle")]) == 0


def test_a_project_without_a_deployment_is_told_where_it_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(tmp_path) == 1
    assert "ansible-operator init" in capsys.readouterr().err


def test_the_operator_may_keep_the_key_of_marks_where_a_watch_prunes(project: Path) -> None:
    (project / "config/rbac/prune_key_role.yaml").unlink()
    assert generate(project) == 0
    role = whole(project)["Role", "sample-operator-prune-key-role"]
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["sample-operator-prune-key"],
            "verbs": ["get"],
        },
    ]


def test_an_operator_that_is_given_the_key_as_a_file_needs_no_secret(project: Path) -> None:
    (project / "config/rbac/prune_key_role.yaml").unlink()
    manager = project / "config/manager/manager.yaml"
    manager.write_text(
        manager.read_text().replace("            - --leader-elect\n", "            - --prune-key-file=/key\n")
    )
    generate(project)
    assert not (project / "config/rbac/prune_key_role.yaml").exists()
