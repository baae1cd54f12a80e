"""Which modules one change of a custom resource crosses, from the watch event to the status: a trace of calls.

Every Python process of the operator tells of each file that a call enters, while the operator, which has run warm
before, is shown one more change. `make crossed` prints their names and lines.
"""

from __future__ import annotations

import mmap
import sys
import tempfile
import time
from pathlib import Path
from textwrap import dedent

import runner
from bench.observer import Observer, any_spec, condition, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane

PACKAGE = Path(runner.__file__).parent
GROUP, KIND = "trace.example.com", "Traced"
_WARM = 3
"""The change that is traced: earlier ones have had everything imported and remembered that is."""
_QUIET = 1.0
_PATIENCE = 60.0
"""Seconds."""

HOOK = """
import mmap, os, sys, threading
with open(os.environ["TRACE_FLAG"], "rb") as file:
    _flag = mmap.mmap(file.fileno(), 1, prot=mmap.PROT_READ)
_found = os.open(os.environ["TRACE_FOUND"], os.O_WRONLY | os.O_APPEND)
_seen = set()

def _profile(frame, event, _argument):
    if event == "call" and _flag[0]:
        file = frame.f_code.co_filename
        if file not in _seen:
            _seen.add(file)
            os.write(_found, file.encode() + b"\\n")

threading.setprofile(_profile)
sys.setprofile(_profile)
"""
"""As `sitecustomize`: each interpreter imports it when it starts, and a forked process goes on with it."""


def crossed(plane: ControlPlane, directory: Path) -> set[str]:
    """The modules of this package that one change of a custom resource crosses, in all processes; warm."""
    flag, found = directory / "flag", directory / "found"
    flag.write_bytes(b"\0")
    found.touch()
    (directory / "sitecustomize.py").write_text(HOOK)
    project = _project(directory / "project")
    observer = Observer(plane.kubeconfig)
    observer.apply(any_spec(f"{GROUP}/v1", KIND))
    wait_for("the kind to be served", lambda: observer.serves(f"{GROUP}/v1", KIND), seconds=30)
    environment = {
        "WATCH_NAMESPACE": "default",
        "PYTHONPATH": str(directory),
        "TRACE_FLAG": str(flag),
        "TRACE_FOUND": str(found),
    }
    flags = ("--executor=warm", "--max-concurrent-reconciles=1")
    operator = OperatorProcess(project, plane.kubeconfig, directory / "work", *flags, environment=environment)
    with operator:
        for generation in range(1, _WARM):
            _reconcile(generation, observer, operator)
        _set(flag, on=True)
        _reconcile(_WARM, observer, operator)
        _wait_for_quiet(found)
        _set(flag, on=False)  # its end is no part of it
    observer.close()
    files = {Path(line) for line in found.read_text().splitlines()}
    ours = (file for file in files if file.is_relative_to(PACKAGE) and file.name != "__init__.py")
    return {str(file.relative_to(PACKAGE)) for file in ours}


def _set(flag: Path, *, on: bool) -> None:
    with flag.open("r+b") as file, mmap.mmap(file.fileno(), 1) as mapped:
        mapped[0] = on


def _reconcile(generation: int, observer: Observer, operator: OperatorProcess) -> None:
    observer.apply(_resource(generation))
    wait_for("the status", lambda: _says_so(observer, generation), seconds=_PATIENCE)
    wait_for("the log", lambda: len(list(operator.records("Reconciled"))) >= generation, seconds=_PATIENCE)


def _says_so(observer: Observer, generation: int) -> bool:
    found = condition(observer.get(f"{GROUP}/v1", KIND, "one") or {}, "Successful")
    return found.get("status") == "True" and found.get("observedGeneration") == generation


def _wait_for_quiet(found: Path) -> None:
    """Until no other module has been entered for a while: what comes after the log line belongs to it, too."""
    last = time.monotonic()
    size = -1

    def quiet() -> bool:
        nonlocal last, size
        now = found.stat().st_size
        if now != size:
            last, size = time.monotonic(), now
        return time.monotonic() - last > _QUIET

    wait_for("nothing more to be entered", quiet, seconds=_PATIENCE)


def _project(directory: Path) -> Path:
    tasks = directory / "roles/traced/tasks"
    tasks.mkdir(parents=True)
    (directory / "watches.yaml").write_text(f"- {{group: {GROUP}, version: v1, kind: {KIND}, role: traced}}\n")
    (tasks / "main.yml").write_text(
        dedent("""
        - name: Create a ConfigMap
          kubernetes.core.k8s:
            definition:
              apiVersion: v1
              kind: ConfigMap
              metadata: {name: traced, namespace: "{{ ansible_operator_meta.namespace }}"}
              data: {number: "no. {{ number }}"}
        """)
    )
    return directory


def _resource(number: int) -> dict[str, object]:
    metadata = {"name": "one", "namespace": "default"}
    return {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": metadata, "spec": {"number": number}}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="crossed-") as name, ControlPlane(Path(name) / "plane") as plane:
        modules = sorted(crossed(plane, Path(name)))
    for module in modules:
        print(f"{len((PACKAGE / module).read_text().splitlines()):4}  {module}")  # noqa: T201
    print(f"{len(modules)} modules are crossed by one warm reconcile", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
