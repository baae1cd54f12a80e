"""A command of a test leaves no process, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.observer import wait_for
from tests.fixtures.commands import is_running, run_to_end

STARTS_ANOTHER = "sleep 300 & echo $! >pid; wait"


def ran(command: list[str], directory: Path, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    return run_to_end(command, directory, os.environ, directory, seconds=seconds)


def test_output_and_exit_code_of_a_command_are_returned(tmp_path: Path) -> None:
    ended = ran([sys.executable, "-c", "import sys; print('out'); sys.exit('err')"], tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "out\n", "err\n")


def test_process_of_a_command_that_takes_too_long_is_ended_with_it(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        ran(["/bin/sh", "-c", STARTS_ANOTHER], tmp_path, seconds=2)
    pid = int((tmp_path / "pid").read_text())
    wait_for("the process to be gone", lambda: not is_running(pid), seconds=10)
