from __future__ import annotations

from pathlib import Path

import pytest

from runner.config.contentfiles import concerned, is_yaml, named_roles, roots
from runner.config.watches import Content, Finalizer, Watch
from runner.objects import GroupVersionKind

PROJECT = Path("/project")
ROLES = PROJECT / "roles"
SITE, CACHE, JOB = (GroupVersionKind("example.com", "v1", kind) for kind in ("Site", "Cache", "Job"))
BYE = Content(ROLES / "bye", is_role=True)
WATCHES = {
    SITE: Watch(SITE, Content(ROLES / "site", is_role=True), finalizer=Finalizer("bye", BYE)),
    CACHE: Watch(CACHE, Content(ROLES / "cache", is_role=True)),
    JOB: Watch(JOB, Content(PROJECT / "playbooks" / "job.yml", is_role=False)),
}


def kinds(name: str, uses: dict[Path, frozenset[Path]] | None = None) -> set[str]:
    return {gvk.kind for gvk in concerned(PROJECT / name, WATCHES, PROJECT, uses or {})}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("roles/site/tasks/main.yml", {"Site"}),
        ("roles/site/templates/deep/page.j2", {"Site"}),
        ("roles/cache/vars/main.yml", {"Cache"}),
        ("roles/bye/tasks/main.yml", {"Site"}),
        ("playbooks/job.yml", {"Job"}),
        ("playbooks/tasks/steps.yml", {"Job"}),
        ("roles/common/tasks/main.yml", {"Site", "Cache"}),
        ("group_vars/all.yml", {"Site", "Cache", "Job"}),
        ("ansible.cfg", {"Site", "Cache", "Job"}),
        ("README.md", set()),
        ("config/samples/site.yaml", set()),
    ],
)
def test_file_concerns_the_kinds_that_may_run_it(file: str, expected: set[str]) -> None:
    assert kinds(file) == expected


def test_role_of_one_kind_that_anothers_names_concerns_both() -> None:
    uses = {ROLES / "site": frozenset({ROLES / "cache"})}
    assert kinds("roles/cache/tasks/main.yml", uses) == {"Site", "Cache"}


@pytest.mark.parametrize(
    "text", ["name: cache", "role: 'cache'", "include_role: {name: cache}", "import_role: name=cache"]
)
def test_role_is_named_as_a_word(text: str) -> None:
    roles = frozenset({ROLES / "cache", ROLES / "site"})
    assert named_roles(text, roles) == {ROLES / "cache"}


def test_word_that_only_begins_like_a_role_names_none() -> None:
    assert named_roles("name: cached", frozenset({ROLES / "cache"})) == frozenset()


def test_what_is_looked_at_is_where_content_and_its_company_are() -> None:
    found = roots(WATCHES, PROJECT)
    assert {ROLES, PROJECT / "playbooks", PROJECT / "group_vars", PROJECT / "ansible.cfg"} <= found
    assert PROJECT not in found


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("roles/site/tasks/main.yml", True),
        ("roles/site/vars/main.yaml", True),
        ("playbooks/job.yml", True),
        ("roles/site/templates/page.yml", False),
        ("roles/site/files/raw.yml", False),
        ("roles/site/templates/page.j2", False),
        ("docs/notes.yml", False),
    ],
)
def test_what_ansible_reads_as_yaml_is_told_from_what_it_copies_or_renders(file: str, *, expected: bool) -> None:
    assert is_yaml(PROJECT / file, WATCHES, PROJECT) is expected
