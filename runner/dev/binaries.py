"""Where the programs of the control plane come from: the places, in order, and why each had none."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import BinariesError

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
KWOK = ("kwok",)


@dataclass(frozen=True)
class Versions:
    kubernetes: str = "v1.36.3"
    etcd: str = "v3.6.8"
    kwok: str = "v0.8.0"

    def __str__(self) -> str:
        return f"kubernetes-{self.kubernetes}_etcd-{self.etcd}_kwok-{self.kwok}"


@dataclass(frozen=True)
class Programs:
    control_plane: Path
    kwok: Path

    def path(self, name: str) -> Path:
        return (self.kwok if name in KWOK else self.control_plane) / name


MIRROR_VARIABLE = "ANSIBLE_OPERATOR_DEV_MIRROR"


@dataclass(frozen=True)
class Search:
    explicit: Path | None = None
    mirror: str | None = None


def find_programs(search: Search = Search()) -> Programs:
    cache = Path.home() / ".cache" / "ansible-operator-runner" / str(Versions())
    return Programs(cache, cache)
