"""Records `dev run` for the README: the sample operator's table, a mistake in a role, and its end.

Run from a checkout by `make demo RECORD=1`, and checked by a test, which needs no README.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.kubectl import kubectl_program
from bench.terminal import Screen
from runner.dev.controlplane import ControlPlane
from runner.errors import DevError

CONTENT = ("watches.yaml", "roles", "playbooks", "crds", "ansible.cfg")
SIZE = (14, 110)
ROLE = Path("roles/memcached/tasks/main.yml")
MISTAKE = '- name: Say who is there\n  ansible.builtin.debug:\n    msg: "{{ nobody }}"\n\n'
README = Path("README.md")
RECORDING = re.compile(r"(<!-- dev run -->\n).*?(<!-- end of dev run -->)", re.DOTALL)
_MENDED = re.compile(r"Memcached .* successful .* saved ")


def record(project: Path) -> Iterator[tuple[str, list[str]]]:
    """What is done, and the screen after it."""
    with tempfile.TemporaryDirectory(prefix="dev-run-") as name, ExitStack() as stack:
        work = Path(name)
        for part in filter(Path.exists, (project / content for content in CONTENT)):
            (shutil.copytree if part.is_dir() else shutil.copy)(part, work / part.name)
        plane = ControlPlane(work / "plane")
        stack.callback(plane.stop, delete=True)
        plane.start()
        secret = ["create", "secret", "generic", "registry-login", "--from-literal=config.json={}"]
        typed = [kubectl_program(), f"--kubeconfig={plane.kubeconfig}", *secret]
        subprocess.run(typed, check=True, capture_output=True)
        command = [sys.executable, "-m", "runner", "dev", "run", "--samples", "--dir", str(plane.layout.directory)]
        screen = stack.enter_context(Screen(command, work, {"PYTHONPATH": str(project)}, SIZE))
        screen.until("four good runs", lambda _: _successful(screen) == 4, 120)
        yield "ansible-operator dev run --samples", shown(screen, work)
        role = (work / ROLE).read_text()
        (work / ROLE).write_text(MISTAKE + role.removeprefix("---\n"))
        screen.shows("next try in ")
        yield f"{ROLE}, saved with a variable that nobody has set", shown(screen, work)
        (work / ROLE).write_text(role)
        screen.until("the role to be mended", lambda line: _MENDED.search(line) is not None)
        yield "and saved again without it", shown(screen, work)
        screen.ctrl_c()
        if screen.ended() != 0:
            raise DevError("dev run did not end in order")


def _successful(screen: Screen) -> int:
    return sum(" successful " in line for line in screen.screen())


def shown(screen: Screen, work: Path) -> list[str]:
    """The lines of the screen but for empty ones, with paths as they are for most."""
    return [line.replace(f"{work}/plane", "~/…/dev/default") for line in screen.screen() if line.strip()]


def recorded(page: str, frames: Iterator[tuple[str, list[str]]]) -> str:
    """The page with the frames between its marks. Raises DevError where it has none."""
    parts = ["\n".join([f"    # {done}", *(f"    {line}" for line in lines)]) for done, lines in frames]
    block = "\n\n".join(parts)
    changed, found = RECORDING.subn(lambda match: f"{match[1]}\n{block}\n\n{match[2]}", page)
    if not found:
        raise DevError(f"{README} has no marks of the recording of dev run")
    return changed


def main() -> int:
    README.write_text(recorded(README.read_text(), record(Path.cwd())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
