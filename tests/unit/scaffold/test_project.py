"""`init`: what a new project holds, and when none is made."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from runner.cli import main
from runner.generate.manifests import PORT
from runner.scaffold.project import Project, read_project
from runner.scaffold.templates import fill
from tests.fixtures.manifests import CONFIG

ROOT = CONFIG.parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    assert main(["init", "--domain", "example.com", str(tmp_path / "website-operator")]) == 0
    return tmp_path / "website-operator"


def test_it_is_named_after_its_directory(project: Path) -> None:
    assert read_project(project) == Project(project, "website-operator", "example.com")


def test_it_takes_another_name_and_no_domain(tmp_path: Path) -> None:
    assert main(["init", "--name", "shop", str(tmp_path)]) == 0
    assert read_project(tmp_path) == Project(tmp_path, "shop", "")


def test_what_it_wrote_and_what_to_do_next_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["init", str(tmp_path / "shop")])
    said = capsys.readouterr().out
    written = {
        str(file.relative_to(tmp_path / "shop")) for file in (tmp_path / "shop").rglob("*") if file.is_file()
    }
    assert {line.removeprefix("created  ") for line in said.splitlines() if line.startswith("created")} == written
    assert f"in {tmp_path}/shop, add a kind:\n  ansible-operator create api --group web.example.com" in said


def test_no_place_of_a_template_is_left_over(project: Path) -> None:
    assert [file for file in project.rglob("*") if file.is_file() and "<<" in file.read_text()] == []


def test_every_yaml_file_can_be_read(project: Path) -> None:
    files = [*project.rglob("*.yaml"), *project.rglob("*.yml"), project / "PROJECT"]
    assert len(files) > 25
    for file in files:
        list(yaml.safe_load_all(file.read_text()))


def test_its_mistakes_are_none(project: Path) -> None:
    assert main(["validate", str(project)]) == 0


def test_its_schema_of_watches_is_there_and_named(project: Path) -> None:
    assert json.loads((project / "watches.schema.json").read_text())["title"]
    assert "yaml-language-server: $schema=watches.schema.json" in (project / "watches.yaml").read_text()


def test_existing_files_are_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert main(["init", "--name", "shop", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "Error: README.md is there already, and nothing is overwritten\nNothing was changed.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_a_project_is_not_made_twice(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["init", str(project)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "is a project already, as its PROJECT says: add a kind with `ansible-operator create api`"
    )


def test_a_directory_whose_name_cannot_be_the_projects_asks_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "1")]) == 1
    assert "--name" in capsys.readouterr().err


def test_elsewhere_the_other_commands_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="or make one with `ansible-operator init`"):
        read_project(tmp_path)


@pytest.mark.parametrize(
    "path",
    [
        "config/manager/manager.yaml",
        "config/manager/metrics_service.yaml",
        "config/manager/namespace.yaml",
        "config/network-policy/allow_traffic.yaml",
        "config/network-policy/kustomization.yaml",
        "config/prometheus/monitor.yaml",
        "config/prometheus/rules.yaml",
        "config/rbac/leader_election_role.yaml",
        "config/rbac/metrics_auth_role.yaml",
        "config/rbac/metrics_reader_role.yaml",
        "config/rbac/role_binding.yaml",
        "config/rbac/service_account.yaml",
    ],
)
def test_its_manifests_are_those_of_the_sample_operator(path: str) -> None:
    made = ROOT / "runner/scaffold/templates/project" / path
    assert fill(made.read_text(), {"name": "sample-operator"}) == (ROOT / path).read_text()


def test_the_network_policy_opens_the_ports_of_webhooks_and_metrics_of_the_operators_pods_alone() -> None:
    (policy,) = filter(None, yaml.safe_load_all((CONFIG / "network-policy/allow_traffic.yaml").read_text()))
    (deployment,) = filter(None, yaml.safe_load_all((CONFIG / "manager/manager.yaml").read_text()))
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert policy["spec"]["podSelector"] == deployment["spec"]["selector"]
    opened = {rule["ports"][0]["port"]: rule.get("from") for rule in policy["spec"]["ingress"]}
    assert opened == {8443: [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}], PORT: None}
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "--metrics-bind-address=:8443" in container["args"]


@pytest.mark.parametrize("directory", [ROOT / "config", ROOT / "runner/scaffold/templates/project"])
def test_the_network_policy_is_offered_and_not_on(directory: Path) -> None:
    (found,) = directory.rglob("default/kustomization.yaml")
    assert "  # - ../network-policy\n" in found.read_text()


@pytest.mark.parametrize("directory", [ROOT / "config", ROOT / "runner/scaffold/templates/project/config"])
def test_the_tag_of_the_image_is_none_that_is_pulled_although_it_is_there(directory: Path) -> None:
    (image,) = yaml.safe_load((directory / "manager/kustomization.yaml").read_text())["images"]
    assert image["newTag"] not in ("", "latest")


def test_it_asks_for_the_collection_that_the_sample_operator_does(project: Path) -> None:
    def collections(file: Path) -> list[dict[str, str]]:
        return list(yaml.safe_load(file.read_text())["collections"])

    assert collections(project / "requirements.yml") == collections(ROOT / "requirements.yml")


def test_its_image_is_built_as_the_sample_operators(project: Path) -> None:
    def instructions(file: Path) -> list[str]:
        return [line for line in file.read_text().splitlines() if line and not line.startswith("#")]

    assert instructions(project / "Dockerfile") == instructions(ROOT / "samples/Dockerfile")


def test_all_that_its_image_copies_is_there_and_sent_to_the_builder(project: Path) -> None:
    lines = re.findall(r"^COPY (.*) \S+$", (project / "Dockerfile").read_text(), re.MULTILINE)
    copied = [name.rstrip("/") for line in lines for name in line.split()]
    assert len(copied) == 5
    sent = (project / ".dockerignore").read_text().splitlines()
    assert [name for name in copied if f"!{name}" not in sent or not (project / name).exists()] == []


def test_git_would_keep_every_directory_of_it(project: Path) -> None:
    assert [path for path in project.rglob("*") if path.is_dir() and not any(path.iterdir())] == []


def test_no_template_is_hidden_from_what_packs_the_wheel() -> None:
    templates = ROOT / "runner/scaffold/templates"
    assert [path for path in templates.rglob("*") if path.name.startswith(".")] == []
