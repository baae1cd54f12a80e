"""How many processors a container really has: the Go operator counts those of the node, and is throttled."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_processors(quota_file: Path = _CGROUP_QUOTA) -> int:
    """Processors this process may use: the affinity mask, cut to the container's CPU limit, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text().split()
        return max(1, min(allowed, round(int(quota) / int(period))))
    except (OSError, ValueError):
        return allowed
