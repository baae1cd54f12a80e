"""`create api`: what it adds to a project, and what it leaves alone."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main

API = ["--group", "web", "--version", "v1alpha1", "--kind", "Website"]
SHOP = ["--group", "shop", "--version", "v1beta1", "--kind", "Basket"]
CRD = Path("crds/web.example.com_websites.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new one, which is the working directory."""
    directory = tmp_path / "website-operator"
    assert main(["init", "--domain", "example.com", str(directory)]) == 0
    monkeypatch.chdir(directory)
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(tmp_path / "collections"))
    return directory


def create(*words: str) -> int:
    return main(["create", "api", *words])


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def files(project: Path) -> dict[str, str]:
    return {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()}


def role(directory: Path, **option: Any) -> Path:
    """A role that takes one option, `size`."""
    for name in ("tasks", "meta"):
        (directory / name).mkdir(parents=True)
    (directory / "tasks/main.yml").write_text("[]\n")
    specs = {"argument_specs": {"main": {"options": {"size": option}}}}
    (directory / "meta/argument_specs.yml").write_text(yaml.safe_dump(specs))
    return directory


def test_the_kind_is_watched_with_a_role_of_its_own(project: Path) -> None:
    assert create(*API) == 0
    (watch,) = loaded(project / "watches.yaml")
    assert watch == {
        "group": "web.example.com",
        "version": "v1alpha1",
        "kind": "Website",
        "role": "website",
        "markUnsafe": True,
    }
    assert (project / "roles/website/tasks/main.yml").is_file()


