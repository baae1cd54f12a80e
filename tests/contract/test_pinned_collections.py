"""The Dockerfile of an operator installs the collections that requirements.sha256 pins, and no others."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MANIFEST = "ansible_collections/kubernetes/core/MANIFEST.json"
DOCKERFILE = ROOT / "runner/scaffold/templates/project/Dockerfile"


def galaxy(*words: str, home: Path) -> None:
    program = Path(sys.executable).with_name("ansible-galaxy")
    subprocess.run([program, "collection", *words], env=environment(home), check=True, capture_output=True)


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": path, "PYTHONWARNINGS": "ignore"}


def archive(name: str, home: Path) -> Path:
    """A collection as it is published, with one module."""
    source = home / "sources" / name
    (source / "plugins/modules").mkdir(parents=True)
    (source / "plugins/modules/greet.py").write_text("# says nothing yet\n")
    (source / "README.md").write_text("A collection.\n")
    about = {"namespace": "my", "name": name, "version": "1.0.0", "readme": "README.md", "authors": ["me"]}
    (source / "galaxy.yml").write_text(yaml.safe_dump(about))
    galaxy("build", "--output-path", str(home), str(source), home=home)
    return home / f"my-{name}-1.0.0.tar.gz"


def checksum(archive: Path) -> str:
    with tarfile.open(archive) as opened:
        manifest = opened.extractfile("MANIFEST.json")
        assert manifest is not None
        return hashlib.sha256(manifest.read()).hexdigest()


def altered(archive: Path) -> Path:
    """Its module says something, and no checksum has changed."""
    directory = archive.parent / "altered"
    with tarfile.open(archive) as opened:
        opened.extractall(directory, filter="data")
    (directory / "plugins/modules/greet.py").write_text("print('theirs')\n")
    changed = archive.parent / "my-altered-1.0.0.tar.gz"
    with tarfile.open(changed, "w:gz") as opened:
        for path in sorted(directory.rglob("*")):
            opened.add(path, path.relative_to(directory), recursive=False)
    return changed


def build(home: Path, archives: list[Path], pins: str) -> subprocess.CompletedProcess[str]:
    """What the Dockerfile runs, where `COPY` has put the two files."""
    wanted = {"collections": [{"name": str(each), "type": "file"} for each in archives]}
    (home / "requirements.yml").write_text(yaml.safe_dump(wanted))
    (home / "requirements.sha256").write_text(pins)
    (command,) = re.findall(r"^RUN (.*?[^\\])$", DOCKERFILE.read_text(), re.MULTILINE | re.DOTALL)
    return subprocess.run(
        ["sh", "-c", command], env=environment(home), check=False, capture_output=True, text=True
    )


@pytest.fixture
def greetings(tmp_path: Path) -> Path:
    return archive("greetings", tmp_path)


def test_the_pinned_collection_is_installed_and_compiled(tmp_path: Path, greetings: Path) -> None:
    built = build(tmp_path, [greetings], f"{checksum(greetings)}  my/greetings/MANIFEST.json\n")
    assert built.returncode == 0, built.stderr
    installed = tmp_path / ".ansible/collections/ansible_collections/my/greetings"
    assert list(installed.rglob("greet.*.pyc"))


def test_another_release_than_the_pinned_one_is_refused_and_its_checksum_shown(
    tmp_path: Path, greetings: Path
) -> None:
    built = build(tmp_path, [greetings], f"{'0' * 64}  my/greetings/MANIFEST.json\n")
    assert built.returncode != 0
    assert f"> {checksum(greetings)}  my/greetings/MANIFEST.json" in built.stdout


def test_a_collection_that_is_not_pinned_is_refused(tmp_path: Path, greetings: Path) -> None:
    other = archive("other", tmp_path)
    built = build(tmp_path, [greetings, other], f"{checksum(greetings)}  my/greetings/MANIFEST.json\n")
    assert built.returncode != 0
    assert f"> {checksum(other)}  my/other/MANIFEST.json" in built.stdout


def test_a_pinned_collection_with_an_altered_file_is_refused(tmp_path: Path, greetings: Path) -> None:
    built = build(tmp_path, [altered(greetings)], f"{checksum(greetings)}  my/greetings/MANIFEST.json\n")
    assert built.returncode != 0
    assert not list((tmp_path / ".ansible").rglob("*.pyc"))


@pytest.mark.parametrize("directory", [ROOT, DOCKERFILE.parent])
def test_the_pins_of_the_repository_are_those_of_the_collection_that_tests_use(directory: Path) -> None:
    manifest = next(filter(Path.is_file, (Path(place) / MANIFEST for place in sys.path)))
    expected = f"{hashlib.sha256(manifest.read_bytes()).hexdigest()}  kubernetes/core/MANIFEST.json\n"
    assert (directory / "requirements.sha256").read_text() == expected
