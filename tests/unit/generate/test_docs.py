"""`generate docs`: what users read of custom resources, made of their CRDs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main

ROOT = Path(__file__).parents[3]


def crd(spec: dict[str, Any], **version: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "shops.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Shop", "plural": "shops", "shortNames": ["sh"]},
            "versions": [one],
        },
    }


def page(project: Path, *crds: dict[str, Any]) -> str:
    (project / "crds").mkdir()
    (project / "crds/all.yaml").write_text(yaml.safe_dump_all(crds))
    assert main(["generate", "docs", str(project)]) == 0
    return (project / "docs/api.md").read_text()


@pytest.mark.parametrize(
    ("field", "row"),
    [
        ({"type": "integer", "default": 1, "description": "How\n many"}, "| `f` | integer | `1` |  | How many |"),
        ({"type": "string", "enum": ["a", "b"]}, "| `f` | string |  | `a`, `b` |  |"),
        ({"type": "integer", "minimum": 0, "maximum": 9}, "| `f` | integer |  | at least 0; at most 9 |  |"),
        ({"type": "string", "minLength": 1}, "| `f` | string |  | not empty |  |"),
        ({"type": "string", "pattern": "a|b"}, "| `f` | string |  | `a\\|b` |  |"),
        ({"x-kubernetes-int-or-string": True}, "| `f` | integer or string |  |  |  |"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "| `f` | map of string |  |  |  |"),
        (
            {"type": "array", "items": {"type": "object", "properties": {"g": {"type": "string"}}}},
            "| `f[].g` | string |  |  |  |",
        ),
    ],
)
def test_a_field_is_a_row(field: dict[str, Any], row: str, tmp_path: Path) -> None:
    assert row in page(tmp_path, crd({"properties": {"f": field}})).splitlines()


def test_a_required_field_is_said_to_be_unless_it_has_a_default(tmp_path: Path) -> None:
    fields = {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}
    lines = page(tmp_path, crd({"properties": fields, "required": ["a", "b"]})).splitlines()
    assert "| `a` | string | required |  |  |" in lines
    assert '| `b` | string | `"x"` |  |  |' in lines


def test_rules_are_told_in_their_words(tmp_path: Path) -> None:
    rule = {"rule": "self.a < self.b", "message": "a must be below b"}
    assert "- `spec`: a must be below b" in page(tmp_path, crd({"x-kubernetes-validations": [rule]}))


def test_a_kind_is_named_as_kubectl_knows_it(tmp_path: Path) -> None:
    assert "`shops.example.com`, in a namespace; `kubectl get shops`, also `sh`.\n" in page(tmp_path, crd({}))


def test_a_kind_without_a_sample_is_told_of_in_a_project_with_molecules_playbooks(tmp_path: Path) -> None:
    playbook = tmp_path / "molecule/default/converge.yml"
    playbook.parent.mkdir(parents=True)
    playbook.write_text("- hosts: localhost\n  tasks: []\n")
    assert "## Shop" in page(tmp_path, crd({}))


def test_several_versions_have_a_heading_each_the_stored_one_first(tmp_path: Path) -> None:
    made = crd({})
    made["spec"]["versions"] = [
        {"name": "v1alpha1", "served": True, "deprecated": True, "deprecationWarning": "Take v1."},
        {"name": "v1", "served": True, "storage": True},
        {"name": "v0", "served": False},
    ]
    text = page(tmp_path, made)
    assert [line for line in text.splitlines() if line.startswith("### ")] == ["### v1", "### v1alpha1"]
    assert "Deprecated. Take v1." in text


def test_a_project_without_crds_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "docs", str(tmp_path)]) == 1
    assert "has no CRD" in capsys.readouterr().err


def test_the_page_of_the_sample_operator_is_what_the_command_makes() -> None:
    assert main(["generate", "docs", str(ROOT), "--output=docs/samples.md", "--check"]) == 0, (
        "run `make reference`"
    )
