"""`scorecard`: the basic and OLM tests of operator-sdk's scorecard, on the local control plane."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.dev.controlplane import ControlPlane
from runner.dev.layout import default_directory
from runner.errors import SettingsError
from runner.scorecard.checks import Seen, State, run
from runner.scorecard.report import as_json, as_text, labels
from runner.scorecard.trial import Trial
from runner.validate.bundle.check import MANIFESTS, check
from runner.validate.bundle.files import CSV, SUITES
from runner.validate.documents import project_directory, read, shown, yaml_files

WITHIN = 60.0
"""Seconds that the operator has for the examples."""
_BEYOND_OLM = ("CustomResourceDefinition", CSV)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "bundle", nargs="?", default="bundle", metavar="BUNDLE", help="its directory (default: bundle)"
    )
    parser.add_argument("--project", default=".", metavar="DIRECTORY", help="with watches.yaml (default: here)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="(default: text)")
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="which tests, such as suite=olm or test=NAME-test"
    )
    parser.add_argument(
        "--wait-time", type=float, default=WITHIN, metavar="SECONDS", help="for the examples (default: 60)"
    )
    parser.add_argument(
        "--dir",
        type=Path,
        metavar="PLANE",
        help="the control plane, of `dev up` (default: its own, or a passing one)",
    )


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the results; the exit code is 1 where a test fails. Raises SettingsError, DevError."""
    names = _selected(parsed.selector)
    directory = project_directory(parsed.bundle)
    project = project_directory(parsed.project)
    if not (project / "watches.yaml").is_file():
        raise SettingsError(f"{shown(project)} has no watches.yaml: name the project with --project")
    content = _read(directory)
    seen = replace(content.seen, findings=check(directory))
    with tempfile.TemporaryDirectory(prefix="scorecard-") as work, _plane(parsed.dir) as plane:
        seen = _tried(seen, content.others, plane, project, environment, Path(work), parsed.wait_time)
    results = [run(name, seen) for name in names]
    sys.stdout.write(as_json(results) if parsed.output == "json" else as_text(results))
    return 1 if any(result.state is State.FAIL for result in results) else 0


def _selected(selector: str) -> list[str]:
    """The tests with these labels. Raises SettingsError where there is none."""
    wanted = dict(one.strip().partition("=")[::2] for one in selector.split(",") if one.strip())
    found = [name for name in SUITES if wanted.items() <= labels(name).items()]
    if not found:
        raise SettingsError(
            f"no test has the labels {selector}: there are suite=basic, suite=olm and test=NAME-test"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Content:
    seen: Seen
    others: list[dict[str, Any]]


def _read(directory: Path) -> _Content:
    """The objects of a bundle. Raises SettingsError where it has no ClusterServiceVersion."""
    objects = [document.node.plain() for file in yaml_files(directory / MANIFESTS) for document in read(file)[0]]
    objects = [found for found in objects if isinstance(found, dict) and "kind" in found]
    versions = [found for found in objects if found["kind"] == CSV]
    if not versions:
        raise SettingsError(
            f"{shown(directory)} has no {CSV}: make the bundle with `ansible-operator generate bundle`"
        )
    annotations = versions[0].get("metadata", {}).get("annotations") or {}
    try:
        examples = json.loads(annotations.get("alm-examples") or "[]")
    except ValueError:
        examples = []
    crds = [found for found in objects if found["kind"] == "CustomResourceDefinition"]
    others = [found for found in objects if found["kind"] not in _BEYOND_OLM]
    deployments = versions[0].get("spec", {}).get("install", {}).get("spec", {}).get("deployments") or ()
    others += [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": one["name"]}, "spec": one["spec"]}
        for one in deployments
    ]
    return _Content(Seen(versions[0], crds, examples), others)


@contextmanager
def _plane(directory: Path | None) -> Iterator[ControlPlane]:
    """The control plane that runs, or one that is ended again. Raises DevError."""
    plane = ControlPlane(directory or default_directory("default"))
    if plane.is_running():
        yield plane
        return
    with tempfile.TemporaryDirectory(prefix="scorecard-plane-") as work:
        sys.stderr.write("starting a control plane; `ansible-operator dev up` keeps one\n")
        with ControlPlane(Path(work) / "plane") as passing:
            yield passing


def _tried(
    seen: Seen,
    others: list[dict[str, Any]],
    plane: ControlPlane,
    project: Path,
    environment: Mapping[str, str],
    work: Path,
    seconds: float,
) -> Seen:
    """With what the API server refuses, and what the operator made of the examples."""
    trial = Trial(plane, work / "operator.log")
    crds = [dict(crd) for crd in seen.crds]
    with trial.namespace():
        trial.define(crds)
        trial.dry_run(others)
        places = trial.create([dict(example) for example in seen.examples], crds)
        with trial.operator(project, environment):
            reconciled = trial.reconciled(places, seconds)
    return replace(seen, refused=trial.refused, reconciled=reconciled)
