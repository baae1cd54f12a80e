"""What a run leaves behind."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runner.config.watches import Content
from runner.execute.artifacts import (
    StdoutFile,
    about,
    begin,
    described_environment,
    finish,
    over,
    rotate,
    started,
    tell,
)
from runner.execute.failure import failed
from runner.execute.outcome import Ending, Outcome, Stats
from runner.execute.run import Run
from runner.objects import GroupVersionKind, ObjectKey


def some_runs(directory: Path, *names: str) -> None:
    for age, name in enumerate(names):
        (directory / name / "job_events").mkdir(parents=True)
        os.utime(directory / name, (age, age))


@pytest.mark.parametrize(
    ("keep", "kept"), [(1, {"3"}), (2, {"2", "3"}), (3, {"1", "2", "3"}), (9, {"1", "2", "3"})]
)
def test_the_artifacts_of_the_newest_runs_are_kept(tmp_path: Path, keep: int, kept: set[str]) -> None:
    some_runs(tmp_path, "1", "2", "3")
    rotate(tmp_path, keep, newest="3")

    assert {path.name for path in tmp_path.iterdir()} == kept


@pytest.mark.parametrize("keep", [0, -1])
def test_the_artifacts_of_every_run_are_kept_where_that_is_asked_for(tmp_path: Path, keep: int) -> None:
    some_runs(tmp_path, "1", "2", "3")
    rotate(tmp_path, keep, newest="3")

    assert len(list(tmp_path.iterdir())) == 3


def test_the_link_to_the_latest_artifacts_counts_as_no_run(tmp_path: Path) -> None:
    some_runs(tmp_path, "1", "2")
    (tmp_path / "latest").symlink_to(tmp_path / "2")
    rotate(tmp_path, 1, newest="2")

    assert {path.name for path in tmp_path.iterdir()} == {"2", "latest"}


def test_the_run_that_just_ended_is_kept_whatever_the_clock_says(tmp_path: Path) -> None:
    some_runs(tmp_path, "just-ended", "from-the-future")
    rotate(tmp_path, 1, newest="just-ended")

    assert [path.name for path in tmp_path.iterdir()] == ["just-ended"]


def test_the_latest_link_is_absolute_and_replaced(tmp_path: Path) -> None:
    for name in ("1", "2"):
        begin(tmp_path / name, ["ansible-playbook"], "/", {})
        finish(tmp_path / name, "successful", 0)

    assert (tmp_path / "latest").readlink() == tmp_path / "2"
    assert {path.name for path in tmp_path.iterdir()} == {"1", "2", "latest"}


WHY = {"reasons": [{"trigger": "changed", "fields": ["spec.size"]}], "attempt": 2, "previous": "failed"}
RUN = Run(
    ident="7",
    key=ObjectKey(GroupVersionKind("example.com", "v1", "Thing"), "ns", "first"),
    uid="u",
    content=Content(Path("/roles/thing"), is_role=True),
    extra_vars={"password": "s3cr3t"},
    kubeconfig="s3cr3t",
    generation=3,
    why=WHY,
)


def test_a_run_leaves_why_and_how_it_was_started_in_a_private_file(tmp_path: Path) -> None:
    started(tmp_path, RUN, "cold", "a reason")
    file = tmp_path / "run.json"
    found = json.loads(file.read_text())
    assert found.pop("started").endswith("Z")
    assert found == {
        "id": "7",
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "namespace": "ns",
        "name": "first",
        "uid": "u",
        "generation": 3,
        "content": "/roles/thing",
        "kept": 20,
        "engine": "cold",
        "whyCold": "a reason",
        **WHY,
    }
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_is_not_known_of_a_run_is_left_out(tmp_path: Path) -> None:
    started(tmp_path, replace(RUN, generation=0, why={"reasons": [], "attempt": 1, "previous": ""}), "warm", "")
    found = json.loads((tmp_path / "run.json").read_text())
    assert not {"generation", "whyCold", "reasons", "previous"} & set(found)


def test_a_file_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    begin(tmp_path / "1", [], "/", {})
    (tmp_path / "1/stdout").unlink()
    (tmp_path / "1/stdout").symlink_to("/dev/full")
    file = StdoutFile(tmp_path / "1")
    file.write("text")
    file.flush()
    file.write("more")
    file.close()


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("ANSIBLE_ROLES_PATH", "/opt/ansible/roles", True),
        ("ANSIBLE_HOST_KEY_CHECKING", "False", True),
        ("KUBECONFIG", "/run/kubeconfig", True),
        ("K8S_AUTH_API_KEY", "abc", False),
        ("ANSIBLE_VAULT_PASSWORD_FILE", "/vault", False),
        ("DATABASE_PASSWORD", "abc", False),
        ("LICENSE", "abc", False),
        ("https_proxy", "http://proxy:3128", True),
        ("HTTPS_PROXY", "http://user:abc@proxy:3128", False),
    ],
)
def test_of_a_runs_environment_the_artifacts_show_what_is_no_secret(name: str, value: str, shown: bool) -> None:
    assert described_environment({name: value}) == {name: value if shown else "(hidden)"}


def test_what_came_of_a_run_is_added_when_it_has_ended() -> None:
    outcome = Outcome(Ending.FINISHED, 2, Stats(ok=2, failures=1), ("no",), (failed({"res": {"msg": "no"}}),))
    began = datetime(2030, 1, 31, 9, tzinfo=UTC)
    found = over(about(RUN, "warm", "", began), outcome, began + timedelta(seconds=1.5))
    assert {name: found[name] for name in ("ended", "result", "seconds", "tasks", "failures")} == {
        "ended": "2030-01-31T09:00:01.500Z",
        "result": "failed",
        "seconds": 1.5,
        "tasks": {"ok": 2, "changed": 0, "skipped": 0, "failures": 1},
        "failures": ["no"],
    }


def test_the_api_calls_of_a_run_are_in_order_and_left_out_where_there_are_none() -> None:
    outcome, now = Outcome(Ending.FINISHED, 0, Stats()), datetime.now(UTC)
    calls = {("patch", "apps", "deployments", "a", "web"), ("get", "", "pods", "a", "")}
    assert over(about(RUN, "warm", "", now), outcome, now, calls)["calls"] == sorted(calls)
    assert "calls" not in over(about(RUN, "warm", "", now), outcome, now)


def test_a_check_run_says_so() -> None:
    checking = replace(RUN, ansible_args="--tags a --check --diff")
    assert about(checking, "warm", "", datetime.now(UTC))["check"] is True


def test_whoever_reads_the_file_never_finds_half_of_it(tmp_path: Path) -> None:
    tell(tmp_path, {"id": "7"})
    with (tmp_path / "run.json").open() as before:
        tell(tmp_path, {"id": "8"})
        assert json.load(before) == {"id": "7"}
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]
