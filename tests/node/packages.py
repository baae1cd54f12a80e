"""Debian's packages without installing them: unpacked into a tree, which a mount namespace lays over /usr."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from runner.dev.processes import locked_file
from runner.dev.programs import cache_directory
from runner.errors import BinariesError

# Debian's directories at the root are links to those in /usr; packages still name them.
MERGED = ("bin", "sbin", "lib", "lib64")
OVERLAID = ("usr", "etc")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What the packages' own scripts would link.
LINKS = {
    f"usr/sbin/{family}{kind}": "xtables-nft-multi"
    for family in ("iptables", "ip6tables")
    for kind in ("", "-save", "-restore")
}


def tree(packages: Sequence[str], suite: str = "") -> Path:
    """The directory with the files of `packages` and of those that they need and this machine does not have.

    With another `suite` than this machine's, it has theirs alone. It is made once, in the cache, and appears as a
    whole. Raises BinariesError where apt-get cannot get them.
    """
    key = hashlib.sha256(" ".join([*sorted(packages), *filter(None, [suite])]).encode()).hexdigest()[:12]
    made = cache_directory().with_name(f"debian-{key}")
    with locked_file(made.with_name(made.name + ".lock")):
        if not made.is_dir():
            with tempfile.TemporaryDirectory(dir=made.parent, prefix=".debian-") as temporary:
                root = Path(temporary) / "root"
                _unpack(_download(packages, suite, Path(temporary)), root)
                root.rename(made)
    return made


def busybox() -> Path:
    """A static busybox. Raises BinariesError."""
    return tree(("busybox-static",)) / "usr/bin/busybox"


def _download(packages: Sequence[str], suite: str, temporary: Path) -> list[Path]:
    archives, lists = temporary / "archives", temporary / "lists"
    for directory in (archives, lists):
        (directory / "partial").mkdir(parents=True)
    # Lists and archives of our own: nothing of the system's package database is written.
    apt = ["apt-get", "-q", "-o", f"Dir::Cache::archives={archives}", "-o", f"Dir::State::lists={lists}"]
    apt += ["-o", "APT::Sandbox::User=root", "-o", f"Dir::Cache::pkgcache={temporary}/pkgcache.bin"]
    apt += ["-o", f"Dir::Cache::srcpkgcache={temporary}/srcpkgcache.bin"]
    if suite:
        sources = temporary / "sources.list"
        sources.write_text(f"deb [signed-by={KEYRING}] {_mirror()} {suite} main\n")
        apt += ["-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-"]
    _run([*apt, "update"])
    if suite:
        _run([*apt, "download", *packages], cwd=archives)
    else:
        _run([*apt, "install", "-y", "--download-only", "--no-install-recommends", *packages])
    return sorted(archives.glob("*.deb"))


def _mirror() -> str:
    """Where this machine has Debian's own packages from: the first that it names."""
    targets = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"])
    if not targets:
        raise BinariesError("no source of Debian's packages is known here: `apt-get indextargets` lists none")
    return targets.splitlines()[0]


def _unpack(archives: Sequence[Path], root: Path) -> None:
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for archive in archives:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as files:
            _run(["tar", "-x", "--keep-directory-symlink", "-C", root], stdin=files.stdout)
    for unneeded in ("doc", "man", "locale"):
        shutil.rmtree(root / "usr/share" / unneeded, ignore_errors=True)
    for link, target in LINKS.items():
        if (root / link).with_name(target).exists():
            (root / link).symlink_to(target)


def _run(command: Sequence[str | Path], **how: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise BinariesError(f"`{' '.join(map(str, command[:2]))}` failed: {done.stderr.strip()[-1000:]}")
    return str(done.stdout)


def command_with(packages_tree: Path, command: Sequence[str]) -> list[str]:
    """The command line that runs `command` with the tree's files over this machine's: nobody else sees them."""
    overlays = " && ".join(
        f"mount -t overlay -o lowerdir={packages_tree}/{name}:/{name} overlay /{name}" for name in OVERLAID
    )
    return [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        f'{overlays} && exec "$@"',
        "sh",
        *command,
    ]
