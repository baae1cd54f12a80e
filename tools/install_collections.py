"""Puts the pinned kubernetes.core collection into the virtual environment, and others beside it for tests to read.

Ansible Galaxy is one more network that a build machine may not reach; the same releases of the
collections are inside the `ansible` distribution that pip can fetch and verify, so only their
directories are taken from it. Ansible does not find those that are for tests to read.
"""

import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

WANTED = ("ansible_collections/kubernetes/core/", "ansible_collections/kubernetes/__init__.py")
READ = ("community/mongodb", "community/zabbix", "grafana/grafana")
"""Collections whose roles `validate` must have nothing to say of."""
PARTS = ("roles", "meta", "plugins", "MANIFEST.json")
TO_READ = Path(sys.prefix) / "share" / "collections-to-read"


def main() -> None:
    pins = Path(__file__).parent.parent / "requirements" / "collections.txt"
    target = Path(sysconfig.get_paths()["purelib"])
    marker = target / "ansible_collections" / ".pins"
    content = "\n".join((pins.read_text(), *READ))
    if marker.is_file() and marker.read_text() == content:
        return
    with tempfile.TemporaryDirectory() as folder:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*download, "--dest", folder, "--requirement", str(pins)], check=True)
        (wheel,) = Path(folder).glob("ansible-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target, [name for name in archive.namelist() if name.startswith(WANTED)])
            parts = tuple(f"ansible_collections/{name}/{part}" for name in READ for part in PARTS)
            archive.extractall(TO_READ, [name for name in archive.namelist() if name.startswith(parts)])
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(marker.parent)], check=True)
    marker.write_text(content)


if __name__ == "__main__":
    main()
