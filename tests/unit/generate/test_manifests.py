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
    for name in ("webhook", "certmanager", "own-certificate"):
        shutil.rmtree(tmp_path / "config" / name)
    default = tmp_path / "config/default/kustomization.yaml"
    default.write_text(default.read_text().replace("components:\n  - ../webhook\n  - ../certmanager\n", ""))
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


def own_certificate(project: Path) -> None:
    """Have config/default take the operator's own certificate in place of cert-manager's."""
    file = project / "config/default/kustomization.yaml"
    file.write_text(file.read_text().replace("../certmanager", "../own-certificate"))


def pod(objects: dict[tuple[str, str], Any]) -> Any:
    return objects["Deployment", "sample-operator-controller-manager"]["spec"]["template"]["spec"]


def test_by_default_the_certificate_is_mounted_and_no_right_to_change_webhooks_is_given(project: Path) -> None:
    reviewed(project)
    generate(project)
    made = whole(project)
    (container,) = pod(made)["containers"]
    (volume,) = (one for one in pod(made)["volumes"] if "secret" in one)
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == volume["name"])
    assert (mount["mountPath"], mount["readOnly"]) == ("/tmp/k8s-webhook-server/serving-certs", True)
    assert volume["secret"]["secretName"] == "webhook-server-cert"
    assert not any(argument.startswith("--webhook-cert-secret") for argument in container["args"])
    rules = [rule for (kind, _), one in made.items() if kind.endswith("Role") for rule in one["rules"]]
    assert not any("admissionregistration.k8s.io" in rule.get("apiGroups", ()) for rule in rules)
    assert ("Role", "sample-operator-webhook-certificate-role") not in made


def test_cert_manager_is_asked_for_the_mounted_certificate_of_the_service(project: Path) -> None:
    reviewed(project)
    generate(project)
    made = whole(project)
    ((_, name), certificate) = next((key, one) for key, one in made.items() if key[0] == "Certificate")
    assert certificate["spec"]["secretName"] == "webhook-server-cert"
    assert "sample-operator-webhook-service.sample-operator-system.svc" in certificate["spec"]["dnsNames"]
    assert ("Service", "sample-operator-webhook-service") in made
    assert ("Issuer", certificate["spec"]["issuerRef"]["name"]) in made
    injected = [
        one["metadata"].get("annotations", {}).get("cert-manager.io/inject-ca-from")
        for one in (
            made["ValidatingWebhookConfiguration", "sample-operator-webhooks"],
            made["CustomResourceDefinition", "memcacheds.sample.example.com"],
        )
    ]
    assert injected == [f"sample-operator-system/{name}"] * 2


def test_the_directory_of_a_flag_is_where_the_certificate_is_mounted(project: Path) -> None:
    manager = project / "config/manager/manager.yaml"
    leads = "            - --leader-elect\n"
    manager.write_text(manager.read_text().replace(leads, f"{leads}            - --webhook-cert-path=/certs\n"))
    reviewed(project)
    generate(project)
    assert "/certs" in [one["mountPath"] for one in pod(whole(project))["containers"][0]["volumeMounts"]]


def test_an_own_certificate_is_opted_in_with_its_secret_its_rights_and_no_mount(project: Path) -> None:
    reviewed(project)
    generate(project)
    own_certificate(project)
    made = whole(project)
    (container,) = pod(made)["containers"]
    assert "--webhook-cert-secret=sample-operator-webhook-cert" in container["args"]
    assert not any("secret" in one for one in pod(made)["volumes"])
    assert [one["name"] for one in container["volumeMounts"]] == ["tmp", "ansible-tmp"]
    secrets = made["Role", "sample-operator-webhook-certificate-role"]["rules"]
    assert [(rule.get("resourceNames"), rule["verbs"]) for rule in secrets] == [
        (None, ["create"]),
        (["sample-operator-webhook-cert"], ["get", "update"]),
    ]
    assert generate(project, "--check") == 0


def test_an_own_certificate_takes_the_right_to_change_its_own_webhook_configurations_alone(project: Path) -> None:
    reviewed(project)
    generate(project)
    own_certificate(project)
    made = whole(project)
    _, changed, converted = made["ClusterRole", "sample-operator-webhook-authority-role"]["rules"]
    (name,) = changed["resourceNames"]
    assert (changed["verbs"], ("ValidatingWebhookConfiguration", name) in made) == (["patch"], True)
    assert converted["resourceNames"] == ["memcacheds.sample.example.com"]


def test_whoever_mounts_a_certificate_of_their_own_is_not_given_cert_manager_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviewed(project)
    generate(project)
    file = project / "config/default/kustomization.yaml"
    file.write_text(file.read_text().replace("  - ../certmanager\n", ""))
    capsys.readouterr()
    assert generate(project, "--check") == 0
    assert "make the Secret webhook-server-cert yourself" in capsys.readouterr().err
    assert not any(kind == "Certificate" for kind, _ in whole(project))


def test_a_project_of_an_older_layout_is_told_what_to_choose_and_what_to_remove(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviewed(project)
    file = project / "config/default/kustomization.yaml"
    file.write_text(file.read_text() + "components:\n  - ../webhook\n")
    (project / "config/webhook").mkdir()
    (project / "config/webhook/role.yaml").write_text("# Made by `ansible-operator generate manifests`.\n")
    generate(project)
    told = capsys.readouterr().err
    assert "config/webhook/role.yaml is no longer used: remove it" in told
    assert "list ../certmanager or ../own-certificate" in told


@pytest.mark.parametrize("own", [False, True], ids=["cert-manager", "own certificate"])
def test_a_bundle_has_the_webhooks_and_nothing_that_makes_certificates(project: Path, own: bool) -> None:
    reviewed(project)
    generate(project)
    if own:
        own_certificate(project)
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
    (deployment,) = spec["install"]["spec"]["deployments"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert not any("secret" in one for one in deployment["spec"]["template"]["spec"]["volumes"])
    assert [one["name"] for one in container["volumeMounts"]] == ["tmp", "ansible-tmp"]
    assert not any(argument.startswith("--webhook-cert-secret") for argument in container["args"])
    assert "cert-manager" not in "".join(path.read_text() for path in (project / "bundle/manifests").iterdir())
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
