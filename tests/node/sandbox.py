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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from runner.dev import processes
from runner.dev.layout import NODE
from runner.dev.processes import Process, tail
from runner.errors import DevError
from tests.node import cgroups
from tests.node.files import INSIDE, SYSCTLS
from tests.node.programs import Programs

NAME = "ansible-operator-node"
STARTED_WITHIN = 10.0
PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"


def init_script(directory: Path, programs: Programs, hierarchies: Mapping[str, str]) -> str:
    """What the first process does before it becomes `pause`; `hierarchies` has options by name of the mount."""
    quoted = shlex.quote
    lines = [
        "set -eu",
        f"export {PATH}",
        f"cd {quoted(str(directory))}",
        "mount -t proc proc /proc",
        "mount -t sysfs sysfs /sys",
        "mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup",
    ]
    for name, options in sorted(hierarchies.items()):
        place = quoted(f"/sys/fs/cgroup/{name}")
        lines += [f"mkdir {place}", f"mount -t cgroup -o {quoted(options)} cgroup {place}"]
    lines.append(f"mount -t overlay -o {quoted(f'lowerdir={programs.packages}/usr:/usr')} overlay /usr")
    lines.append(f"mount --bind {quoted(str(programs.built))} programs")
    lines += [f"[ ! -e /proc/sys/{name} ] || mount --bind sysctl/{name} /proc/sys/{name}" for name in SYSCTLS]
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


class Sandbox:
    """The node's namespaces, with `directory` as what it keeps. Root is needed, and util-linux."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._hierarchies = cgroups.own()
        self._cgroups = [hierarchy.child(NAME) for hierarchy in self._hierarchies]

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
            raise DevError("a node needs cgroups of version 1; this machine has those of version 2 alone")
        for name in ("lib", "log", "programs", "run"):
            (self._directory / name).mkdir(parents=True, exist_ok=True)
        (self._directory / "ready").unlink(missing_ok=True)
        for name, value in SYSCTLS.items():
            file = self._directory / "sysctl" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\n")
        cgroups.make(self._cgroups)
        mounts = {h.mount.name: h.options.replace("name=", "none,name=") for h in self._hierarchies}
        script = init_script(self._directory, programs, mounts)
        unshare = "unshare --net --mount --pid --ipc --uts --cgroup --fork --kill-child --propagation private"
        command = ["/bin/sh", "-c", f"{self._join()} exec {unshare} sh -c {shlex.quote(script)}"]
        self._wait(self._spawn("init", command))

    def enter(self, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` in the node."""
        into = f"nsenter --target {self.pid} --net --mount --pid --ipc --uts --cgroup --wd=/ -- env {PATH}"
        return ["/bin/sh", "-c", f'{self._join()} exec {into} "$@"', "sh", *command]

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

    def _join(self) -> str:
        places = " ".join(shlex.quote(str(each)) for each in self._cgroups)
        return f'for each in {places}; do echo $$ >"$each/cgroup.procs"; done;'

    def _wait(self, holder: Process) -> None:
        deadline = time.monotonic() + STARTED_WITHIN
        while not (self._directory / "ready").exists():
            if not processes.alive(holder) or time.monotonic() > deadline:
                raise DevError(f"the node's first process did not start: {tail(self.log('init'))}")
            time.sleep(0.01)


def _first_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
