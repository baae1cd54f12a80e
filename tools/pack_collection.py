"""Packs kubernetes.core out of the virtual environment, for a machine that builds images without Ansible Galaxy.

Writes into the build context a requirements.yml that names the archive as the build sees it, in /collections, and
requirements.sha256. Galaxy's archive has another checksum: the virtual environment lacks some of its files.
"""

import hashlib
import json
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path
from shutil import copytree

import yaml


def main(target: Path, context: Path) -> None:
    installed = Path(sysconfig.get_paths()["purelib"]) / "ansible_collections" / "kubernetes" / "core"
    about = json.loads((installed / "MANIFEST.json").read_text())["collection_info"]
    fields = ("namespace", "name", "version", "authors", "description", "license", "tags", "dependencies")
    with tempfile.TemporaryDirectory() as folder:
        source = copytree(installed, Path(folder) / "core")
        for made_anew in ("MANIFEST.json", "FILES.json"):
            (source / made_anew).unlink()
        described = {"readme": "README.md"} | {name: about[name] for name in fields}
        (source / "galaxy.yml").write_text(yaml.safe_dump(described))
        galaxy = Path(sys.executable).with_name("ansible-galaxy")
        build = [str(galaxy), "collection", "build", "--force", "--output-path", str(target), str(source)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    name = f"kubernetes-core-{about['version']}.tar.gz"
    wanted = {"collections": [{"name": f"/collections/{name}", "type": "file"}]}
    (context / "requirements.yml").write_text(yaml.safe_dump(wanted))
    with tempfile.TemporaryDirectory() as folder, tarfile.open(target / name) as archive:
        archive.extract("MANIFEST.json", folder, filter="data")
        checksum = hashlib.sha256((Path(folder) / "MANIFEST.json").read_bytes()).hexdigest()
    (context / "requirements.sha256").write_text(f"{checksum}  kubernetes/core/MANIFEST.json\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
