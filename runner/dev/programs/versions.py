"""The versions of the programs that are downloaded or built, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Versions:
    """As the projects' tags name them. gomodule/*/go.mod must say the same; a test holds it to that."""

    kubernetes: str = "v1.36.3"
    etcd: str = "v3.6.8"
    kwok: str = "v0.8.0"

    def __str__(self) -> str:
        return f"kubernetes-{self.kubernetes}_etcd-{self.etcd}_kwok-{self.kwok}"


VERSIONS = Versions()
