"""Which release of this package runs, and which commit it was made from. Imports nothing else of it."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from pathlib import Path

VERSION = "0.1.0"
COMMIT_VARIABLE = "ANSIBLE_OPERATOR_COMMIT"
"""Set by the build of a container image, which has no repository to look at."""

_UNKNOWN = "unknown"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""As container platforms name them."""


def line() -> str:
    """The Go operator's line, with what is true of us: Python for Go, and the API that our client was made for."""
    release = metadata.version("kubernetes").partition(".")[0]
    facts = {
        "ansible-operator version": f"v{VERSION}",
        "commit": commit(),
        "kubernetes version": f"v1.{release}.0",
        "python version": platform.python_version(),
        "OS": platform.system().lower(),
        "ARCH": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "ansible-core version": metadata.version("ansible-core"),
        "ansible-runner version": metadata.version("ansible-runner"),
    }
    return ", ".join(f'{name}: "{value}"' for name, value in facts.items())


def commit() -> str:
    """The full hash: as the image says, as pip noted it, or that of the checkout this runs from; or "unknown"."""
    return os.environ.get(COMMIT_VARIABLE) or _installed() or _checked_out(Path(__file__).parents[1]) or _UNKNOWN


def _installed() -> str:
    """From pip's note beside a package that was installed from a repository."""
    try:
        note = metadata.distribution("ansible-operator-runner").read_text("direct_url.json")
        return str(json.loads(note or "{}").get("vcs_info", {}).get("commit_id", ""))
    except (metadata.PackageNotFoundError, ValueError):
        return ""


def _checked_out(directory: Path) -> str:
    """The commit of a git checkout or worktree, read without git."""
    git = directory / ".git"
    try:
        if git.is_file():
            git = directory / git.read_text().removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        shared = git / (git / "commondir").read_text().strip() if (git / "commondir").is_file() else git
        return _reference(shared, head.removeprefix("ref: "))
    except OSError:
        return ""


def _reference(git: Path, name: str) -> str:
    if (git / name).is_file():
        return (git / name).read_text().strip()
    packed = (git / "packed-refs").read_text().splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
