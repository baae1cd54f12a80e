"""Namespaces and cgroups of one node, on this machine's own files: its first process holds them all.

The network, mounts, processes, host name and cgroups are the node's own. /usr has the packages' files over this
machine's; /run, /var/lib and /var/log are the node's, and its directory is /mnt. Whatever it mounts or starts ends
with its first process.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runner.dev import processes
from runner.dev.layout import NODE
from runner.dev.processes import Process, tail
from runner.errors import DevError
from tests.node import cgroups
from tests.node.cgroups import Hierarchy
from tests.node.files import INSIDE, SYSCTLS
from tests.node.programs import Programs
from tests.node.waiting import allowed

NAME = "ansible-operator-node"
STARTED_WITHIN = 10.0
PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"


def init_script(directory: Path, programs: Programs, hierarchies: Sequence[Hierarchy]) -> str:
    """What the first process does before it becomes `pause`."""
    quoted = shlex.quote
    lines = [
        "set -eu",
        f"export {PATH}",
        f"cd {quoted(str(directory))}",
        "mount -t proc proc /proc",
        "mount -t sysfs sysfs /sys",
        *_cgroup_mounts(hierarchies),
    ]
    lines.append(f"mount -t overlay -o {quoted(f'lowerdir={programs.packages}/usr:/usr')} overlay /usr")
    lines.append(f"mount --bind {quoted(str(programs.built))} programs")
    lines += [f"[ ! -e /proc/sys/{name} ] || mount --bind sysctl/{name} /proc/sys/{name}" for name in SYSCTLS]
    # The kubelet does not start without a clock speed, which a user-mode kernel's processor has not.
    without = "grep -q '^cpu MHz' /proc/cpuinfo ||"
    lines.append(f"{without} {{ (cat /proc/cpuinfo && echo 'cpu MHz : 1000.0') >cpuinfo; }}")
    lines.append("[ ! -e cpuinfo ] || mount --bind cpuinfo /proc/cpuinfo")
    lines += [
        f"mount --rbind . {INSIDE}",
        "mount -t tmpfs -o mode=755 run /run",
        "mount --bind lib /var/lib",
        "mount --bind log /var/log",
        # Of a mount that is not shared, a container would not see what is mounted later.
        "mount --make-rshared /",
        f"hostname {NODE}",
        "echo 1 >/proc/sys/net/ipv4/ip_forward",
        f"touch {INSIDE}/ready",
        f"cd / && exec {INSIDE}/programs/pause",
    ]
    return "\n".join(lines)


def _cgroup_mounts(hierarchies: Sequence[Hierarchy]) -> list[str]:
    if any(each.unified for each in hierarchies):
        enable = "for each in $(cat cgroup.controllers); do echo +$each >cgroup.subtree_control; done"
        return ["mount -t cgroup2 cgroup2 /sys/fs/cgroup", f"(cd /sys/fs/cgroup && {enable})"]
    lines = ["mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup"]
    for each in sorted(hierarchies, key=lambda each: each.mount.name):
        place = shlex.quote(f"/sys/fs/cgroup/{each.mount.name}")
        options = shlex.quote(each.options.replace("name=", "none,name="))
        lines += [f"mkdir {place}", f"mount -t cgroup -o {options} cgroup {place}"]
    return lines


class Sandbox:
    """The node's namespaces, with `directory` as what it keeps. Root is needed, and util-linux."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._hierarchies = cgroups.own()
        self._cgroups = [hierarchy.child(NAME) for hierarchy in self._hierarchies]
        self._leaves = [hierarchy.leaf(NAME) for hierarchy in self._hierarchies]

    @property
    def pid(self) -> int:
        """Of its first process, as this machine counts. Raises DevError where there is none."""
        holder = processes.recorded(self._directory / "init.stat")
        if holder is None or not processes.alive(holder):
            raise DevError(f"{self._directory}: no node runs here")
        return _first_child(holder.pid)

    def start(self, programs: Programs) -> None:
        """Raises DevError, with what the first process said last."""
        if os.geteuid() != 0:
            raise DevError("a node needs root: its own namespaces, mounts and cgroups")
        if not self._hierarchies:
            raise DevError("a node needs cgroups, and none are mounted here")
        for name in ("lib", "log", "programs", "run"):
            (self._directory / name).mkdir(parents=True, exist_ok=True)
        (self._directory / "ready").unlink(missing_ok=True)
        for name, value in SYSCTLS.items():
            file = self._directory / "sysctl" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n")
        try:
            cgroups.make(self._hierarchies, NAME)
        except OSError as error:
            raise DevError(f"a node needs a cgroup below the root's: {error}") from error
        script = init_script(self._directory, programs, self._hierarchies)
        unshare = "unshare --net --mount --pid --ipc --uts --fork --kill-child --propagation private"
        # What it is in when it takes its namespace is the root of the node's hierarchy; only then to the leaf.
        steps = f"{_join(self._leaves)} exec {unshare} sh -c {shlex.quote(script)}"
        command = ["/bin/sh", "-c", f"{_join(self._cgroups)} exec unshare --cgroup sh -c {shlex.quote(steps)}"]
        self._wait(self._spawn("init", command))

    def enter(self, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` in the node."""
        into = f"nsenter --target {self.pid} --net --mount --pid --ipc --uts --cgroup --wd=/ -- env {PATH}"
        return ["/bin/sh", "-c", f'{_join(self._leaves)} exec {into} "$@"', "sh", *command]

    def spawn(self, name: str, command: Sequence[str]) -> Process:
        """Start a daemon in the node; its log is NAME.log. The process is the one outside that waits for it."""
        return self._spawn(name, self.enter(command))

    def run(self, *command: str) -> str:
        """What `command` prints in the node. Raises DevError when it fails."""
        done = subprocess.run(self.enter(command), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DevError(f"`{shlex.join(command)}` in the node: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def log(self, name: str) -> Path:
        """The log of a daemon."""
        return self._directory / f"{name}.log"

    def stop(self) -> None:
        """End every process of the node, and with them its mounts and its network; remove its cgroups."""
        with suppress(DevError):  # none runs
            first = processes.recorded(Path(f"/proc/{self.pid}/stat"))
            if first is not None:
                processes.end(first, 0)
        holder = processes.recorded(self._directory / "init.stat")
        if holder is not None:
            processes.end(holder, 0)
        cgroups.remove(self._cgroups)

    def _spawn(self, name: str, command: Sequence[str]) -> Process:
        return processes.spawn(command, self._directory / f"{name}.stat", self.log(name), self._directory)

    def _wait(self, holder: Process) -> None:
        deadline = time.monotonic() + allowed(STARTED_WITHIN)
        while not (self._directory / "ready").exists():
            if not processes.alive(holder) or time.monotonic() > deadline:
                raise DevError(f"the node's first process did not start: {tail(self.log('init'))}")
            time.sleep(0.01)


def _join(groups: Sequence[Path]) -> str:
    places = " ".join(shlex.quote(str(each)) for each in groups)
    return f'for each in {places}; do echo $$ >"$each/cgroup.procs"; done;'


def _first_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
