"""What `validate` says of watches.yaml itself."""

from __future__ import annotations

import pytest

from tests.unit.validate.conftest import Sound


def test_a_sound_project_has_no_findings(sound: Sound) -> None:
    assert sound.validate() == []


@pytest.mark.parametrize(
    ("watches", "expected"),
    [
        ("kind: A", "error: watches.yaml:1: the file must be a list of watches"),
        ("- [", "error: watches.yaml:1: not YAML"),
        ("- {{ x }}: 1", "error: watches.yaml:1: not YAML: a key is a map or a list (quote {{ … }})"),
        ("- {version: v1, kind: A, role: none}", "error: watches.yaml:1: [0].role: role: none was not found"),
        (
            "- {version: v1, kind: A, playbook: none.yml}",
            "error: watches.yaml:1: [0].playbook: playbook: none.yml",
        ),
        (
            "- {version: v1, kind: A, role: thing, rolle: x}",
            "warning: watches.yaml:1: [0].rolle: unknown field, ignored",
        ),
        (
            "- version: v1\n  kind: A\n  role: thing\n  status:\n    a: data.[",
            "error: watches.yaml:5: [0].status.a: not a JMESPath expression",
        ),
        (
            "- version: v1\n  kind: A\n  role: thing\n  status:\n    a: result.x",
            "warning: watches.yaml:5: [0].status.a: result is always null: "
            "the keys of a run's result are stats and",
        ),
    ],
)
def test_a_mistake_is_found_with_its_line_and_field(sound: Sound, watches: str, expected: str) -> None:
    sound.write({"watches.yaml": watches})
    assert expected in [finding[: len(expected)] for finding in sound.validate()]


@pytest.mark.parametrize("given", ["", "  markUnsafe: false\n"])
def test_a_watch_whose_custom_resource_may_steer_ansible_is_a_warning(sound: Sound, given: str) -> None:
    sound.replace("watches.yaml", "  markUnsafe: true\n", given)
    (finding,) = sound.validate()
    assert finding.startswith(
        "warning: watches.yaml:1: markUnsafe: whoever may write such a resource can run comm"
    )


def test_every_mistake_in_watches_is_found_at_once(sound: Sound) -> None:
    sound.write(
        {"watches.yaml": "- {kind: A, role: none}\n- {version: v1, kind: Thing, group: example.com, role: no}"}
    )
    found = [finding.split(": ")[2] for finding in sound.validate() if "watches.yaml" in finding]
    assert found == ["[0].role", "[0].version", "[1].role"]


def test_an_unreadable_watches_file_is_an_error(sound: Sound) -> None:
    (sound.path / "watches.yaml").unlink()
    (finding,) = sound.validate()
    assert finding.startswith("error: watches.yaml:1: cannot be read")


@pytest.mark.parametrize("name", ["/opt/ansible/roles/thing", "/opt/ansible/roles/thing/"])
def test_a_path_of_the_image_is_found_in_the_project(sound: Sound, name: str) -> None:
    sound.replace("watches.yaml", "role: thing", f"role: {name}")
    assert sound.validate() == []


def test_the_content_behind_another_watchs_mistake_is_checked_all_the_same(sound: Sound) -> None:
    sound.replace("watches.yaml", "- group", "- {version: v1, kind: A, role: none}\n- group")
    sound.write({"roles/thing/tasks/main.yml": "- {"})
    assert [finding.split(":")[1].strip() for finding in sound.validate()] == [
        "roles/thing/tasks/main.yml",
        "watches.yaml",
    ]
