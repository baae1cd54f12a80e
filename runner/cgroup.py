"""What the container may use and does use, as the kernel says it: control groups, version 1 and 2.

Within a container its own group is mounted where, on the host, the root of all is; so a group that cannot be
found below the mount is the mount itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_UNLIMITED = 1 << 62
"""Version 1 has no word for it, and says the largest number of pages."""
_MEBI = 1 << 20


@dataclass(frozen=True, slots=True)
class Memory:
    """In bytes. `used` is without files that the kernel can forget; `kills` counts the processes it has killed."""

    limit: int
    used: int
    peak: int
    kills: int

    @property
    def left(self) -> int:
        return self.limit - self.used

    @property
    def told(self) -> str:
        """For people, in mebibytes as in a manifest."""
        return f"limit {mebibytes(self.limit)}, used {mebibytes(self.used)}, at most {mebibytes(self.peak)}"


def mebibytes(size: int) -> str:
    return f"{size / _MEBI:.0f}Mi"


def processors(root: Path = _ROOT, own: Path = _OWN) -> float | None:
    """How many the container's CPU limit lets it use; None without a limit."""
    unified = _text(_group("", root, own) / "cpu.max").split()
    of_group = _group("cpu", root, own)
    quota = unified or [_text(of_group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    return int(quota[0]) / int(quota[1]) if all(map(str.isdigit, quota)) else None


def memory(root: Path = _ROOT, own: Path = _OWN) -> Memory | None:
    """None without a limit. Takes some 50 microseconds."""
    return _memory_2(_group("", root, own)) or _memory_1(_group("memory", root, own))


def _memory_2(group: Path) -> Memory | None:
    limit = _text(group / "memory.max").strip()
    if not limit.isdigit():
        return None
    in_use, events = _number(group / "memory.current"), _table(group / "memory.events")
    files = _files(_table(group / "memory.stat"))
    return Memory(
        limit=int(limit),
        used=max(0, in_use - files),
        peak=_number(group / "memory.peak") or in_use,  # it is since Linux 5.19
        kills=events.get("oom_kill", 0),
    )


def _memory_1(group: Path) -> Memory | None:
    limit = _number(group / "memory.limit_in_bytes")
    if not 0 < limit < _UNLIMITED:
        return None
    in_use = _number(group / "memory.usage_in_bytes")
    return Memory(
        limit=limit,
        used=max(0, in_use - _files(_table(group / "memory.stat"), prefix="total_")),
        peak=_number(group / "memory.max_usage_in_bytes"),
        kills=_table(group / "memory.oom_control").get("oom_kill", 0),
    )


def _files(stat: Mapping[str, int], prefix: str = "") -> int:
    """Pages of files on a disk; those of a tmpfs count as anonymous."""
    return stat.get(f"{prefix}inactive_file", 0) + stat.get(f"{prefix}active_file", 0)


def _group(controller: str, root: Path, own: Path) -> Path:
    """The directory of the group that this process is in; `controller` is empty for version 2."""
    mount = root / controller
    for line in _text(own).splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(",") and (found := mount / path.lstrip("/")).is_dir():
            return found
    return mount


def _table(file: Path) -> dict[str, int]:
    pairs = (line.split() for line in _text(file).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(file: Path) -> int:
    text = _text(file).strip()
    return int(text) if text.isdigit() else 0


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
