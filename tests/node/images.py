"""Images of directories, as archives that every container runtime imports."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.dev.releases import architecture
from tests.node import packages


def archive(root: Path, config: Mapping[str, Any], name: str, file: Path) -> None:
    """Write the image called `name` of the files in `root`: one layer, with `config` as images have it."""
    layer = file.with_name(f"{file.name}.layer")
    subprocess.run(
        ["tar", "--numeric-owner", "--owner=+0", "--group=+0", "-C", root, "-cf", layer, "."]
        if not _keeps_owners(root)
        else ["tar", "--numeric-owner", "-C", root, "-cf", layer, "."],
        check=True,
    )
    with layer.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    about = {
        "architecture": architecture(),
        "os": "linux",
        "config": dict(config),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(file, "w") as opened_tar:
        opened_tar.add(layer, "layer.tar")
        for member, content in (("config.json", about), ("manifest.json", manifest)):
            text = json.dumps(content).encode()
            info = tarfile.TarInfo(member)
            info.size = len(text)
            opened_tar.addfile(info, io.BytesIO(text))
    layer.unlink()


def _keeps_owners(root: Path) -> bool:
    return (root / "etc/passwd").is_file()


def pause(program: Path, name: str, file: Path) -> None:
    """The image of a pod's first process."""
    root = file.with_name(f"{file.name}.root")
    root.mkdir()
    shutil.copy(program, root / "pause")
    archive(root, {"Entrypoint": ["/pause"]}, name, file)
    shutil.rmtree(root)


@dataclass(frozen=True)
class StandIn:
    """An image with a shell and its tools, in place of another of that name."""

    name: str
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def stand_in(image: StandIn, file: Path) -> None:
    """Write it, of Debian's static busybox. Raises BinariesError."""
    program = packages.busybox()
    root = file.with_name(f"{file.name}.root")
    (root / "bin").mkdir(parents=True)
    shutil.copy(program, root / "bin/busybox")
    listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout
    for applet in set(listed.split()) - {"busybox"}:
        (root / "bin" / applet).symlink_to("busybox")
    for path, text in image.files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
        (root / path).chmod(0o755)
    config = {"Entrypoint": image.entrypoint, "Cmd": () if image.entrypoint else ("sh",), "User": image.user}
    archive(root, config | {"Env": ["PATH=/bin"]}, image.name, file)
    shutil.rmtree(root)
