"""What `validate` says of roles, playbooks, and what they use."""

from __future__ import annotations

from hashlib import sha256

import pytest

from tests.unit.validate.conftest import Sound

TASKS = "roles/thing/tasks/main.yml"
META = "roles/thing/meta/main.yml"


def playbook(sound: Sound, text: str) -> None:
    sound.write({"play.yml": text})
    sound.replace("watches.yaml", "role: thing", "playbook: play.yml")


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (TASKS, "- name: a\n  debug: 'x", f"error: {TASKS}:2: not YAML"),
        (TASKS, "- debug:\n    msg: {{ x }}", f"error: {TASKS}:2: not YAML: a key is a map or a list"),
        (TASKS, "debug: {msg: x}", f"error: {TASKS}:1: must be a list of tasks"),
        (TASKS, "- debug", f"error: {TASKS}:1: [0]: must be a map"),
        ("roles/thing/tasks/more.yml", "- [", "error: roles/thing/tasks/more.yml:1: not YAML"),
        ("roles/thing/defaults/main.yml", "a: b: c", "error: roles/thing/defaults/main.yml:1: not YAML"),
    ],
)
def test_a_file_of_a_role_that_ansible_cannot_read_is_an_error(
    sound: Sound, file: str, text: str, expected: str
) -> None:
    sound.write({file: text})
    (finding,) = sound.validate()
    assert finding.startswith(expected)


@pytest.mark.parametrize(
    "text", ["", "---", "- debug: {msg: !unsafe '{{ x }}'}", "$ANSIBLE_VAULT;1.1;AES256\n\t00", "- block: []"]
)
def test_files_of_a_role_that_ansible_can_read_are_no_finding(sound: Sound, text: str) -> None:
    sound.write({TASKS: text})
    assert sound.validate() == []


def test_a_playbook_must_be_a_list_of_plays(sound: Sound) -> None:
    playbook(sound, "hosts: localhost")
    assert sound.validate() == ["error: play.yml:1: must be a list of plays [not-a-list]"]


def test_a_directory_without_tasks_is_no_role(sound: Sound) -> None:
    (sound.path / TASKS).unlink()
    (sound.path / "roles/thing/tasks").rmdir()
    assert sound.validate() == ["error: roles/thing:1: is not a role: it has neither tasks nor meta [not-a-role]"]


def test_a_role_without_main_tasks_is_a_warning(sound: Sound) -> None:
    (sound.path / TASKS).rename(sound.path / "roles/thing/tasks/other.yml")
    assert sound.validate() == [
        "warning: roles/thing:1: does nothing itself: it has no tasks/main.yml [role-without-tasks]"
    ]


USES = [
    (
        "- some.where.module: {}",
        "error: roles/thing/tasks/main.yml:1: [0].some.where.module: module some.where.module",
    ),
    (
        "- action: some.where.module a=b",
        "error: roles/thing/tasks/main.yml:1: [0].action: module some.where.module",
    ),
    (
        "- block:\n    - debug: {}\n  rescue:\n    - some.where.module: {}",
        "error: roles/thing/tasks/main.yml:4: [0].rescue[0].some.where.module: module some.where.module",
    ),
    (
        "- include_role: {name: some.where.role}",
        "error: roles/thing/tasks/main.yml:1: [0].include_role.name: role",
    ),
]


@pytest.mark.parametrize(("tasks", "expected"), USES)
def test_a_collection_that_is_neither_installed_nor_required_is_a_finding(
    sound: Sound, tasks: str, expected: str
) -> None:
    sound.write({TASKS: tasks})
    (finding,) = sound.validate()
    assert finding.startswith(expected)
    assert "needs the collection some.where, which is not installed and not in requirements.yml" in finding


@pytest.mark.parametrize("tasks", [tasks for tasks, _ in USES])
def test_a_collection_that_is_installed_is_no_finding(sound: Sound, tasks: str) -> None:
    sound.install("some.where", "some.where.role") if "role" in tasks else sound.install("some.where")
    sound.write({TASKS: tasks})
    assert sound.validate() == []


