"""tools/build_image.sh before it builds: what it hands to the builder, and what it refuses to call the same."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "tools/build_image.sh"
DIGEST = f"python:3.12-slim-bookworm@sha256:{'0a' * 32}"
SNAPSHOT = "20250520T000000Z"


def build(directory: Path, **variables: str) -> tuple[int, str, list[str]]:
    """Exit code, stderr, and the builder's command lines."""
    asked = directory / "asked"
    docker = directory / "docker"
    docker.write_text(f'#!/bin/sh\necho "$*" >>{asked}\n')
    docker.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{directory}:{os.environ['PATH']}",
        "BUILDER": "docker",
        "OUT": str(directory / "out"),
        **variables,
    }
    done = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr, asked.read_text().splitlines() if asked.exists() else []


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({}, "BASE with its digest"),
        ({"SNAPSHOT": SNAPSHOT, "ARCHIVE": "http://elsewhere"}, "BASE with its digest"),
        (
            {"SNAPSHOT": SNAPSHOT, "ARCHIVE": "http://elsewhere", "BASE": "python:3.12@sha256:abc"},
            "BASE with its digest",
        ),
        ({"BASE": DIGEST}, "SNAPSHOT"),
        ({"BASE": "debootstrap"}, "SNAPSHOT"),
    ],
)
def test_a_base_that_can_change_is_refused_where_builds_must_be_the_same(
    tmp_path: Path, variables: dict[str, str], missing: str
) -> None:
    code, said, asked = build(tmp_path, PINNED="1", **variables)
    assert (code, [line for line in asked if line.startswith("build")]) == (1, [])
    assert f"PINNED=1 needs {missing}" in said


def test_a_pinned_image_is_built_from_its_digest_and_its_snapshot(tmp_path: Path) -> None:
    code, said, asked = build(tmp_path, PINNED="1", BASE=DIGEST, SNAPSHOT=SNAPSHOT, ARCHIVE="http://elsewhere")
    base = next(line for line in asked if "-f Dockerfile" in line)
    assert code == 0, said
    assert f"BASE={DIGEST}" in base
    assert f"SNAPSHOT={SNAPSHOT}" in base


def test_an_image_that_is_not_pinned_is_built_and_called_so(tmp_path: Path) -> None:
    code, said, asked = build(tmp_path)
    assert code == 0
    assert any("-f Dockerfile" in line for line in asked)
    assert "not pinned" in said


@pytest.mark.parametrize("snapshot", ["yesterday", "20250520", "20250520T000000Z main http://elsewhere"])
def test_a_snapshot_that_is_no_point_in_time_is_refused(tmp_path: Path, snapshot: str) -> None:
    code, said, _ = build(tmp_path, SNAPSHOT=snapshot)
    assert code == 1
    assert "SNAPSHOT" in said


def test_a_snapshot_without_the_address_of_the_service_is_refused(tmp_path: Path) -> None:
    code, said, _ = build(tmp_path, SNAPSHOT=SNAPSHOT)
    assert code == 1
    assert "SNAPSHOT needs ARCHIVE" in said
