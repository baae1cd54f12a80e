"""The programs of a real node: kubelet, kube-proxy and pause built with Go, the rest from Debian's packages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.dev import gobuild
from runner.dev.gobuild import Build
from runner.dev.processes import locked_file
from runner.dev.programs import cache_directory
from runner.dev.progress import progress_on_stderr
from tests.node import packages

MODULES = Path(__file__).with_name("gomodule")
NODE = Build("node", ".", ("kubelet", "kube-proxy"), 6)
PAUSE = Build("pause", ".", (), 1)
PACKAGES = ("containerd", "runc", "containernetworking-plugins", "iptables")


@dataclass(frozen=True)
class Programs:
    """`built` holds kubelet, kube-proxy and pause; `packages` is a tree that lies over /usr."""

    built: Path
    packages: Path


def find_programs() -> Programs:
    """From the cache, else built and downloaded into it. Raises BinariesError."""
    built = cache_directory().with_name(f"node-{cache_directory().name}")
    with locked_file(built.with_name(built.name + ".lock")):
        for wanted in (NODE, PAUSE):
            if not (built / wanted.module).is_file():
                gobuild.build_module(wanted, MODULES / wanted.module, built, progress_on_stderr())
    return Programs(built, packages.tree(PACKAGES))