@pytest.mark.parametrize("place", ["ANSIBLE_COLLECTIONS_PATH", "ansible.cfg", "site-packages"])
def test_collections_are_looked_for_where_ansible_does(
    sound: Sound, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sound.path / "site-packages/ansible_collections/some/where").mkdir(parents=True)
    sound.write({TASKS: "- some.where.module: {}"})
    assert len(sound.validate()) == 1
    if place == "ansible.cfg":
        sound.write({"ansible.cfg": "[defaults]\ncollections_path = site-packages\n"})
    elif place == "site-packages":
        monkeypatch.syspath_prepend(sound.path / "site-packages")
    else:
        sound.environment[place] = f"/none:{sound.path}/site-packages"
    assert sound.validate() == []


def test_a_required_collection_that_is_not_installed_is_one_warning(sound: Sound) -> None:
    sound.write({TASKS: "- some.where.module: {}\n- some.where.other: {}"})
    sound.write({"requirements.yml": "collections:\n  - name: some.where\n    version: 1.0.0\n"})
    (finding,) = sound.validate()
    assert finding.startswith("warning: requirements.yml:2: collections: some.where is not installed here")


@pytest.mark.parametrize("item", ["some.where:>=1.0.0", "{name: some.where}"])
def test_a_required_collection_that_is_installed_is_no_finding(sound: Sound, item: str) -> None:
    sound.write({"requirements.yml": f"collections:\n  - {item}\n"})
    sound.install("some.where")
    assert sound.validate() == []


PINNED = f"{sha256(b'{}').hexdigest()}  some/where/MANIFEST.json\n"


@pytest.mark.parametrize(
    ("pins", "expected"),
    [
        ("", "requirements.sha256 has no checksum of some.where, without which"),
        (PINNED.replace("where", "other"), "requirements.sha256 has no checksum of some.where, without which"),
        ("0" * 64 + PINNED[64:], "some.where as it is installed here has not the checksum of requirements.sha256"),
    ],
)
def test_a_required_collection_that_the_images_build_would_refuse_is_a_warning(
    sound: Sound, pins: str, expected: str
) -> None:
    sound.write({"requirements.yml": "collections:\n  - {name: some.where}\n", "requirements.sha256": pins})
    sound.install("some.where")
    sound.manifest("some.where", "{}")
    (finding,) = sound.validate()
    assert finding.startswith(f"warning: requirements.yml:2: collections: {expected}")


@pytest.mark.parametrize("pins", [PINNED, None])
def test_a_required_collection_that_is_pinned_or_in_a_project_without_pins_is_no_finding(
    sound: Sound, pins: str | None
) -> None:
    sound.write({"requirements.yml": "collections:\n  - {name: some.where}\n"})
    if pins is not None:
        sound.write({"requirements.sha256": pins})
    sound.install("some.where")
    sound.manifest("some.where", "{}")
    assert sound.validate() == []


def test_a_short_name_is_the_collections_that_ansible_routes_it_to(sound: Sound) -> None:
    sound.write({TASKS: "- docker_container: {}\n- k8s: {}"})
    found = [finding for finding in sound.validate() if "docker" in finding]
    assert "module docker_container (community.docker.docker_container) needs the collection" in found[0]


def test_a_module_of_the_roles_own_needs_no_collection(sound: Sound) -> None:
    sound.write({TASKS: "- docker_container: {}", "roles/thing/library/docker_container.py": ""})
    assert sound.validate() == []


ROLES = [
    (TASKS, "- include_role: {name: other}", "1: [0].include_role.name"),
    (TASKS, "- ansible.builtin.import_role: {name: other}", "1: [0].ansible.builtin.import_role.name"),
    (TASKS, "- include_role: name=other tasks_from=x", "1: [0].include_role.name"),
    (META, "dependencies:\n  - other", "2: dependencies[0]"),
    (META, "dependencies:\n  - role: other\n    vars: {}", "2: dependencies[0]"),
]


@pytest.mark.parametrize(("file", "text", "place"), ROLES)
def test_a_role_that_is_used_and_not_there_is_an_error(sound: Sound, file: str, text: str, place: str) -> None:
    sound.write({file: text})
    (finding,) = sound.validate()
    assert finding.startswith(f"error: {file}:{place}: role other was not found; looked in roles")


@pytest.mark.parametrize(("file", "text", "place"), ROLES)
def test_a_role_is_found_beside_the_role_that_uses_it(sound: Sound, file: str, text: str, place: str) -> None:
    sound.write({file: text, "roles/other/tasks/main.yml": "[]", "roles/other/tasks/x.yml": "[]"})
    assert sound.validate() == []


