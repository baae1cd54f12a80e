"""What a process and all below it take: CPU time and memory; and whether something is in that memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path


def tree(root: int) -> list[int]:
    """The process `root` and every descendant that is alive."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                below.setdefault(int(_fields(int(entry.name))[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += below.get(pid, [])
    return found


def cpu_seconds(root: int) -> float:
    """CPU time of all of them, and of those below that have ended: whoever reaped them has taken over theirs.

    A process whose parent dies first is reaped by a supervisor, which is below `root`, too; so nothing is lost but
    what the supervisors of an earlier, killed operator did.
    """
    ticks = 0
    for pid in tree(root):
        with suppress(OSError):
            ticks += sum(int(field) for field in _fields(pid)[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(root: int) -> int:
    """Proportional set size of all of them together, in bytes: pages that are shared count once."""
    return sum(memory_alone(pid) for pid in tree(root))


def memory_alone(pid: int) -> int:
    """Proportional set size of one process, in bytes; 0 when it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def resident(pid: int) -> int:
    """What of one process is in memory, in bytes, shared pages and all."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def holding(root: int, texts: Iterable[bytes]) -> list[tuple[int, bytes]]:
    """Which process, the root or one below, has which of these texts in its memory, be it freed already."""
    wanted = tuple(texts)
    found = {(pid, text) for pid in tree(root) for part in _memory(pid) for text in wanted if text in part}
    return sorted(found)


def _memory(pid: int) -> Iterator[bytes]:
    """What a process can write to. Of one that is gone, or not ours, nothing."""
    with suppress(OSError), Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, permissions, *_ = line.split()
            if permissions.startswith("rw"):
                start, end = (int(place, 16) for place in span.split("-"))
                with suppress(OSError):
                    memory.seek(start)
                    yield memory.read(end - start)


def cpu_seconds_alone(pid: int) -> float:
    """CPU that one process has used, without its children. Raises OSError when it is gone."""
    fields = _fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _fields(pid: int) -> list[str]:
    """Those of /proc/<pid>/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
