"""Packs kubernetes.core out of the virtual environment, for a machine that builds images without Ansible Galaxy.

Prints a requirements.yml that names the archive as an image build sees it, in /collections.
"""

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from shutil import copytree

import yaml


def main(target: Path) -> None:
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
    archive = f"/collections/kubernetes-core-{about['version']}.tar.gz"
    yaml.safe_dump({"collections": [{"name": archive, "type": "file"}]}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
