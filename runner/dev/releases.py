"""Which versions of the control plane's programs are wanted, and where their releases are."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from runner.errors import BinariesError

ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Versions:
    """As the projects' tags name them. gomodule/controlplane/go.mod must say the same; a test holds it to that."""

    kubernetes: str = "v1.36.3"
    etcd: str = "v3.6.8"
    kwok: str = "v0.8.0"

    def __str__(self) -> str:
        return f"kubernetes-{self.kubernetes}_etcd-{self.etcd}_kwok-{self.kwok}"


VERSIONS = Versions()


@dataclass(frozen=True)
class Release:
    """A published file: `checksum` takes the text found at `checksum_url` to its SHA-256 in hex.

    `member` is the program's path inside the file when that is a tar archive.
    """

    program: str
    url: str
    checksum_url: str
    checksum: Callable[[str], str | None]
    member: str | None = None


def architecture() -> str:
    """This machine's, as the releases name it. Raises BinariesError where nothing is published for it."""
    found = ARCHITECTURES.get(platform.machine().lower())
    if platform.system() != "Linux" or found is None:
        raise BinariesError(f"no releases for {platform.system()} on {platform.machine()}")
    return found


def release(program: str, versions: Versions, arch: str) -> Release:
    """What is published for `program`."""
    if program == "etcd":
        return _etcd(versions.etcd, arch)
    if program == "kwok":
        return _kwok(versions.kwok, arch)
    url = f"https://dl.k8s.io/release/{versions.kubernetes}/bin/linux/{arch}/{program}"
    return Release(program, url, f"{url}.sha256", first_checksum)


def _etcd(version: str, arch: str) -> Release:
    base = f"https://github.com/etcd-io/etcd/releases/download/{version}"
    name = f"etcd-{version}-linux-{arch}"
    file = f"{name}.tar.gz"
    listed = partial(listed_checksum, file)
    return Release("etcd", f"{base}/{file}", f"{base}/SHA256SUMS", listed, f"{name}/etcd")


def _kwok(version: str, arch: str) -> Release:
    # The project publishes no checksum file; the digests of a release's files are in its description.
    file = f"kwok-linux-{arch}"
    return Release(
        "kwok",
        f"https://github.com/kubernetes-sigs/kwok/releases/download/{version}/{file}",
        f"https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/{version}",
        partial(described_checksum, file),
    )


def first_checksum(text: str) -> str | None:
    """From a file that holds one checksum, with or without a file name behind it."""
    return _checked(text.partition(" ")[0].strip())


def listed_checksum(file: str, text: str) -> str | None:
    """From a list as sha256sum writes it: a checksum and a file name a line."""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[1].removeprefix("*") == file:
            return _checked(fields[0])
    return None


def described_checksum(file: str, text: str) -> str | None:
    """From the JSON description of a release: `assets[].digest`, which reads `sha256:<hex>`."""
    try:
        assets = json.loads(text)["assets"]
        digests = {asset["name"]: asset.get("digest") or "" for asset in assets}
    except (ValueError, KeyError, TypeError):
        return None
    return _checked(digests.get(file, "").removeprefix("sha256:"))


def _checked(checksum: str) -> str | None:
    lower = checksum.lower()
    return lower if SHA256.fullmatch(lower) else None
