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
SCAFFOLD = ROOT / "runner/scaffold/templates/project/dot-github/workflows/test.yml"
ALL = [*WORKFLOWS, SCAFFOLD]
USED = re.compile(r"uses: ([\w-]+/[\w-]+)@(\S+)")
PINNED = re.compile(r"(- )?uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
VARIABLES = set(re.findall(r"\$\((?:or \$\(|if \$\()?([A-Z_]+)\b", MAKEFILE))
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
    (without,) = re.findall(r"^RELEASE := \$\(or \$\(ANSIBLE\),(.*)\)$", MAKEFILE, re.MULTILINE)
    found = jobs(ci)["ansible"]["strategy"]["matrix"]["release"]
    assert sorted([*found, without]) == list(RELEASES)


def test_nothing_is_published_before_all_has_passed() -> None:
    (release,) = (file for file in WORKFLOWS if file.name == "release.yml")
    found = jobs(release)
    needs = {name: job.get("needs") for name, job in found.items()}
    assert needs == {"ci": None, "image": "ci", "index": "image", "package": "ci"}
    assert found["ci"]["uses"] == "./.github/workflows/ci.yml"


@pytest.mark.parametrize("file", ALL, ids=lambda file: file.name)
def test_every_action_is_pinned_by_its_commit_and_says_its_release(file: Path) -> None:
    lines = [line.strip() for line in file.read_text().splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert PINNED.fullmatch(line) or line == "uses: ./.github/workflows/ci.yml", line


def test_an_action_has_the_same_commit_wherever_it_is_used() -> None:
    found = {(match[1], match[2]) for file in ALL for match in USED.finditer(file.read_text())}
    assert len(found) == len({name for name, _ in found})


@pytest.mark.parametrize("file", ALL, ids=lambda file: file.name)
def test_a_workflow_may_read_the_repository_and_nothing_else(file: Path) -> None:
    assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}


def test_the_jobs_that_sign_and_publish_may_do_that_alone() -> None:
    (release,) = (file for file in WORKFLOWS if file.name == "release.yml")
    signing = {"id-token": "write", "attestations": "write"}
    given = {file.name: {name: job.get("permissions") for name, job in jobs(file).items()} for file in ALL}
    assert {name for name, of in given.items() if any(of.values())} == {release.name}
    assert given[release.name] == {
        "ci": None,
        "image": {"contents": "read", **signing},
        "index": {"contents": "read", **signing},
        "package": {"contents": "write", **signing},
    }


@pytest.mark.parametrize("file", ALL, ids=lambda file: file.name)
def test_a_checkout_leaves_no_token_behind(file: Path) -> None:
    steps = [step for job in jobs(file).values() for step in job.get("steps", ())]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert checkouts


def test_what_is_published_is_signed_or_has_a_provenance() -> None:
    (release,) = (file for file in WORKFLOWS if file.name == "release.yml")
    names = {
        name: [step.get("uses", step.get("run")).partition("@")[0] for step in job.get("steps", ())]
        for name, job in jobs(release).items()
    }
    provenance = "actions/attest-build-provenance"
    assert all(provenance in names[name] for name in ("image", "index", "package"))
    assert any(step.startswith("make sign-image ") for step in names["index"])
    assert names["package"].index(provenance) < names["package"].index("make push-wheel")
