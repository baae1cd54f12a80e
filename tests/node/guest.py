"""A machine with cgroups of version 2 alone, for one command: user-mode Linux, a kernel that runs as a process.

Its files are this machine's, at the same paths, with memory over them: what it writes is gone with it. It needs
root and no virtualization, has one processor and no network beyond itself, and is a few times slower.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from runner.errors import DevError
from tests.node import packages
from tests.node.waiting import SLOWER

# Of Debian's stable releases, the kernels end at once on processors with AMX; a newer one needs a newer libc.
SUITE = "sid"
KERNEL = ("user-mode-linux", "libc6")
MEMORY = "8192M"
FACTOR = 4
"""By which deadlines are longer in a guest."""
_KEPT = ("HOME", "LANG", "PATH", "TERM", "USER")
# In memory of its own: what is on the overlay cannot be below another, as containerd's images are.
_OWN = "guest"


def init_script(exchange: Path, tools: Path, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """What the guest's first process does: mounts, `command`, its exit code into `exchange`, and its own end."""
    quoted = shlex.quote
    exports = [f"export {name}={quoted(value)}" for name, value in environment.items()]
    root = "/mnt/root"
    lines = [
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        "mount -t proc proc /proc",
        f"{quoted(str(tools))} insmod /usr/lib/uml/modules/*/kernel/fs/overlayfs/overlay.ko",
        # Memory over this machine's files, and what is mounted there on top of that.
        "mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work /mnt/root",
        f"mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay {root}",
        f"cd {root} && mkdir -p lib/modules && ln -sf {quoted(str(tools))} sbin/modprobe",
        "mount --bind usr/lib/uml/modules lib/modules",
        "mount -t proc proc proc && mount -t sysfs sysfs sys && mount -t cgroup2 cgroup2 sys/fs/cgroup",
        # As an init system does, for tests that make groups of their own.
        "cd sys/fs/cgroup",
        "for each in $(cat cgroup.controllers); do echo +$each >cgroup.subtree_control; done",
        f"cd {root}",
        "mount -t devtmpfs dev dev && mkdir -p dev/pts dev/shm",
        "mount -t devpts devpts dev/pts && mount -t tmpfs -o mode=1777 shm dev/shm",
        f"mkdir {_OWN} && mount -t tmpfs -o mode=755 own {_OWN} && mkdir -m 1777 {_OWN}/tmp {_OWN}/exchange",
        f"mount -t hostfs -o {quoted(str(exchange))} exchange {_OWN}/exchange",
        "mount -t tmpfs -o mode=755 run run",
        "pivot_root . mnt && umount -l mnt",
        "hostname guest && ip link set lo up",
        *exports,
        f"export TMPDIR=/{_OWN}/tmp {SLOWER}={FACTOR}",
        f"cd {quoted(str(Path.cwd()))}",
        f"{shlex.join(command)} >/{_OWN}/exchange/output 2>&1",
        f"echo $? >/{_OWN}/exchange/code",
        "echo o >/proc/sysrq-trigger && sleep 60",
    ]
    return "#!/bin/sh\n" + "\n".join(lines) + "\n"


def run(command: Sequence[str]) -> int:
    """Run `command` in a guest, in this directory, show its output as it comes; its exit code.

    Raises BinariesError where the kernel cannot be got, DevError where it does not work here.
    """
    if os.geteuid() != 0:
        raise DevError("a guest needs root: its files lie over this machine's, for itself alone")
    kernel = packages.tree(KERNEL, SUITE)
    tools = packages.busybox()
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="guest-") as temporary:
        exchange = Path(temporary)
        init = exchange / "init"
        init.write_text(init_script(exchange, tools, command, kept))
        init.chmod(0o755)
        (exchange / "output").touch()
        with (exchange / "console").open("wb") as console, (exchange / "output").open() as output:
            # Its memory is a file: on a disk, all that it writes would go there.
            where = os.environ | {"TMPDIR": "/dev/shm"}
            guest = subprocess.Popen(
                packages.command_with(kernel, _boot(init)),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env=where,
            )
            try:
                _show(output, guest)
            finally:
                guest.kill()
                guest.wait()
        if not (exchange / "code").is_file():
            said = (exchange / "console").read_text(errors="replace")
            raise DevError(f"the guest ended before `{shlex.join(command)}`: {said[-2000:]}")
        return int((exchange / "code").read_text())


def _boot(init: Path) -> list[str]:
    root = ("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}")
    # By seccomp the guest's processes are stopped at their calls twice as fast as by tracing them.
    how = (f"mem={MEMORY}", "seccomp=on", "con=null", "con0=null,fd:1", "quiet", f"uml_dir={init.parent}/")
    # However this process ends, the guest does.
    return ["setpriv", "--pdeathsig", "KILL", "linux.uml", *root, *how]


def _show(output: IO[str], guest: subprocess.Popen[bytes]) -> None:
    while guest.poll() is None:
        sys.stdout.write(output.read())
        sys.stdout.flush()
        time.sleep(0.1)
    sys.stdout.write(output.read())
