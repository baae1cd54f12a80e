"""Roles that ask for too much, of the disk and of who reads what they print: it costs nobody else anything."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import accounting
from bench.observer import wait_for
from tests.fixtures.operators import Operate, Project, Things
from tests.fixtures.watcher import ALL, Watcher

pytestmark = pytest.mark.cluster

MEBI = 1 << 20
ROOM = 24 * MEBI
FILLS = """
- name: Fill whatever there is
  ansible.builtin.shell:
    cmd: cat /dev/zero > "{{ place }}/filled"
  changed_when: true
"""
MEGABYTES = 100 if ALL else 10
PIECE = 2
"""Megabytes of one result, of which the play holds one at a time."""
PRINTS = f"""
- name: Print a piece
  ansible.builtin.command:
    argv: ["{{{{ ansible_playbook_python }}}}", "-c", "{{{{ program }}}}"]
  changed_when: false
  loop: "{{{{ range(megabytes // {PIECE}) | list }}}}"
  vars:
    program: "import sys; [sys.stdout.write('x' * 99 + '{{{{ end }}}}') for _ in range({PIECE}0000)]"
"""


@contextmanager
def small(place: Path) -> Iterator[Path]:
    """A file system of its own with little room, as an emptyDir with a limit is; needs root."""
    place.mkdir(parents=True, mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=0700", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    """Where the operator of the test keeps its runs."""
    with small(tmp_path / "operator" / "runner") as place:
        yield place


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as full:
        try:
            while True:
                full.write(b"0" * 4096)
        except OSError:
            return


def test_on_a_full_disk_runs_fail_and_say_why_and_all_is_done_when_there_is_room_again(
    operate: Operate, things: Things, watcher: Watcher, book: Path, runs: Path
) -> None:
    operator = operate("--zap-log-level=debug", LEDGER=str(book))
    things.create("before")
    things.wait("before", "Successful")
    fill(runs / "full")
    things.patch("before", {"spec": {"text": "meanwhile"}})
    things.create("meanwhile")
    failed = things.wait("meanwhile", "Failure")
    (runs / "full").unlink()
    for name in ("before", "meanwhile"):
        things.wait(name, "Successful", seconds=120)

    message = next(c["message"] for c in failed["status"]["conditions"] if c["type"] == "Failure")
    assert "No space left on device" in message
    assert watcher.problems([operator]) == []


def test_a_role_that_fills_the_disk_fails_and_what_it_leaves_costs_no_other_its_run(
    operate: Operate, project: Project, things: Things, watcher: Watcher, book: Path, runs: Path
) -> None:
    project.role("fills", FILLS)
    project.watch("fills", kind="Gadget", vars={"place": str(runs)})
    operator = operate("--zap-log-level=debug", LEDGER=str(book))
    things.create("greedy", kind="Gadget")
    things.wait("greedy", "Failure", kind="Gadget")
    things.delete("greedy", kind="Gadget")
    (runs / "filled").unlink()
    things.create("modest")
    things.wait("modest", "Successful", seconds=120)

    assert watcher.problems([operator]) == []


@pytest.mark.parametrize("end", [r"\\n", "x"], ids=["in lines", "without a line break"])
def test_a_role_that_prints_without_measure_succeeds_and_the_operator_stays_small(
    operate: Operate, project: Project, things: Things, end: str
) -> None:
    project.role("prints", PRINTS)
    project.watch("prints", vars={"end": end})
    operator = operate()
    things.create("short", {"megabytes": PIECE})
    things.wait("short", "Successful")
    before, most = accounting.resident(operator.pid), 0
    things.create("long", {"megabytes": MEGABYTES})

    def done() -> bool:
        nonlocal most
        most = max(most, accounting.resident(operator.pid))
        return things.condition("long", "Successful").get("status") == "True"

    wait_for("the run to succeed", done, seconds=120)
    print(f"{MEGABYTES} MB: {(most - before) / MEBI:.0f} MiB more")
    assert operator.printed().count("x" * 99) >= MEGABYTES * 10_000
    assert most - before < 30 * PIECE * MEBI
