"""watches.yaml: what may stand in it, and what a mistake in it looks like."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from runner.config.watches import Content, Finalizer, Watch
from runner.config.watchesfile import load_watches
from runner.errors import Problem, WatchesError
from runner.objects import GroupVersionKind


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "roles" / "memcached").mkdir(parents=True)
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "site.yml").write_text("[]")
    return tmp_path


def load(project: Path, text: str, **environment: str) -> tuple[Watch, ...]:
    return load_with_notes(project, text, **environment)[0]


def load_with_notes(project: Path, text: str, **environment: str) -> tuple[tuple[Watch, ...], tuple[Problem, ...]]:
    (project / "watches.yaml").write_text(dedent(text))
    return load_watches(project / "watches.yaml", project, environment)


def problems(project: Path, text: str, **environment: str) -> list[tuple[int, str, str]]:
    with pytest.raises(WatchesError) as caught:
        load(project, text, **environment)
    return [(problem.line, problem.field, problem.message) for problem in caught.value.problems]


def test_the_smallest_watch_has_the_documented_defaults(project: Path) -> None:
    (watch,) = load(project, "- {group: example.com, version: v1, kind: Memcached, role: memcached}")
    content = Content(project / "roles" / "memcached", is_role=True)
    assert watch == Watch(GroupVersionKind("example.com", "v1", "Memcached"), content)


def test_every_field_is_read(project: Path) -> None:
    (watch,) = load(
        project,
        """
        - version: v1
          group: example.com
          kind: Memcached
          playbook: playbooks/site.yml
          vars: {state: present, size: 017}
          maxRunnerArtifacts: 5
          reconcilePeriod: 1h30m
          manageStatus: false
          watchDependentResources: false
          watchClusterScopedResources: true
          snakeCaseParameters: false
          watchAnnotationsChanges: true
          markUnsafe: true
          rescuedTasksFail: true
          goMessages: true
          blacklist: [{version: v1, kind: Secret}]
          selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists, values: []}]}
          finalizer: {name: example.com/finalizer, vars: {state: absent}}
          status: {podNames: data.names}
        """,
    )
    assert watch.content == Content(project / "playbooks" / "site.yml", is_role=False)
    assert watch.vars == {"state": "present", "size": 15}
    assert (watch.max_runner_artifacts, watch.reconcile_period) == (5, 5400.0)
    assert (watch.manage_status, watch.watch_dependents, watch.watch_cluster_scoped) == (False, False, True)
    assert (watch.snake_case, watch.watch_annotations, watch.mark_unsafe) == (False, True, True)
    assert watch.rescued_tasks_fail
    assert watch.go_messages
    assert watch.blacklist == {GroupVersionKind("", "v1", "Secret")}
    assert watch.finalizer == Finalizer("example.com/finalizer", None, {"state": "absent"})
    assert watch.status == {"podNames": "data.names"}
    assert watch.selector.matches({"app": "web", "tier": "x"})
    assert not watch.selector.matches({"app": "web"})


def test_field_names_match_in_any_case(project: Path) -> None:
    (watch,) = load(project, "- {VERSION: v1, Kind: K, ROLE: memcached, managestatus: false}")
    assert not watch.manage_status


def test_scalars_become_strings_where_strings_are_wanted(project: Path) -> None:
    (watch,) = load(project, "- {version: 1, kind: yes, role: memcached}")
    assert (watch.gvk.version, watch.gvk.kind) == ("1", "true")


@pytest.mark.parametrize("text", ["", "null", "[]", "# nothing yet"])
def test_a_file_may_hold_no_watch(project: Path, text: str) -> None:
    assert load(project, text) == ()


def test_the_environment_is_substituted_before_parsing(project: Path) -> None:
    (watch,) = load(project, "- {version: v1, kind: $KIND, role: memcached}", KIND="Memcached")
    assert watch.gvk.kind == "Memcached"


def test_a_playbook_goes_before_a_role_which_is_then_not_looked_for(project: Path) -> None:
    (watch,) = load(project, "- {version: v1, kind: K, playbook: playbooks/site.yml, role: nowhere}")
    assert not watch.content.is_role


@pytest.mark.parametrize("period", ["0s", '"0"', "null"])
def test_a_zero_period_leaves_it_to_the_flag(project: Path, period: str) -> None:
    (watch,) = load(project, f"- {{version: v1, kind: K, role: memcached, reconcilePeriod: {period}}}")
    assert watch.reconcile_period is None


def test_a_role_is_found_in_a_collection(project: Path) -> None:
    role = project / "col" / "ansible_collections" / "ns" / "name" / "roles" / "web"
    role.mkdir(parents=True)
    (watch,) = load(
        project, "- {version: v1, kind: K, role: ns.name.web}", ANSIBLE_COLLECTIONS_PATH=str(project / "col")
    )
    assert watch.content.path == role


def test_a_role_is_found_on_the_roles_path_before_the_project(project: Path) -> None:
    elsewhere = project / "elsewhere" / "roles" / "memcached"
    elsewhere.mkdir(parents=True)
    roles_path = str(project / "elsewhere")
    (watch,) = load(project, "- {version: v1, kind: K, role: memcached}", ANSIBLE_ROLES_PATH=roles_path)
    assert watch.content.path == elsewhere


def test_a_symlinked_role_is_resolved(project: Path) -> None:
    (project / "roles" / "link").symlink_to(project / "roles" / "memcached")
    (watch,) = load(project, "- {version: v1, kind: K, role: link}")
    assert watch.content.path == project / "roles" / "memcached"


def test_the_same_kind_and_version_in_two_groups_is_allowed(project: Path) -> None:
    text = (
        "- {group: a, version: v1, kind: K, role: memcached}\n- {group: b, version: v1, kind: K, role: memcached}"
    )
    assert len(load(project, text)) == 2


def test_every_mistake_is_reported_at_once_with_line_and_field(project: Path) -> None:
    found = problems(
        project,
        """\
        - version: v1
          kind: A
          role: nowhere
          reconcilePeriod: 30
        - kind: B
          playbook: playbooks/none.yml
          manageStatus: "no"
        - version: v1
          kind: C
        """,
    )
    assert [(line, field) for line, field, _ in found] == [
        (3, "[0].role"),
        (4, "[0].reconcilePeriod"),
        (5, "[1].version"),
        (6, "[1].playbook"),
        (7, "[1].manageStatus"),
        (8, "[2]"),
    ]


@pytest.mark.parametrize(
    ("entry", "line", "field", "message"),
    [
        ("- {kind: K, role: memcached}", 1, "[0].version", "invalid GVK"),
        ("- {version: v1, kind: K}", 1, "[0]", "must specify Role or Playbook"),
        ("- {version: v1, kind: K, role: x}", 1, "[0].role", "role: x was not found; looked at"),
        ("- {version: v1, kind: K, role: memcached, vars: [1]}", 1, "[0].vars", "must be a map, is a list"),
        (
            "- {version: v1, kind: K, role: memcached, reconcilePeriod: 1d}",
            1,
            "[0].reconcilePeriod",
            "unknown unit",
        ),
        (
            "- {version: v1, kind: K, role: memcached, finalizer: {vars: {a: 1}}}",
            1,
            "[0].finalizer.name",
            "must have name",
        ),
        ("- {version: v1, kind: K, role: memcached, finalizer: {name: a/b}}", 1, "[0].finalizer", "must specify"),
        (
            "- version: v1\n  kind: K\n  role: memcached\n  selector:\n    matchExpressions:\n"
            "    - {key: a, operator: Is, values: [b]}",
            6,
            "[0].selector.matchExpressions[0].operator",
            "not a valid label selector operator",
        ),
        (
            "- {version: v1, kind: K, role: memcached, status: {a: 'b['}}",
            1,
            "[0].status.a",
            "not a JMESPath expression: Invalid jmespath expression: Incomplete expression: b[",
        ),
        ("version: v1", 1, "", "must be a list of watches"),
    ],
)
def test_a_mistake_says_where_and_what(project: Path, entry: str, line: int, field: str, message: str) -> None:
    first = problems(project, entry)[0]
    assert first[:2] == (line, field)
    assert message in first[2]


def test_a_duplicate_names_the_line_of_the_first(project: Path) -> None:
    entry = "- {group: g, version: v1, kind: K, role: memcached}\n"
    assert problems(project, entry * 2) == [(2, "[1]", "duplicate GVK: g/v1, Kind=K, already watched in line 1")]


def test_second_watch_of_a_kind_in_another_version_is_refused_with_both_lines_and_what_to_write(
    project: Path,
) -> None:
    entry = "- {{group: {}, version: {}, kind: K, role: memcached}}\n"
    found = problems(project, entry.format("g", "v1") + entry.format("g", "v1beta1"))
    assert [place for *place, _ in found] == [[2, "[1].version"]]
    message = found[0][2]
    assert message.startswith("K is watched as v1 in line 1 already. ")
    assert message.endswith("write `versions: {v1beta1: {to: ..., from: ...}}` into it")


def test_kinds_of_one_name_in_two_groups_may_both_be_watched(project: Path) -> None:
    entry = "- {{group: {}, version: {}, kind: K, role: memcached}}\n"
    watches, _ = load_with_notes(project, entry.format("g", "v1") + entry.format("h", "v2"))
    assert len(watches) == 2


def test_second_watch_with_another_selector_is_a_duplicate_all_the_same(project: Path) -> None:
    entry = "- {{group: g, version: v1, kind: K, role: memcached, selector: {{matchLabels: {{a: {}}}}}}}\n"
    found = problems(project, entry.format("x") + entry.format("y"))
    assert [message for _, _, message in found] == ["duplicate GVK: g/v1, Kind=K, already watched in line 1"]


@pytest.mark.parametrize("beside", ["names: spec.secret", "selector: {}"])
def test_reference_may_reach_all_namespaces(project: Path, beside: str) -> None:
    entry = "- {{version: v1, kind: K, role: memcached, references: [{{apiVersion: v1, kind: Secret, {}{}}}]}}"
    watches, _ = load_with_notes(project, entry.format(beside, ""))
    assert not watches[0].references[0].all_namespaces
    watches, _ = load_with_notes(project, entry.format(beside, ", namespaces: all"))
    assert watches[0].references[0].all_namespaces


def test_namespaces_of_a_reference_are_all_or_left_out(project: Path) -> None:
    reference = "{apiVersion: v1, kind: Secret, names: spec.secret, namespaces: [other]}"
    found = problems(project, f"- {{version: v1, kind: K, role: memcached, references: [{reference}]}}")
    assert found[0][:2] == (1, "[0].references[0].namespaces")


def test_an_unknown_field_is_ignored_with_a_hint(project: Path) -> None:
    watches, notes = load_with_notes(project, "- {version: v1, kind: K, role: memcached, reconcilePeriods: 1h}")
    assert len(watches) == 1
    assert [(note.field, note.message) for note in notes] == [
        ("[0].reconcilePeriods", "unknown field, ignored; did you mean reconcilePeriod?")
    ]


def test_a_finalizer_with_vars_and_a_wrong_path_still_loads(project: Path) -> None:
    text = "- {version: v1, kind: K, role: memcached, finalizer: {name: a/b, role: gone, vars: {state: absent}}}"
    _, notes = load_with_notes(project, text)
    assert "gone was not found" in notes[0].message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WatchesError, match=r"none\.yaml:1: cannot be read"):
        load_watches(tmp_path / "none.yaml", tmp_path, {})


def test_one_kind_and_version_in_two_groups_are_two_watches(tmp_path: Path) -> None:
    (tmp_path / "roles/a").mkdir(parents=True)
    file = tmp_path / "watches.yaml"
    file.write_text(
        "- {group: one.io, version: v1, kind: A, role: a}\n- {group: other.io, version: v1, kind: A, role: a}"
    )
    watches, _ = load_watches(file, tmp_path, {})
    assert [watch.gvk.group for watch in watches] == ["one.io", "other.io"]
