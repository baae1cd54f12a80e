"""What a process has started is ended when that process is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.guard import Guard
from bench.observer import wait_for
from bench.operator import OperatorProcess

STARTS_AN_OPERATOR = """
import sys, time
from pathlib import Path
from bench.operator import OperatorProcess
work = Path(sys.argv[1])
operator = OperatorProcess(work, work, work, command=("/bin/sh", "-c", "exec sleep 100"))
operator.start(ready=False)
print(operator.pid, flush=True)
time.sleep(100)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_operator_does_not_outlive_the_process_that_started_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_AN_OPERATOR, tmp_path], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        operator = int(starter.stdout.readline())
        assert alive(operator)
        starter.kill()
    wait_for("the operator to end", lambda: not alive(operator), seconds=30)


def test_a_guard_that_is_dismissed_runs_nothing(tmp_path: Path) -> None:
    guard = Guard(["touch", str(tmp_path / "ran")])
    guard.dismiss()
    assert not (tmp_path / "ran").exists()


def test_an_operator_that_is_interrupted_before_it_is_ready_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = OperatorProcess(tmp_path, tmp_path, tmp_path, command=("/bin/sh", "-c", "exec sleep 100"))
    started: list[int] = []

    def interrupt(*_: object, **__: object) -> None:
        started.append(operator.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr("bench.operator.wait_for", interrupt)
    with pytest.raises(KeyboardInterrupt), operator:
        pass
    assert not alive(started[0])
