"""Which of annotation, watches file, environment and flag goes first, from what is written to what is run."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.config.flags import add_flags
from runner.config.settings import Settings, read_settings
from runner.config.watchesfile import load_watches
from runner.control.annotations import ARTIFACTS, PERIOD, VERBOSITY
from runner.control.plan import Defaults, Occasion, Perform, plan
from runner.objects import GroupVersionKind

KIND = GroupVersionKind("my-fruit.example.com", "v1", "Apple")
SECRET = GroupVersionKind("", "v1", "Secret")
WORKERS, OLD_WORKERS = "MAX_CONCURRENT_RECONCILES_APPLE_MY-FRUIT_EXAMPLE_COM", "WORKER_APPLE_MY-FRUIT_EXAMPLE_COM"
LEVEL = "ANSIBLE_VERBOSITY_APPLE_MY-FRUIT_EXAMPLE_COM"


def settings(environment: dict[str, str], *flags: str) -> Settings:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return read_settings(parser.parse_args(flags), environment, terminal=False)


def performed(
    directory: Path, annotation: dict[str, str], field: str, environment: dict[str, str], *flags: str
) -> Perform:
    """The run of an object with that annotation, with that line in its watch."""
    (directory / "roles/apple").mkdir(parents=True)
    file = directory / "watches.yaml"
    file.write_text(f"- group: {KIND.group}\n  version: v1\n  kind: Apple\n  role: apple\n  {field}\n")
    asked = settings(environment, *flags)
    (watch,), _ = load_watches(file, directory, asked.environment)
    defaults = Defaults(reconcile_period=asked.reconcile_period, verbosity=asked.verbosity(watch.gvk))
    body = {"metadata": {"name": "a", "annotations": annotation}}
    step = plan(body, watch, defaults, Occasion(datetime(2026, 1, 1, tzinfo=UTC)))
    assert isinstance(step, Perform)
    return step


@pytest.mark.parametrize(
    ("annotation", "field", "flags", "period"),
    [
        ({}, "", (), 36000),
        ({}, "", ("--reconcile-period=3s",), 3),
        ({}, "reconcilePeriod: 2s", ("--reconcile-period=3s",), 2),
        ({}, "reconcilePeriod: 0s", ("--reconcile-period=3s",), 3),
        ({PERIOD: "1s"}, "reconcilePeriod: 2s", ("--reconcile-period=3s",), 2),
        ({PERIOD: "5s"}, "reconcilePeriod: 2s", ("--reconcile-period=3s",), 5),
        ({PERIOD: "0s"}, "reconcilePeriod: 2s", ("--reconcile-period=3s",), None),
        ({}, "reconcilePeriod: -1s", ("--reconcile-period=3s",), None),
    ],
)
def test_the_annotations_period_goes_before_the_watchs_and_that_before_the_flag(
    tmp_path: Path, annotation: dict[str, str], field: str, flags: tuple[str, ...], period: float | None
) -> None:
    assert performed(tmp_path, annotation, field, {}, *flags).period == period


@pytest.mark.parametrize(
    ("annotation", "field", "artifacts"),
    [
        ({}, "", 20),
        ({}, "maxRunnerArtifacts: 0", 20),
        ({}, "maxRunnerArtifacts: 5", 5),
        ({ARTIFACTS: "7"}, "maxRunnerArtifacts: 5", 7),
        ({ARTIFACTS: "many"}, "maxRunnerArtifacts: 5", 5),
    ],
)
def test_the_annotations_number_of_artifacts_goes_before_the_watchs(
    tmp_path: Path, annotation: dict[str, str], field: str, artifacts: int
) -> None:
    assert performed(tmp_path, annotation, field, {}).max_artifacts == artifacts


@pytest.mark.parametrize(
    ("annotation", "environment", "flags", "verbosity"),
    [
        ({}, {}, (), 2),
        ({}, {}, ("--ansible-verbosity=3",), 3),
        ({}, {}, ("--ansible-verbosity=9",), 7),
        ({}, {}, ("--ansible-verbosity=-1",), 0),
        ({}, {LEVEL: "4"}, ("--ansible-verbosity=3",), 4),
        ({}, {LEVEL: "8"}, ("--ansible-verbosity=3",), 3),
        ({}, {"ANSIBLE_VERBOSITY": "6"}, ("--ansible-verbosity=3",), 3),
        ({VERBOSITY: "5"}, {LEVEL: "4"}, ("--ansible-verbosity=3",), 5),
    ],
)
def test_the_annotations_verbosity_goes_before_the_variable_and_that_before_the_flag(
    tmp_path: Path,
    annotation: dict[str, str],
    environment: dict[str, str],
    flags: tuple[str, ...],
    verbosity: int,
) -> None:
    assert performed(tmp_path, annotation, "", environment, *flags).verbosity == verbosity


@pytest.mark.parametrize(
    ("environment", "workers"),
    [
        ({}, 3),
        ({WORKERS: "5"}, 5),
        ({OLD_WORKERS: "6"}, 6),
        ({WORKERS: "5", OLD_WORKERS: "6"}, 5),
        ({WORKERS: "many", OLD_WORKERS: "6"}, 3),
        ({WORKERS: "0", OLD_WORKERS: "6"}, 3),
        ({OLD_WORKERS: "-1"}, 3),
        ({WORKERS.replace("-", "_"): "5"}, 3),
    ],
)
def test_the_variable_of_a_kinds_workers_goes_before_the_flag(environment: dict[str, str], workers: int) -> None:
    assert settings(environment, "--max-concurrent-reconciles=3").workers(KIND) == workers


def test_the_variable_of_a_core_kind_ends_with_an_underscore() -> None:
    environment = {"MAX_CONCURRENT_RECONCILES_SECRET_": "5", "MAX_CONCURRENT_RECONCILES_SECRET": "6"}
    assert settings(environment, "--max-concurrent-reconciles=3").workers(SECRET) == 5


@pytest.mark.parametrize("name", ["ANSIBLE_ROLES_PATH", "ANSIBLE_COLLECTIONS_PATH"])
@pytest.mark.parametrize(
    ("variable", "given", "expected"), [("/env", None, "/env"), ("/env", "", "/env"), ("/env", "/flag", "/flag")]
)
def test_a_flag_of_a_path_goes_before_its_variable(
    name: str, variable: str, given: str | None, expected: str
) -> None:
    flag = [] if given is None else [f"--{name.lower().replace('_', '-')}={given}"]
    assert settings({name: variable}, *flag).environment[name] == expected
