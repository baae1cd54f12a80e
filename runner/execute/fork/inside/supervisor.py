"""Stands between the operator and ansible-playbook, so that no process of a run outlives it, come what may.

A program of its own: `python -I -S supervisor.py <lifeline> <lock> <until> <command>...`. It imports nothing of
`runner` and little of the standard library, so that it starts in some milliseconds.

- It is the subreaper of everything the command starts: what calls setsid, or loses its parent, stays below it.
- `lifeline` is the read end of a pipe whose write end only the operator holds. When that closes, because the
  operator wants the run to end or because it died, however it died, every descendant is ended: SIGTERM, a short
  grace, then SIGKILL until none is left.
- After the moment `until` (in seconds since the machine was started, or `inf`) every descendant is ended in the
  same way, unless the operator has written a later moment into the lifeline, as a line: an operator that was
  frozen cannot end its runs, and when it has lost its lease another operator may be about to start them again.
- `lock` is a locked file; it stays locked, and the next run of the same object waits, until none is left.
- What cannot be ended (another user's process, one that hangs in the kernel) is given up after a while: the run is
  over, and a process that is left behind keeps the lock, with the names of what is left in the locked file.
- What is still there when the command ends (a daemon, `async` with `poll: 0`, an ssh master) is ended the same
  way: a run is over when its last process is.
- What it starts is killed first when memory runs out, so that a run does not take the operator along.
- It holds no end of the output pipe, and exits with the command's code, or with 128 + the signal that ended it.

Needs Linux 5.3 (pidfd_open).
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time

TYPE_CHECKING = False  # `typing` would take longer to import than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
GIVEN_UP = 10.0
"""Seconds after the first SIGKILL until what it does not end is given up."""

_NEVER = float("inf")
_LONGEST_NAP = 1.0
"""Seconds; the time the machine is suspended does not count for poll, but for `until`."""

# The module `signal` would take longer to import than everything else here.
_SIGHUP, _SIGINT, _SIGQUIT, _SIGKILL, _SIGPIPE, _SIGTERM = 1, 2, 3, 9, 13, 15
_SIG_DFL, _SIG_IGN = 0, 1
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_OOM = "/proc/self/oom_score_adj"
_EARLIER, _FIRST = 500, 1000
_libc = ctypes.CDLL(None)


def main(lifeline: int, lock: int, until: float, command: list[str]) -> int:
    """Run `command` to its end, to the lifeline's, or to the moment `until`; its exit code."""
    os.set_inheritable(lifeline, False)
    os.set_inheritable(lock, False)
    adopt()
    child = _start(command)
    let_go_of_output()
    code = supervise(child, lifeline, until)
    if not all_exited():
        _keep_locked(lock)
    return code


def adopt() -> None:
    """Become the one to whom all orphans below come, in a session of our own."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def supervise(child: int, lifeline: int, until: float, ending: Callable[[], None] | None = None) -> int:
    """Wait for `child`, the lifeline or the moment `until`, then end what is left; the exit code of `child`.

    `ending` is called when it is over, before what is left is ended.
    """
    _ignore_signals()
    _wait_for_any(child, lifeline, until)
    if ending:
        ending()
    code = _code_of(child)
    if code is not None and all_exited():
        return code
    ended = end_all(child)
    return ended if code is None else code


def die_with(parent: int) -> None:
    """Be killed when `parent`, which has just forked us, dies; exit if it has died already."""
    _libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:  # it died before its death could be a signal
        os._exit(127)


def be_killed_first() -> None:
    """When memory runs out; inherited by everything that is started from here."""
    try:
        with open(_OOM, "r+b", buffering=0) as file:
            file.write(b"%d" % min(int(file.read()) + _EARLIER, _FIRST))
    except OSError:
        pass  # no /proc to write to: then as the kernel thinks best


def _ignore_signals() -> None:
    """Nobody ends the supervisor before its descendants but the kernel. Called after the fork: not inherited."""
    for number in (_SIGHUP, _SIGINT, _SIGTERM):
        _libc.signal(number, _SIG_IGN)


def _start(command: list[str]) -> int:
    supervisor = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        die_with(supervisor)
        be_killed_first()
        for number in (_SIGHUP, _SIGINT, _SIGPIPE, _SIGQUIT, _SIGTERM):  # Python or nohup may ignore them
            _libc.signal(number, _SIG_DFL)
        os.execv(command[0], command)  # noqa: S606  (what this program is for)
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def let_go_of_output() -> None:
    """Hold no end of the output pipe."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def _wait_for_any(child: int, lifeline: int, until: float) -> None:
    poll = select.poll()
    process = os.pidfd_open(child)
    for descriptor in (process, lifeline):
        poll.register(descriptor, select.POLLIN)
    while (left := until - time.clock_gettime(time.CLOCK_BOOTTIME)) > 0:
        ready = dict(poll.poll(None if left == _NEVER else min(left, _LONGEST_NAP) * 1000))
        if process in ready:
            break
        if lifeline in ready:
            said = os.read(lifeline, 4096)
            if not said:
                break
            until = float(said.split()[-1])
    os.close(process)