def test_a_role_is_found_on_the_roles_path(sound: Sound) -> None:
    sound.write({TASKS: "- include_role: {name: other}", "shared/other/tasks/main.yml": ""})
    sound.environment["ANSIBLE_ROLES_PATH"] = "shared"
    assert sound.validate() == []


def test_a_role_that_requirements_list_need_not_be_there(sound: Sound) -> None:
    sound.write({TASKS: "- include_role: {name: other}", "requirements.yml": "roles:\n  - src: other\n"})
    assert sound.validate() == []


def test_a_role_whose_name_is_known_at_run_time_only_is_left_alone(sound: Sound) -> None:
    sound.write({TASKS: "- include_role: {name: '{{ which }}'}\n- include_tasks: '{{ which }}.yml'"})
    assert sound.validate() == []


def test_a_role_that_is_used_is_checked_as_well(sound: Sound) -> None:
    sound.write({TASKS: "- include_role: {name: other}", "roles/other/tasks/main.yml": "- ["})
    (finding,) = sound.validate()
    assert finding.startswith("error: roles/other/tasks/main.yml:1: not YAML")


@pytest.mark.parametrize(
    ("play", "field"),
    [
        ("- hosts: all\n  roles: [other]", "2: [0].roles[0]: role other"),
        ("- hosts: all\n  roles:\n    - role: other", "3: [0].roles[0]: role other"),
        ("- hosts: all\n  collections: [a.b]", "2: [0].collections[0]: collection a.b"),
        ("- hosts: all\n  tasks:\n    - a.b.c: {}", "3: [0].tasks[0].a.b.c: module a.b.c"),
        ("- hosts: all\n  handlers:\n    - a.b.c: {}", "3: [0].handlers[0].a.b.c: module a.b.c"),
    ],
)
def test_a_thing_that_a_playbook_uses_and_is_not_there_is_an_error(sound: Sound, play: str, field: str) -> None:
    playbook(sound, play)
    (finding,) = sound.validate()
    assert finding.startswith(f"error: play.yml:{field}")


def test_a_playbook_finds_the_projects_roles_and_the_collections_beside_it(sound: Sound) -> None:
    (sound.path / "collections/ansible_collections/a/b").mkdir(parents=True)
    playbook(sound, "- hosts: all\n  roles: [thing]\n  tasks:\n    - a.b.c: {}\n    - include_tasks: more.yml\n")
    sound.write({"more.yml": "- a.b.d: {}"})
    assert sound.validate() == []


@pytest.mark.parametrize(
    "play", ["- import_playbook: more.yml", "- hosts: all\n  tasks:\n    - import_tasks: more.yml"]
)
def test_the_files_that_a_playbook_includes_are_checked_as_well(sound: Sound, play: str) -> None:
    playbook(sound, play)
    sound.write({"more.yml": "- {"})
    (finding,) = sound.validate()
    assert finding.startswith("error: more.yml:1: not YAML")


@pytest.mark.parametrize(("name", "found"), [("/opt/ansible/roles/other", 0), ("/opt/elsewhere/roles/other", 1)])
def test_a_role_is_found_by_its_path_in_the_image(sound: Sound, name: str, found: int) -> None:
    playbook(sound, f"- hosts: all\n  roles: [{name}]")
    sound.write({"roles/other/tasks/main.yml": ""})
    assert len(sound.validate()) == found


def test_a_role_that_is_installed_outside_the_project_is_not_checked(sound: Sound) -> None:
    sound.write({TASKS: "- include_role: {name: other}", "../shared/other/tasks/main.yml": "- ["})
    sound.environment["ANSIBLE_ROLES_PATH"] = "../shared"
    assert sound.validate() == []


def test_roles_that_use_each_other_are_read_once(sound: Sound) -> None:
    sound.write({TASKS: "- include_role: {name: other}"})
    sound.write({"roles/other/tasks/main.yml": "- include_role: {name: thing}\n- a.b.c: {}"})
    assert len(sound.validate()) == 1


def test_the_content_of_a_finalizer_is_checked_as_well(sound: Sound) -> None:
    sound.write({"roles/bye/tasks/main.yml": "- a.b.c: {}"})
    sound.replace("watches.yaml", "role: thing", "role: thing\n  finalizer: {name: example.com/f, role: bye}")
    assert ["a.b.c" in finding for finding in sound.validate()] == [True]
