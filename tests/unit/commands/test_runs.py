"""`runs` and `runs show`, as a person and as a program read them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.commands import runs as runs_command
from runner.commands.runs import age, of_kind, table
from runner.errors import UsageError
from runner.execute.history import History
from runner.objects import GroupVersionKind, ObjectKey
from tests.unit.execute.test_history import BEGAN, BLOG, SITE, leave
from tests.unit.execute.test_taskresults import event, recap, start

TOLD = "Deployment shop/web changed by kubectl-edit: spec.replicas"
FAILURE = "no space (Copy, roles/website/tasks/main.yml:4)"
GOOD: dict[str, Any] = {
    "apiVersion": "web.example.com/v1",
    "names": ["si", "site", "sites"],
    "generation": 3,
    "engine": "warm",
    "content": "/opt/ansible/roles/website",
    "because": [TOLD],
    "previous": "failed",
    "attempt": 2,
    "kept": 20,
    "result": "succeeded",
    "seconds": 1.25,
    "tasks": {"ok": 12, "changed": 11, "skipped": 0, "failures": 0},
    "changed": ["Make the Deployment", "Make the Service"],
}
BAD = {**GOOD, "result": "failed", "failures": [FAILURE], "engine": "cold", "whyCold": "the role uses sudo"}


def put(artifacts: Path, *events: dict[str, Any]) -> None:
    for number, told in enumerate(events, 1):
        name = f"{number}-0c1b4a52-8f0e-4b57-9a53-{number:012}.json"
        (artifacts / "job_events" / name).write_text(json.dumps(told))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    leave(tmp_path, "1111111111", **GOOD)
    failed = leave(tmp_path, "2222222222", hours=1, **BAD)
    why = {"msg": "no space"}
    put(
        failed,
        start("Look"),
        event("runner_on_ok", "Look", {}),
        start("Copy"),
        event("runner_on_failed", "Copy", why),
    )
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], root: Path, *words: str, code: int = 0) -> tuple[str, str]:
    """What the command printed, and its notes."""
    assert main(["runs", *words, "--runner-dir", str(root)]) == code
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_a_list_has_a_line_a_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    titles, failed, good = said(capsys, root)[0].splitlines()
    assert titles.split() == ["ID", "STARTED", "OBJECT", "TOOK", "HOW", "RESULT", "BECAUSE", "CHANGED"]
    assert failed.split() == [
        *("2222222", "2030-01-31T10:00:00Z", "Site", "shop/blog", "1.2s", "cold", "failed"),
        *TOLD.split(),
        *FAILURE.split(),
    ]
    assert good.endswith(f"{TOLD}  Make the Deployment, Make the Service, and 9 more")


@pytest.mark.parametrize("word", ["si", "site", "Sites", "site.web.example.com", "Site.v1.web.example.com"])
def test_a_kind_is_named_as_for_kubectl(root: Path, capsys: pytest.CaptureFixture[str], word: str) -> None:
    leave(root, "3333333333", ObjectKey(GroupVersionKind("", "v1", "Node"), "", "first"), apiVersion="v1")
    assert len(said(capsys, root, word)[0].splitlines()) == 3
    assert len(said(capsys, root, word, "blog", "-n", "shop")[0].splitlines()) == 3
    assert said(capsys, root, word, "wiki") == ("", f"No such run is in {root}\n")


def test_a_kind_of_no_run_is_refused_with_those_that_there_are(root: Path) -> None:
    with pytest.raises(UsageError, match=r"of a kind 'pear': there are runs of Site\.web\.example\.com"):
        of_kind("pear", History([root]).runs())


def test_on_a_terminal_a_list_is_cut_to_its_width_and_has_ages(root: Path) -> None:
    runs, now = History([root]).runs(), BEGAN + timedelta(hours=3)
    titles, newest, _ = table(runs, 90, now)
    assert titles.split()[1] == "AGE"
    assert newest.startswith("2222222  2h   Site shop/blog")
    assert (len(newest), newest[-1]) == (90, "…")
    assert not any("…" in line for line in table(runs, None, now))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172800, "2d")],
)
def test_an_age_is_in_the_largest_unit_that_fits(seconds: float, shown: str) -> None:
    assert age(seconds) == shown


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two of them, whose runs are in the one directory that is looked at."""
    runs, found = tmp_path / "runs", (tmp_path / "one", tmp_path / "other")
    for hour, project in enumerate(found):
        project.mkdir()
        (project / "watches.yaml").touch()
        leave(runs, project.name, hours=hour, **{**GOOD, "watches": str(project / "watches.yaml")})
    monkeypatch.setattr(runs_command, "places", lambda _usual: [runs])
    return found


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], str]:
    """The IDs of the runs that are shown, and the notes."""
    assert main(["runs", "-o", "json", *words]) == 0
    shown = capsys.readouterr()
    return [run["id"] for run in json.loads(shown.out)], shown.err


