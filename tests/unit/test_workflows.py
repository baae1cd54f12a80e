"""The workflows of the project's home run nothing but targets of the Makefile, which exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.pins import RELEASES

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
VARIABLES = set(re.findall(r"\$\((?:or \$\()?([A-Z_]+)\b", (ROOT / "Makefile").read_text()))
SCRIPT = (ROOT / "tools/build_image.sh").read_text()


def jobs(file: Path) -> dict[str, dict[str, Any]]:
    return dict(yaml.safe_load(file.read_text())["jobs"])


def commands(file: Path) -> Iterator[str]:
    for job in jobs(file).values():
        yield from (step["run"] for step in job.get("steps", ()) if "run" in step)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_command_is_a_target_of_the_makefile(file: Path) -> None:
    found = list(commands(file))
    assert found
    for command in found:
        program, target, *arguments = command.replace("${{ ", "${{").replace(" }}", "}}").split()
        assert (program, target in TARGETS) == ("make", True), command
        for argument in arguments:
            name = argument.partition("=")[0]
            assert name in VARIABLES or f"${{{name}:-" in SCRIPT, command


def test_every_release_of_ansible_is_tested() -> None:
    (ci,) = (file for file in WORKFLOWS if file.name == "ci.yml")
    assert jobs(ci)["ansible"]["strategy"]["matrix"]["release"] == list(RELEASES)


def test_nothing_is_published_before_all_has_passed() -> None:
    (release,) = (file for file in WORKFLOWS if file.name == "release.yml")
    found = jobs(release)
    needs = {name: job.get("needs") for name, job in found.items()}
    assert needs == {"ci": None, "image": "ci", "index": "image", "package": "ci"}
    assert found["ci"]["uses"] == "./.github/workflows/ci.yml"


def test_actions_are_named_with_a_version() -> None:
    used = [
        step["uses"]
        for file in WORKFLOWS
        for job in jobs(file).values()
        for step in job.get("steps", ())
        if "uses" in step
    ]
    assert used
    assert [name for name in used if not re.fullmatch(r"[a-z-]+/[a-z-]+@(v\d+|[0-9a-f]{40})", name)] == []
