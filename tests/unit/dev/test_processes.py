from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.observer import wait_for
from runner.dev import processes
from runner.dev.processes import Process

DEADLINE = 10.0
STUBBORN = ["/bin/sh", "-c", 'trap "" TERM; echo deaf; while :; do sleep 1; done']


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    process = spawn(tmp_path, ["/bin/sleep", "300"])
    yield process
    processes.end(process, grace=0)


def spawn(directory: Path, command: list[str]) -> Process:
    return processes.spawn(command, directory / "record", directory / "log", directory)


def wait_for_content(file: Path, content: str) -> None:
    def came() -> bool:
        return file.exists() and content in file.read_text()

    wait_for(f"{content!r} in {file}", came, seconds=DEADLINE, every=0.01)


def test_stat_line_is_read_whatever_the_program_is_called() -> None:
    line = "42 (a) S (b) R 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0\n"

    assert processes.parse_stat(line) == (Process(42, 98765), "R")


def test_process_writes_its_own_record(tmp_path: Path, sleeper: Process) -> None:
    assert processes.recorded(tmp_path / "record") == sleeper


def test_no_record_tells_of_no_process(tmp_path: Path) -> None:
    assert processes.recorded(tmp_path / "record") is None


def test_half_written_record_tells_of_no_process(tmp_path: Path) -> None:
    (tmp_path / "record").write_text("42 (sh) S 1 42")

    assert processes.recorded(tmp_path / "record") is None


@pytest.mark.parametrize("content", ["mine\n", "\n", "1 (x) S\n", "x (y) " + "S " * 30 + "\n"])
def test_a_file_that_is_no_record_tells_of_no_process(tmp_path: Path, content: str) -> None:
    (tmp_path / "record").write_text(content)

    assert processes.recorded(tmp_path / "record") is None


def test_started_process_is_alive(sleeper: Process) -> None:
    assert processes.alive(sleeper)


def test_process_leads_its_own_session(sleeper: Process) -> None:
    assert os.getsid(sleeper.pid) == sleeper.pid


def test_ended_process_is_not_alive(sleeper: Process) -> None:
    processes.end(sleeper, grace=DEADLINE)

    assert not processes.alive(sleeper)


def test_process_that_reuses_a_recorded_pid_is_not_ours(sleeper: Process) -> None:
    assert not processes.alive(replace(sleeper, started=sleeper.started - 1))


def test_process_that_reuses_a_recorded_pid_is_left_alone(sleeper: Process) -> None:
    processes.end(replace(sleeper, started=sleeper.started - 1), grace=0)

    assert processes.alive(sleeper)


def test_process_that_will_not_end_is_killed(tmp_path: Path) -> None:
    process = spawn(tmp_path, STUBBORN)
    wait_for_content(tmp_path / "log", "deaf")

    processes.end(process, grace=0.05)

    assert not processes.alive(process)


def test_ending_a_process_that_is_gone_is_no_error(sleeper: Process) -> None:
    processes.end(sleeper, grace=0)

    processes.end(sleeper, grace=0)


def test_output_and_errors_of_a_process_go_to_its_log(tmp_path: Path) -> None:
    spawn(tmp_path, ["/bin/sh", "-c", "echo out; echo err >&2"])

    wait_for_content(tmp_path / "log", "out\nerr\n")


def test_our_environment_does_not_reach_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCD_DATA_DIR", "/elsewhere")

    spawn(tmp_path, ["/bin/sh", "-c", 'echo "[$ETCD_DATA_DIR] $HOME"'])

    wait_for_content(tmp_path / "log", f"[] {tmp_path}\n")


def test_memory_of_a_running_process_is_known(sleeper: Process) -> None:
    assert processes.memory(sleeper) > 0


def test_memory_of_a_gone_process_is_none(sleeper: Process) -> None:
    processes.end(sleeper, grace=0)

    assert processes.memory(sleeper) == 0
