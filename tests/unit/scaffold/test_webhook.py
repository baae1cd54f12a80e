"""`create webhook`: what it adds to the watch and to the role, and when it adds nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main

API = ["--group", "web", "--version", "v1alpha1", "--kind", "Website"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a kind; the working directory."""
    directory = tmp_path / "website-operator"
    assert main(["init", "--domain", "example.com", str(directory)]) == 0
    monkeypatch.chdir(directory)
    assert main(["create", "api", *API]) == 0
    return directory


def create(*words: str) -> int:
    return main(["create", "webhook", *words])


def admission(project: Path) -> Any:
    return yaml.safe_load((project / "watches.yaml").read_text())[0].get("admission")


def files(project: Path) -> dict[str, str]:
    return {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()}


def test_a_spec_is_held_against_the_argument_specs(project: Path) -> None:
    assert create(*API) == 0
    assert admission(project) == {"validate": True}


def test_tasks_of_the_role_refuse_and_set_defaults(project: Path) -> None:
    assert create(*API, "--tasks", "--defaulting") == 0
    assert admission(project) == {"validate": {"tasks": "admit"}, "default": {"tasks": "default"}}
    for name in ("admit", "default"):
        assert yaml.safe_load((project / f"roles/website/tasks/{name}.yml").read_text())


def test_validate_has_nothing_to_say_of_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(*API, "--tasks", "--defaulting")
    capsys.readouterr()
    assert main(["validate"]) == 0
    assert "admission" not in capsys.readouterr().out


def test_config_default_has_the_api_server_ask(project: Path) -> None:
    create(*API)
    made = (project / "config/webhook/manifests.yaml").read_text()
    (configuration,) = filter(None, yaml.safe_load_all(made))
    assert configuration["kind"] == "ValidatingWebhookConfiguration"
    assert (
        "../webhook" in yaml.safe_load((project / "config/default/kustomization.yaml").read_text())["components"]
    )


def test_it_goes_to_its_own_watch_of_several(project: Path) -> None:
    assert main(["create", "api", "--group", "shop", "--version", "v1", "--kind", "Basket"]) == 0
    assert create("--group", "shop", "--version", "v1", "--kind", "Basket") == 0
    watches = yaml.safe_load((project / "watches.yaml").read_text())
    assert [watch.get("admission") for watch in watches] == [None, {"validate": True}]


def test_there_is_one_for_a_kind(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(*API)
    before = files(project)
    assert create(*API, "--tasks") == 1
    assert "has `admission` for web.example.com/v1alpha1, kind Website already" in capsys.readouterr().err
    assert files(project) == before


def test_an_unknown_kind_is_told_from_those_that_are_there(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create("--group", "web", "--version", "v1", "--kind", "Website") == 1
    said = capsys.readouterr().err
    assert "does not run web.example.com/v1, kind Website, but web.example.com/v1alpha1 Website" in said


def test_without_the_mark_nothing_is_changed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "watches.yaml"
    file.write_text(file.read_text().replace("# +ansible-operator:watch web", "# web"))
    before = files(project)
    assert create(*API, "--tasks") == 1
    assert "has no line `# +ansible-operator:watch web.example.com/Website`" in capsys.readouterr().err
    assert files(project) == before


def test_a_role_that_the_project_has_not_gets_no_tasks(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = tmp_path / "collections/ansible_collections/my/things/roles"
    collection.mkdir(parents=True)
    (project / "roles/website").rename(collection / "website")
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(tmp_path / "collections"))
    file = project / "watches.yaml"
    file.write_text(file.read_text().replace("role: website", "role: my.things.website"))
    assert create(*API, "--tasks") == 1
    assert "can be those of a role in this project alone" in capsys.readouterr().err
    assert create(*API) == 0
