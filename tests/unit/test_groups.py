"""With `--dist loadgroup` one process runs all tests of a group."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.fixtures import groups

TESTS = """
import os
import pytest

@pytest.mark.xdist_group("dear")
@pytest.mark.parametrize("number", range(8))
def test_that_shares(number):
    with open("processes", "a") as file:
        file.write(f"{os.getpid()}\\n")
"""


def test_one_process_runs_all_tests_of_a_group(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(Path(groups.__file__).read_text())
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "-n", "2", "--dist", "loadgroup", "test_it.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "8 passed" in ended.stdout, ended.stdout + ended.stderr
    assert len(set((tmp_path / "processes").read_text().split())) == 1
