"""Processes that outlive whoever started them: recorded, recognised, ended; and one at a time in a directory."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.errors import DevError

# The record is the kernel's own line about the process; `exec` changes neither pid nor start time.
RECORD_THEN_EXEC = 'IFS= read -r stat </proc/$$/stat && printf "%s\\n" "$stat" >"$0" && exec "$@"'
RECORD_SECONDS = 10
# Positions after the program's name in /proc/<pid>/stat, which proc(5) calls fields 3 and 22.
STATE, START_TIME = 0, 19


TAIL_LINES = 15
# Lines of logs are shorter than this on average; a file is not read whole for its end.
LINE_BYTES = 1024


@dataclass(frozen=True)
class Process:
    """A process by its pid and its start time, in the kernel's clock ticks since boot."""

    pid: int
    started: int


def spawn(command: Sequence[str], record: Path, log: Path, directory: Path) -> Process:
    """Start `command` in a session of its own; its output goes to `log`, its record to `record`.

    Raises DevError when it cannot be started.
    """
    record.unlink(missing_ok=True)
    argv = ["/bin/sh", "-c", RECORD_THEN_EXEC, str(record), *command]
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    pid = os.posix_spawn(
        argv[0],
        argv,
        _environment(directory),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return _wait_for_record(record, pid, command[0])


def _environment(directory: Path) -> dict[str, str]:
    # Nothing of ours: a proxy, ETCD_* or KWOK_* variable would change what the components do.
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(directory)}


def _wait_for_record(record: Path, pid: int, program: str) -> Process:
    deadline = time.monotonic() + RECORD_SECONDS
    while time.monotonic() < deadline:
        process = recorded(record)
        if process is not None:
            return process
        _reap(pid)
        time.sleep(0.001)
    raise DevError(f"{program}: could not be started: no process record in {record}")


def recorded(record: Path) -> Process | None:
    """The process that `record` tells of; None where there is no whole record, or none that makes sense."""
    try:
        stat = record.read_text()
        return parse_stat(stat)[0] if stat.endswith("\n") else None
    except (FileNotFoundError, ValueError, IndexError):
        return None


def parse_stat(stat: str) -> tuple[Process, str]:
    """The process and its state letter, from a line of /proc/<pid>/stat."""
    # The program's name is in parentheses and may itself hold any character.
    before, _, after = stat.rpartition(")")
    fields = after.split()
    return Process(int(before.split(" ", 1)[0]), int(fields[START_TIME])), fields[STATE]


def alive(process: Process) -> bool:
    """Whether exactly this process still runs (a zombie does not)."""
    _reap(process.pid)
    try:
        current, state = parse_stat(Path(f"/proc/{process.pid}/stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return False
    return current == process and state not in "ZX"


def end(process: Process, grace: float) -> None:
    """Ask this process to end, and kill it after `grace` seconds (0: at once); return when it is gone."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        # Checked after opening: from here on the descriptor can mean no other process.
        if alive(process):
            _end(descriptor, grace)
    finally:
        os.close(descriptor)
        _reap(process.pid)


def _end(descriptor: int, grace: float) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    with suppress(ProcessLookupError):
        if grace:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
            if poll.poll(grace * 1000):
                return
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        poll.poll()


def _reap(pid: int) -> None:
    # Only a child of ours can be waited for; anybody else's is its parent's business.
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def memory(process: Process) -> int:
    """The memory this process alone accounts for (PSS), in bytes; 0 when it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


@contextmanager
def locked_directory(directory: Path) -> Iterator[None]:
    """Make `directory` (mode 0700) where it is missing, and hold its lock; whoever holds it may remove it."""
    while True:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(directory, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            # The previous holder may have removed the directory that we waited for.
            if _is_still(descriptor, directory):
                yield
                return


@contextmanager
def locked_file(file: Path) -> Iterator[None]:
    """Hold the lock of `file`, which is made and removed again, and its directory with it if that is empty."""
    while True:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _locked(file, os.O_RDWR | os.O_CREAT) as descriptor:
            # The previous holder has removed the file that we waited for.
            if _is_still(descriptor, file):
                try:
                    yield
                finally:
                    file.unlink()
                    with suppress(OSError):  # not empty
                        file.parent.rmdir()
                return


@contextmanager
def _locked(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log; empty where there is none."""
    try:
        with log.open("rb") as opened:
            opened.seek(max(0, log.stat().st_size - lines * LINE_BYTES))
            content = opened.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(content.splitlines()[-lines:])
