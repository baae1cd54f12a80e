"""The operator is killed or told to stop in the middle of a run: nothing is lost, nothing runs twice at once."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from bench.observer import wait_for
from bench.operator import OperatorProcess
from tests.fixtures.operators import PATIENCE, Operate, Project, Things, directories_below, files_below, ledger

pytestmark = pytest.mark.cluster

SLOW = """
- name: Say when this begins, take a while, say when it ends
  ansible.builtin.shell:
    cmd: |
      echo '{"begin": "'$(date +%s.%N)'"}' >> "$LEDGER"
      sleep {{ seconds }}
      echo '{"end": "'$(date +%s.%N)'"}' >> "$LEDGER"
  changed_when: true
"""


@pytest.fixture
def book(project: Project) -> Path:
    project.role("slow", SLOW)
    project.watch("slow")
    return project / "ledger.jsonl"


def test_kill_9_in_the_middle_of_a_run_leaves_no_process_and_the_next_start_finishes_the_job(
    operate: Operate, things: Things, book: Path
) -> None:
    operator = operate(LEDGER=str(book))
    things.create("first", {"seconds": 4})
    wait_for("the run to begin", lambda: ledger(book), seconds=PATIENCE)
    operator.kill()
    wait_for("every process of the run to be gone", lambda: not processes_of_runs(book), seconds=10)
    assert [list(entry) for entry in ledger(book)] == [["begin"]]
    things.patch("first", {"spec": {"seconds": 0}})
    operator.start()
    things.wait("first", "Successful")
    assert [list(entry) for entry in ledger(book)] == [["begin"], ["begin"], ["end"]]


def test_started_again_at_once_after_kill_9_no_two_runs_of_one_resource_overlap(
    operate: Operate, things: Things, book: Path
) -> None:
    operator = operate(LEDGER=str(book))
    things.create("first", {"seconds": 2})
    for count in (1, 2):
        wait_for(f"run {count} to begin", partial(_has_begun, book, count), seconds=PATIENCE)
        operator.kill()
        operator.start()
    things.wait("first", "Successful")
    ended = [entry for entry in ledger(book) if "end" in entry]
    assert len(ended) == 1
    assert "end" in ledger(book)[-1]


def test_sigterm_lets_a_run_finish_and_its_result_is_written(operate: Operate, things: Things, book: Path) -> None:
    operator = operate(LEDGER=str(book))
    things.create("first", {"seconds": 2})
    wait_for("the run to begin", lambda: ledger(book), seconds=PATIENCE)
    assert operator.stop() == 0
    assert things.condition("first", "Successful")["status"] == "True"


def test_a_run_that_outlasts_the_grace_period_is_ended_and_the_exit_code_says_so(
    operate: Operate, things: Things, book: Path
) -> None:
    operator = operate("--graceful-shutdown-timeout=1s", LEDGER=str(book))
    things.create("first", {"seconds": 600})
    wait_for("the run to begin", lambda: ledger(book), seconds=PATIENCE)
    assert operator.stop() == 1
    assert not processes_of_runs(book)
    running = things.condition("first", "Running")
    assert (running["status"], running["reason"]) == ("False", "Interrupted")


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_operator_at_once_and_every_process_of_its_runs(
    operate: Operate, things: Things, book: Path, second: signal.Signals
) -> None:
    operator = operate("--graceful-shutdown-timeout=-1s", LEDGER=str(book))
    things.create("first", {"seconds": 600})
    wait_for("the run to begin", lambda: ledger(book), seconds=PATIENCE)
    os.kill(operator.pid, signal.SIGTERM)
    wait_for("the operator to be stopping", lambda: list(operator.records("Stopping")), seconds=PATIENCE)
    os.kill(operator.pid, second)
    assert operator.wait(10) == 1
    wait_for("every process of the run to be gone", lambda: not processes_of_runs(book), seconds=10)


def test_deleting_a_resource_leaves_nothing_of_its_runs_on_disk(
    operate: Operate, things: Things, book: Path
) -> None:
    operator: OperatorProcess = operate(LEDGER=str(book))
    things.create("first", {"seconds": 0})
    things.wait("first", "Successful")
    assert list(operator.runner_dir.rglob("first"))
    things.delete("first")
    wait_for("its files to be gone", lambda: not files_below(operator.runner_dir), seconds=PATIENCE)


def test_what_was_deleted_while_no_operator_ran_leaves_nothing_on_disk_once_one_does(
    operate: Operate, things: Things, book: Path
) -> None:
    operator: OperatorProcess = operate(LEDGER=str(book))
    for name in ("first", "second"):
        things.create(name, {"seconds": 0})
        things.wait(name, "Successful")
    operator.stop()
    things.delete("first")
    operator.start()
    wait_for(
        "its files to be gone", lambda: "first" not in directories_below(operator.runner_dir), seconds=PATIENCE
    )
    assert "second" in directories_below(operator.runner_dir)


def _has_begun(book: Path, count: int) -> bool:
    return len(begun(book)) >= count


def begun(book: Path) -> list[object]:
    return [entry for entry in ledger(book) if "begin" in entry]


def processes_of_runs(book: Path) -> list[int]:
    """Processes that carry the ledger's path in their environment: everything a run has started."""
    marker = f"LEDGER={book}".encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
        except OSError:
            continue
    return found