def test_in_a_project_its_own_runs_are_shown_and_those_of_others_counted(
    projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(projects[0])
    assert listed(capsys) == (["one"], "Runs of other projects are left out, 1 of them: --all\n")
    assert listed(capsys, "--all") == (["other", "one"], "")


def test_in_a_project_that_is_reached_by_a_symlink_its_own_runs_are_shown(
    projects: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to(projects[1])
    leave(tmp_path / "runs", "linked", **{**GOOD, "watches": str(tmp_path / "link/watches.yaml")})
    monkeypatch.chdir(projects[1])
    assert listed(capsys)[0] == ["other", "linked"]


def test_of_a_run_that_names_no_watches_file_its_role_tells_the_project(
    projects: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    leave(tmp_path / "runs", "old", **{**GOOD, "content": str(projects[0] / "roles/website")})
    monkeypatch.chdir(projects[0])
    assert listed(capsys)[0] == ["one", "old"]


def test_outside_of_a_project_all_runs_are_shown(
    projects: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(projects[0].parent)
    assert listed(capsys) == (["other", "one"], "")


def test_of_a_directory_that_is_named_all_runs_are_shown(
    projects: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(projects[0])
    assert listed(capsys, "--runner-dir", str(tmp_path / "runs")) == (["other", "one"], "")


def test_a_run_is_shown_with_the_watches_file_that_asked_for_it(
    projects: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shown = said(capsys, tmp_path / "runs", "show", "other")[0]
    assert f"  watches  {projects[1]}/watches.yaml\n" in shown


def test_a_check_run_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave(tmp_path, "1", **GOOD, check=True)
    assert "warm (check)" in said(capsys, tmp_path)[0]


def test_programs_get_all_that_is_known(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newest, older = json.loads(said(capsys, root, "-o", "json")[0])
    assert (newest["id"], older["changed"]) == ("2222222222", GOOD["changed"])
    shown = json.loads(said(capsys, root, "show", "2", "-o", "json")[0])
    assert [task["result"] for task in shown["results"]] == ["ok", "failed"]


def test_that_older_runs_were_removed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        leave(tmp_path, f"{number}", hours=number, **{**GOOD, "kept": 3})
    assert "the newest 3 of a custom resource are kept (maxRunnerArtifacts)" in said(capsys, tmp_path)[1]


def test_what_cannot_be_read_is_said_in_a_word(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        (leave(root, f"9{number}", ObjectKey(SITE, "shop", "wiki")) / "run.json").write_text("{")
    out, notes = said(capsys, root)
    assert len(out.splitlines()) == 3
    assert (len(notes.splitlines()), notes.endswith("Left out: 2 more\n")) == (4, True)


def test_a_run_is_shown_with_its_reasons_and_its_tasks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, root, "show", "2222")[0]
    assert shown.splitlines()[:6] == [
        "Run 2222222222 of Site shop/blog, generation 3",
        f"  because  {TOLD}",
        "  started  2030-01-31T10:00:00+00:00, cold (the role uses sudo), attempt 2, the run before failed",
        "  result   failed in 1.2s: 12 ok, 11 changed, 0 skipped, 0 failed",
        f"           {FAILURE}",
        "  content  roles/website",
    ]
    assert shown.splitlines()[-2:] == [
        "  ok             0.2s  Look  roles/website/tasks/main.yml:4",
        "  failed         0.2s  Copy  roles/website/tasks/main.yml:4",
    ]


def test_a_failure_that_is_not_the_runs_is_told_below_its_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = leave(tmp_path, "1", **GOOD)
    put(run, event("runner_on_failed", "Try", {"msg": "no space"}), recap(rescued=1))
    rescued, message = said(capsys, tmp_path, "show", "1")[0].splitlines()[-2:]
    assert (rescued.split()[0], message.strip()) == ("rescued", "no space")


def test_an_id_of_no_run_is_refused_with_what_is_kept(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the newest runs are kept" in said(capsys, root, "show", "7", code=1)[1]


def test_an_id_of_several_runs_is_refused_with_them(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave(root, "2223", BLOG)
    assert "2223  Site shop/blog" in said(capsys, root, "show", "222", code=1)[1]


def test_an_id_is_asked_for(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "of which run?" in said(capsys, root, "show", code=1)[1]


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no directory" in said(capsys, tmp_path / "nowhere", code=1)[1]