def _code_of(child: int) -> int | None:
    """The child's exit code, None while it runs."""
    pid, status = os.waitpid(child, os.WNOHANG)
    return _exit_code(status) if pid else None


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def end_all(child: int) -> int:
    """End every descendant that can be ended; the code of `child`, if it was among them."""
    code = _reap(child, 0)
    if all_exited():
        return code
    begun = time.monotonic()
    _signal_all(_SIGTERM)
    pause = 0.002
    while (passed := time.monotonic() - begun) < GRACE + GIVEN_UP:
        code = _reap(child, code)
        if all_exited():
            break
        if passed > GRACE:
            _signal_all(_SIGKILL)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return code


def _keep_locked(lock: int) -> None:
    """Leave a process behind that keeps the lock until all that is left below us, and will lose us, has ended."""
    left = {pid: _started(pid) for pid in descendants()}
    note_left(lock, left)
    if not os.fork():
        while any(when and _started(pid) == when for pid, when in left.items()):
            time.sleep(_LONGEST_NAP)
        os._exit(0)


def stay_until_all_exited(lock: int) -> None:
    """Keep the lock while something lives below us that could not be ended."""
    note_left(lock, descendants())
    while not all_exited():
        time.sleep(_LONGEST_NAP)


def note_left(lock: int, pids: Iterable[int]) -> str:
    """Write into the locked file which processes keep it locked, for whoever waits for it; what was written."""
    names = ", ".join(f"{pid} ({_name(pid)})" for pid in pids if _started(pid))
    try:  # noqa: SIM105  (see below)
        os.pwrite(lock, names.encode(errors="replace"), 0)
    except OSError:
        pass  # a full disk: then nobody is told
    return names


def _reap(child: int, code: int) -> int:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if not pid:
            return code
        if pid == child:
            code = _exit_code(status)


def all_exited() -> bool:
    """Whether no descendant lives: an orphan becomes our child, so no child means none. Reaps what has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _signal_all(number: int) -> None:
    for pid in descendants():
        try:  # noqa: SIM105  (contextlib takes longer to import than this saves)
            os.kill(pid, number)
        except OSError:
            pass  # it has ended already, or is another user's


def descendants(of: int = 0) -> list[int]:
    """The ids of all processes below `of`, by default this one; parents before children."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            children.setdefault(_parent(name), []).append(int(name))
    found = [of or os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def _parent(pid: str) -> int:
    """The parent of a process, 0 if it has gone."""
    return int((_stat(pid)[1:2] or [b"0"])[0])


def _started(pid: int) -> bytes:
    """When a process was started, in ticks since the machine was; empty if it has ended."""
    stat = _stat(pid)
    return stat[19] if stat and stat[0] not in b"ZX" else b""


def _stat(pid: str | int) -> list[bytes]:
    """The state of a process and what follows it; nothing if it has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()  # its name, which may hold anything, ends there
    except OSError:
        return []


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return ascii(file.read().decode(errors="replace").strip())[1:-1]
    except OSError:
        return "?"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