def test_the_crd_says_what_the_role_does(project: Path) -> None:
    create(*API)
    crd = loaded(project / CRD)
    (version,) = crd["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    options = loaded(project / "roles/website/meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    assert {name: field["description"] for name, field in spec["properties"].items()} == {
        name: option["description"] for name, option in options.items()
    }


def test_the_sample_has_what_the_crd_has_defaults_for(project: Path) -> None:
    create(*API)
    assert loaded(project / "config/samples/website.yaml") == {
        "apiVersion": "web.example.com/v1alpha1",
        "kind": "Website",
        "metadata": {"name": "website-sample"},
        "spec": {"greeting": "Hello", "replicas": 1},
    }


def test_kustomizations_name_the_new_files(project: Path) -> None:
    create(*API)
    assert loaded(project / "crds/Kustomization")["resources"] == ["web.example.com_websites.yaml"]
    assert loaded(project / "config/samples/kustomization.yaml")["resources"] == ["website.yaml"]
    assert "../crd" in loaded(project / "config/default/kustomization.yaml")["resources"]
    roles = loaded(project / "config/rbac/kustomization.yaml")["resources"]
    assert roles[-2:] == ["website_editor_role.yaml", "website_viewer_role.yaml"]


def test_the_operator_gets_the_rights_that_the_role_needs(project: Path) -> None:
    create(*API)
    rules = loaded(project / "config/rbac/role.yaml")["rules"]
    assert {name for rule in rules for name in rule["resources"]} >= {
        "websites/status",
        "configmaps",
        "deployments",
    }


@pytest.mark.parametrize("words", [[], ["--playbook"], ["--cluster-scoped"], ["--playbook", "--cluster-scoped"]])
def test_validate_has_nothing_to_say_of_it(
    words: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create(*API, *words) == 0
    capsys.readouterr()
    assert main(["validate"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "collection-not-installed" not in line]
    assert said in (["0 errors, 0 warnings"], ["0 errors, 1 warning"])


def test_the_generated_crd_is_as_generate_would_make_it(project: Path) -> None:
    create(*API, "--cluster-scoped")
    assert main(["generate", "crds", "--check"]) == 0


def test_a_second_kind_only_adds_lines(project: Path) -> None:
    create(*API)
    for path in ("watches.yaml", "crds/Kustomization", "config/rbac/kustomization.yaml"):
        (project / path).write_text(
            "# mine\n" + (project / path).read_text().replace("  # +", "  # mine, too\n  # +")
        )
    (project / "roles/website/tasks/main.yml").write_text("[]  # mine\n")
    before = files(project)
    assert create(*SHOP) == 0
    after = files(project)
    generated = "config/rbac/role.yaml"
    for path, text in before.items():
        if path != generated:
            kept = iter(after[path].splitlines())
            assert all(line in kept for line in text.splitlines()), path
    assert [watch["kind"] for watch in loaded(project / "watches.yaml")] == ["Website", "Basket"]


def test_a_playbook_runs_the_role(project: Path) -> None:
    create(*API, "--playbook")
    assert loaded(project / "watches.yaml")[0]["playbook"] == "playbooks/website.yml"
    assert loaded(project / "playbooks/website.yml")[0]["roles"] == ["website"]


def test_objects_of_a_cluster_scoped_kind_say_where_theirs_go(project: Path) -> None:
    create(*API, "--cluster-scoped")
    assert loaded(project / CRD)["spec"]["scope"] == "Cluster"
    assert loaded(project / "config/samples/website.yaml")["spec"]["targetNamespace"] == "default"


def test_a_role_from_elsewhere_is_copied(project: Path, tmp_path: Path) -> None:
    source = role(tmp_path / "elsewhere/cache", type="int", required=True)
    assert create(*API, "--from-role", str(source)) == 0
    assert files(project / "roles/cache") == files(source)
    assert loaded(project / "watches.yaml")[0]["role"] == "cache"
    assert loaded(project / "config/samples/website.yaml")["spec"] == {"size": 1}


def test_a_role_of_the_project_is_taken_where_it_is(project: Path) -> None:
    role(project / "roles/cache", type="str", choices=["small", "large"], required=True)
    before = files(project / "roles")
    assert create(*API, "--from-role", "roles/cache") == 0
    assert files(project / "roles") == before
    assert loaded(project / "config/samples/website.yaml")["spec"] == {"size": "small"}


def test_a_role_of_a_collection_is_named_and_required(project: Path, tmp_path: Path) -> None:
    role(tmp_path / "collections/ansible_collections/my/things/roles/cache", type="int", default=3)
    assert create(*API, "--from-role", "my.things.cache") == 0
    assert loaded(project / "watches.yaml")[0]["role"] == "my.things.cache"
    assert {"name": "my.things"} in loaded(project / "requirements.yml")["collections"]
    assert not (project / "roles/cache").exists()
    assert loaded(project / "config/samples/website.yaml")["spec"] == {"size": 3}


def test_a_collection_that_is_required_is_pinned_with_those_that_it_needs(project: Path, tmp_path: Path) -> None:
    collections = tmp_path / "collections/ansible_collections"
    role(collections / "my/things/roles/cache", type="int", default=3)
    (collections / "my/base").mkdir()
    for name, needs in (("my/things", {"my.base": "*"}), ("my/base", {})):
        (collections / name / "MANIFEST.json").write_text(json.dumps({"collection_info": {"dependencies": needs}}))
    before = (project / "requirements.sha256").read_text().splitlines()
    assert create(*API, "--from-role", "my.things.cache") == 0
    expected = [
        f"{sha256((collections / name / 'MANIFEST.json').read_bytes()).hexdigest()}  {name}/MANIFEST.json"
        for name in ("my/base", "my/things")
    ]
    assert (project / "requirements.sha256").read_text().splitlines() == [*before, *expected]


def test_a_project_that_pins_no_collections_need_not(project: Path, tmp_path: Path) -> None:
    (project / "requirements.sha256").unlink()
    role(tmp_path / "collections/ansible_collections/my/things/roles/cache", type="int", default=3)
    assert create(*API, "--from-role", "my.things.cache") == 0
    assert not (project / "requirements.sha256").exists()


def test_a_role_that_a_person_has_edited_stays(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = project / "config/rbac/role.yaml"
    own.write_text("# mine\n" + own.read_text())
    before = own.read_text()
    create(*API)
    assert own.read_text() == before
    assert "config/rbac/role.yaml is yours, and left as it is" in capsys.readouterr().err


def test_what_to_do_next_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    create(*API)
    said = capsys.readouterr().out
    assert "changed  watches.yaml\n" in said
    assert "ansible-operator dev run\n" in said
    assert "apply -f config/samples/website.yaml\n" in said


def remove_mark(project: Path) -> None:
    file = project / "config/samples/kustomization.yaml"
    file.write_text(file.read_text().replace("# +ansible-operator:samples", "# nothing"))


def occupy(project: Path) -> None:
    (project / "config/samples/website.yaml").write_text("mine")


def make_role(project: Path) -> None:
    role(project / "roles/website", type="int")


def break_watches(project: Path) -> None:
    (project / "watches.yaml").write_text("- version: v1\n# +ansible-operator:watches\n")


def hide(project: Path) -> None:
    shutil.rmtree(project / "config/rbac")


@pytest.mark.parametrize(
    ("prepare", "words", "said"),
    [
        (
            remove_mark,
            [],
            "config/samples/kustomization.yaml has no line `# +ansible-operator:samples`: put it where",
        ),
        (occupy, [], "config/samples/website.yaml is there already, and nothing is overwritten"),
        (make_role, [], "roles/website is there already: to run it for Website, add --from-role roles/website"),
        (break_watches, [], "watches.yaml:1: "),
        (hide, [], "config/rbac/kustomization.yaml is not there: `ansible-operator init` makes it"),
        (None, ["--from-role", "nowhere"], "--from-role nowhere: there is no such directory"),
        (None, ["--from-role", "config"], "is not a role: it has no tasks/main.yml"),
        (None, ["--from-role", "my.own.role"], "run `ansible-galaxy collection install my.own`"),
    ],
)
def test_what_is_in_the_way_is_said_and_nothing_is_changed(
    prepare: Any, words: list[str], said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if prepare:
        prepare(project)
    before = files(project)
    assert create(*API, *words) == 1
    assert said in capsys.readouterr().err
    assert files(project) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (API, "watches.yaml has web.example.com/v1alpha1, kind Website already"),
        (["--group", "web", "--version", "v1", "--kind", "Website"], "`versions: {v1: {}}`"),
        (["--group", "shop", "--version", "v1", "--kind", "Website"], "of the group web.example.com"),
    ],
)
def test_a_kind_that_is_there_is_explained_and_left(
    words: list[str], said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create(*API)
    before = files(project)
    assert create(*words) == 1
    assert said in capsys.readouterr().err
    assert files(project) == before


def test_a_role_whose_options_cannot_be_fields_changes_nothing(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = role(tmp_path / "cache", type="nonsense")
    before = files(project)
    assert create(*API, "--from-role", str(source)) == 1
    assert "argument_specs.yml:" in capsys.readouterr().err
    assert files(project) == before


def test_outside_of_a_project_it_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert create(*API) == 1
    assert "there is no PROJECT" in capsys.readouterr().err
