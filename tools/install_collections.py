"""Puts the pinned kubernetes.core collection into the virtual environment.

Ansible Galaxy is one more network that a build machine may not reach; the same release of the
collection is inside the `ansible` distribution that pip can fetch and verify, so only that
directory is taken from it.
"""

import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

WANTED = ("ansible_collections/kubernetes/core/", "ansible_collections/kubernetes/__init__.py")


def main() -> None:
    pins = Path(__file__).parent.parent / "requirements" / "collections.txt"
    target = Path(sysconfig.get_paths()["purelib"])
    marker = target / "ansible_collections" / ".pins"
    if marker.is_file() and marker.read_text() == pins.read_text():
        return
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*download, "--dest", folder, "--requirement", str(pins)], check=True)
        (wheel,) = Path(folder).glob("ansible-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target, [name for name in archive.namelist() if name.startswith(WANTED)])
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(marker.parent)], check=True)
    marker.write_text(pins.read_text())


if __name__ == "__main__":
    main()
