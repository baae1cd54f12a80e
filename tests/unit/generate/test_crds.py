"""`generate crds` makes a CRD of what a role says of its variables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.errors import WatchesError
from runner.generate import crds

ROOT = Path(__file__).parents[3]
FILE = Path("crds/app.example.com_webs.yaml")
WATCH = {"group": "app.example.com", "version": "v1", "kind": "Web", "role": "web"}
Say = Callable[..., Path]


@pytest.fixture
def say(tmp_path: Path) -> Say:
    """A project whose one role has these files, and whose watch says more."""

    def make(specs: object = None, *, defaults: object = None, **watch: object) -> Path:
        role = tmp_path / "roles/web"
        files = {
            tmp_path / "watches.yaml": [{**WATCH, **watch}],
            role / "tasks/main.yml": [],
            role / "meta/argument_specs.yml": {"argument_specs": {"main": {"options": specs}}} if specs else None,
            role / "defaults/main.yml": defaults,
        }
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                path.write_text(yaml.safe_dump(content))
        return tmp_path

    return make


def made(project: Path) -> dict[str, Any]:
    """The one CRD of the project."""
    (text,) = crds.files(project).values()
    crd: dict[str, Any] = yaml.safe_load(text)
    return crd


def spec(project: Path) -> dict[str, Any]:
    root = made(project)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found: dict[str, Any] = root["properties"]["spec"]
    return found


def test_an_option_is_a_field_in_camel_case(say: Say) -> None:
    project = say({"http_port": {"type": "int", "default": 80, "description": "Where C(web) listens"}})
    assert spec(project) == {
        "type": "object",
        "properties": {"httpPort": {"type": "integer", "default": 80, "description": "Where web listens"}},
    }


def test_a_field_is_named_as_its_option_where_the_watch_translates_nothing(say: Say) -> None:
    assert list(spec(say({"http_port": {}}, snakeCaseParameters=False))["properties"]) == ["http_port"]


def test_a_field_is_named_as_its_option_where_camel_case_does_not_lead_back(say: Say) -> None:
    assert list(spec(say({"a_b_c": {}}))["properties"]) == ["a_b_c"]


def test_an_option_that_no_field_becomes_is_an_error_with_its_line(say: Say) -> None:
    with pytest.raises(WatchesError, match=r"argument_specs.yml:4: httpPort: no field .* becomes the variable"):
        crds.files(say({"httpPort": {}}))


def test_what_is_required_is_required_unless_the_role_has_a_value(say: Say) -> None:
    project = say({"image": {"required": True}, "name": {"required": True}}, defaults={"name": "web"})
    assert spec(project)["required"] == ["image"]


def test_choices_are_an_enum(say: Say) -> None:
    project = say({"mode": {"choices": ["a", "b"]}, "on": {"type": "list", "elements": "int", "choices": [1]}})
    properties = spec(project)["properties"]
    assert properties["mode"]["enum"] == ["a", "b"]
    assert properties["on"]["items"] == {"type": "integer", "enum": [1]}


def test_a_dict_without_options_keeps_what_it_is_given(say: Say) -> None:
    assert spec(say({"labels": {"type": "dict"}}))["properties"]["labels"] == {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }


def test_options_of_a_dict_and_of_the_items_of_a_list_are_fields(say: Say) -> None:
    inner = {"disk_size": {"type": "int", "required": True}}
    project = say(
        {
            "disk": {"type": "dict", "options": inner},
            "disks": {"type": "list", "elements": "dict", "options": inner},
        }
    )
    wanted = {"type": "object", "properties": {"diskSize": {"type": "integer"}}, "required": ["diskSize"]}
    properties = spec(project)["properties"]
    assert properties["disk"] == wanted
    assert properties["disks"]["items"] == wanted


def test_what_is_not_to_be_logged_is_a_password_and_a_remark(say: Say) -> None:
    project = say({"token": {"no_log": True}})
    assert spec(project)["properties"]["token"]["format"] == "password"
    assert "take the name of a Secret" in crds.remarks(project, {})[0]


def test_without_argument_specs_the_defaults_say_the_types(say: Say) -> None:
    project = say(
        defaults={
            "size": 2,
            "names": ["a"],
            "image": "{{ registry }}/web",
            "debug": False,
            "since": {"day": date(2026, 1, 1)},
        }
    )
    assert spec(project)["properties"] == {
        "size": {"type": "integer", "default": 2},
        "names": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
        "image": {"x-kubernetes-preserve-unknown-fields": True},
        "debug": {"type": "boolean", "default": False},
        "since": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }


def test_what_the_watch_sets_is_no_field(say: Say) -> None:
    project = say(
        {"state": {}, "size": {}, "zone": {}}, vars={"zone": "b"}, finalizer={"name": "x/y", "vars": {"state": 1}}
    )
    assert list(spec(project)["properties"]) == ["size"]


def test_a_variable_of_ansibles_own_is_no_field(say: Say) -> None:
    assert "properties" not in spec(say({"ansible_connection": {}}))


def test_the_watch_says_what_argument_specs_cannot(say: Say) -> None:
    project = say(
        {"size": {"type": "int"}},
        crd={
            "plural": "webz",
            "shortNames": ["w"],
            "categories": ["all"],
            "scope": "Cluster",
            "columns": {"Size": "spec.size"},
            "schema": {"spec.size": {"minimum": 0}},
        },
    )
    crd = made(project)
    assert crd["metadata"]["name"] == "webz.app.example.com"
    assert crd["spec"]["scope"] == "Cluster"
    assert crd["spec"]["names"]["shortNames"] == ["w"]
    assert crd["spec"]["names"]["categories"] == ["all"]
    assert crd["spec"]["versions"][0]["additionalPrinterColumns"][0] == {
        "name": "Size",
        "type": "integer",
        "jsonPath": ".spec.size",
    }
    assert spec(project)["properties"]["size"]["minimum"] == 0


def test_a_path_that_leads_nowhere_is_an_error_with_its_line(say: Say) -> None:
    said = r"watches.yaml:3: crd.columns.Size: the CRD has no such field; did you mean spec.image\?"
    with pytest.raises(WatchesError, match=said):
        crds.files(say({"image": {}}, crd={"columns": {"Size": "spec.imag"}}))


def test_a_mapped_status_field_is_in_the_schema(say: Say) -> None:
    status = made(say({"size": {}}, status={"a.b": "data.x"}))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "b" in status["properties"]["status"]["properties"]["a"]["properties"]


def test_no_crd_is_made_of_two_watches_of_one_kind(say: Say, tmp_path: Path) -> None:
    say({"size": {}})
    (tmp_path / "watches.yaml").write_text(yaml.safe_dump([{**WATCH, "version": "v2"}, WATCH]))
    with pytest.raises(WatchesError, match=r"is watched as v2 in line 1 already"):
        made(tmp_path)


def test_a_version_that_is_converted_has_the_renamed_fields(say: Say) -> None:
    project = say(
        {"replicas": {"type": "int", "default": 1}, "image": {"required": True}, "zone": {}},
        versions={
            "v1alpha1": {
                "to": {"size": "spec.replicas", "run.image": "spec.image", "kind": "join('-', [spec.zone, 'x'])"},
                "from": {"replicas": "spec.size", "image": "spec.run.image", "zone": "spec.kind"},
            }
        },
        crd={
            "columns": {"Size": "spec.replicas"},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.x"},
        },
    )
    main, other = made(project)["spec"]["versions"]
    assert [(one["name"], one["served"], one["storage"]) for one in (main, other)] == [
        ("v1", True, True),
        ("v1alpha1", False, False),  # until the API server knows who converts
    ]
    assert other["schema"]["openAPIV3Schema"]["properties"]["spec"] == {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "default": 1},
            "run": {"type": "object", "properties": {"image": {"type": "string"}}, "required": ["image"]},
            "kind": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }
    assert other["additionalPrinterColumns"][0]["jsonPath"] == ".spec.size"
    assert other["subresources"]["scale"]["specReplicasPath"] == ".spec.size"


def test_a_version_that_is_converted_may_have_an_argument_spec_of_its_name(say: Say, tmp_path: Path) -> None:
    project = say({"replicas": {}}, versions={"v1alpha1": {"to": {"size": "spec.replicas"}}})
    entries = {"main": {"options": {"replicas": {}}}, "v1alpha1": {"options": {"size": {"type": "int"}}}}
    (tmp_path / "roles/web/meta/argument_specs.yml").write_text(yaml.safe_dump({"argument_specs": entries}))
    other = made(project)["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert other["properties"] == {"size": {"type": "integer"}}


def test_a_kind_that_is_built_in_has_no_crd(say: Say) -> None:
    assert crds.files(say({"size": {}}, group="apps")) == {}


def test_a_kind_of_somebody_else_has_no_crd(say: Say) -> None:
    assert crds.files(say({"size": {}}, crd={"generate": False})) == {}


def test_nothing_is_made_where_nothing_says_the_variables(say: Say) -> None:
    project = say()
    assert crds.files(project) == {}
    assert "write argument specs, or a CRD by hand" in crds.remarks(project, {})[0]


def test_every_mistake_is_told_once_with_its_line(say: Say) -> None:
    options = {
        "a": {"type": "text"},
        "b": {"required": True, "default": "x"},
        "c": {"type": "int", "default": "many"},
        "d": {"type": "dict", "options": {"e": {}}, "required_if": [["e", 1]], "required_together": [["e", "f"]]},
    }
    with pytest.raises(WatchesError) as raised:
        crds.files(say(options))
    assert [problem.field for problem in raised.value.problems] == ["a", "b", "c", "d", "d"]


def test_a_playbook_says_its_variables_beside_it_and_by_its_roles(say: Say, tmp_path: Path) -> None:
    say({"size": {"type": "int"}}, playbook="site.yml", role="")
    (tmp_path / "site.yml").write_text("- {hosts: all, name: Site, roles: [web]}")
    (tmp_path / "site.meta.yml").write_text("argument_specs: {Site: {options: {image: {required: true}}}}")
    assert spec(tmp_path) == {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "image": {"type": "string"}},
        "required": ["image"],
    }


def test_a_generated_crd_is_written_where_it_is(say: Say) -> None:
    project = say({"size": {}})
    (text,) = crds.files(project).values()
    place = project / "config/crd/bases/web.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(text)
    assert list(crds.files(project)) == [Path("config/crd/bases/web.yaml")]


def test_a_file_with_other_objects_is_not_written(say: Say) -> None:
    project = say({"size": {}})
    (text,) = crds.files(project).values()
    (project / "crds").mkdir()
    (project / FILE).write_text(f"{text}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: x}}\n")
    with pytest.raises(WatchesError, match="move it to one of its own"):
        crds.files(project)


def test_a_crd_that_was_written_by_hand_is_compared_and_kept(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    project = say({"size": {"type": "int"}, "image": {}})
    (text,) = crds.files(project).values()
    crd = yaml.safe_load(text)
    del crd["metadata"]["annotations"]
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del properties["image"]
    properties["size"]["type"] = "string"
    (project / "crds").mkdir()
    (project / FILE).write_text(before := yaml.safe_dump(crd))
    assert main(["generate", "crds", str(project), "--check"]) == 1
    said = capsys.readouterr().out
    assert "spec.image: the role has this option, and the CRD no such field" in said
    assert "spec.size: the role says integer, and the CRD string" in said
    assert main(["generate", "crds", str(project)]) == 0
    assert (project / FILE).read_text() == before


def test_the_sample_operators_crds_are_generated() -> None:
    assert main(["generate", "crds", str(ROOT), "--check"]) == 0
