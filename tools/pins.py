"""Makes the pinned requirements anew from pyproject.toml: `python -m tools.pins`, with uv beside this Python.

`run.txt` holds what an operator needs whatever the release of ansible-core, `ansible-<release>.txt` what that
release has of its own, `dev.txt` what the project's tools need besides, `docs.txt` what builds the site of the
documentation, in a virtual environment of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "requirements"
RELEASES = {"2.18": "3.11", "2.19": "3.11", "2.20": "3.12"}
"""Those of ansible-core that are pinned, with the first Python that each is compiled for."""
TESTED = "2.19"

Pins = dict[str, str]
"""A package's pin and hashes, by its name."""


def pins_of(text: str) -> Pins:
    """The pins of a requirements file, without the comments."""
    plain = re.sub(r"^ *#.*\n", "", text, flags=re.MULTILINE)
    found = re.findall(r"^([a-z0-9][\w.-]*)==(?:.*\\\n)*.*\n", plain, re.MULTILINE)
    blocks = [match[0] for match in re.finditer(r"^[a-z0-9][\w.-]*==(?:.*\\\n)*.*\n", plain, re.MULTILINE)]
    return {name: block.replace(" \\\n\n", "\n") for name, block in zip(found, blocks, strict=True)}


def compiled(source: str, python: str, *options: str) -> Pins:
    """What uv makes of `source`, with the versions pinned so far wherever these still fit."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "pins.txt"
        output.write_text("".join(file.read_text() for file in sorted(REQUIREMENTS.glob("*.txt"))))
        fixed = [
            "--universal",
            "--python-version",
            python,
            "--generate-hashes",
            "--no-emit-index-url",
            "--no-header",
        ]
        command = [str(Path(sys.executable).with_name("uv")), "pip", "compile", source, *fixed, "--quiet"]
        subprocess.run([*command, *options, "-o", str(output)], cwd=ROOT, check=True)
        return pins_of(output.read_text())


def write(name: str, pins: Pins) -> None:
    (REQUIREMENTS / name).write_text("".join(pins[package] for package in sorted(pins)))


def main() -> int:
    releases = {
        release: compiled("pyproject.toml", python, "-P", f"ansible-core=={release}.*")
        for release, python in RELEASES.items()
    }
    tested = releases[TESTED]
    shared = {
        name: pin for name, pin in tested.items() if all(pins.get(name) == pin for pins in releases.values())
    }
    write("run.txt", shared)
    for release, pins in releases.items():
        write(f"ansible-{release}.txt", {name: pin for name, pin in pins.items() if name not in shared})
    tools = compiled("pyproject.toml", RELEASES[TESTED], "--all-extras", "-P", f"ansible-core=={TESTED}.*")
    write("dev.txt", {name: pin for name, pin in tools.items() if name not in tested})
    for name in ("build", "docs"):
        write(f"{name}.txt", compiled(f"requirements/{name}.in", RELEASES[TESTED], "--fork-strategy", "fewest"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
