"""The demo: the sample operator on a control plane of its own, every step checked.

Run from a checkout by `make demo`. Ends with exit code 1 at the first step that does not come true.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.demosteps import Demo
from bench.kubectl import Kubectl
from bench.observer import Observer
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from runner.errors import DevError, OperatorError

WIDTH = 110
RECORDED = (4, 5, 12, 13)
"""The steps that the README shows as a whole."""
README = Path("README.md")
RECORDING = re.compile(r"(<!-- demo -->\n).*?(<!-- end of demo -->)", re.DOTALL)


def recorded(page: str, text: str) -> str:
    """The page with an excerpt of `text` between its marks. Raises DevError where it has none."""
    block = "\n".join(f"    {line}".rstrip() for line in excerpt(text))
    changed, found = RECORDING.subn(lambda match: f"{match[1]}\n{block}\n\n{match[2]}", page)
    if not found:
        raise DevError(f"{README} has no marks of the demo's recording")
    return changed


def excerpt(text: str) -> Iterator[str]:
    """The steps of a demo by their titles, some with all that they have shown, and its last line.

    What is typed is whole, what is answered is cut to WIDTH.
    """
    _, *steps = re.split(r"^(?=\d+\. )", text.strip(), flags=re.MULTILINE)
    for number, step in enumerate(steps, 1):
        title, *shown = step.splitlines()
        rest = [line for line in shown if line.startswith("    ")]
        for line in [title, *(rest if number in RECORDED else ["    …"])]:
            yield line if len(line) <= WIDTH or line.startswith("    $ ") else f"{line[: WIDTH - 1]}…"
    yield text.strip().splitlines()[-1]


def main() -> int:
    """The demo as a command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the control plane up, and say how to go on")
    parser.add_argument("--record", action="store_true", help="put what is shown into README.md")
    chosen = parser.parse_args()
    console = Console(record=True, width=WIDTH, force_terminal=False) if chosen.record else Console()
    work = Path(tempfile.mkdtemp(prefix="ansible-operator-demo-"))
    try:
        _show(Path.cwd(), work, console, keep=chosen.keep)
        if chosen.record:
            README.write_text(recorded(README.read_text(), console.export_text().replace(str(Path.cwd()), "~/…")))
    except OperatorError as error:
        console.print(f"[bold red]The demo failed:[/bold red] {error}")
        console.print(f"Logs: {work}")
        return 1
    if chosen.keep:
        _say_how_to_go_on(console, work)
    else:
        shutil.rmtree(work)
    return 0


def _show(project: Path, work: Path, console: Console, *, keep: bool) -> None:
    plane = ControlPlane(work / "control-plane")
    with ExitStack() as stack:
        if not keep:
            stack.callback(plane.stop, delete=True)
        console.print("[bold]Starting etcd, kube-apiserver, controller manager, scheduler and a fake node[/bold]")
        plane.start()
        kubectl = Kubectl(plane.kubeconfig, project, console)
        kubectl.type("apply -f crds/")
        for namespace in ("cold", "warm"):
            kubectl.type(f"create namespace {namespace}")
        # Its garbage collector looks for new kinds every 30 s only, and at its start.
        plane.stop_component("kube-controller-manager")
        plane.start_component("kube-controller-manager")
        observer = Observer(plane.kubeconfig)
        stack.callback(observer.close)
        start = partial(_operator, stack, project, plane.kubeconfig, work)
        console.print(
            "[bold]Starting two operators: one as it is, and one for namespace cold, with --executor=cold[/bold]"
        )
        operator, cold = start("warm", "default,warm"), start("cold", "cold", "--executor=cold")
        Demo(observer, operator, cold, plane.kubeconfig, console).run()


def _operator(
    stack: ExitStack, project: Path, kubeconfig: Path, work: Path, name: str, namespaces: str, *flags: str
) -> OperatorProcess:
    environment = {"WATCH_NAMESPACE": namespaces}
    return stack.enter_context(OperatorProcess(project, kubeconfig, work / name, *flags, environment=environment))


def _say_how_to_go_on(console: Console, work: Path) -> None:
    beside = os.path.dirname(sys.executable)  # noqa: PTH120  (a symlinked interpreter must not be resolved)
    console.print("The control plane is still up. To go on:")
    console.print(f"  export KUBECONFIG={work}/control-plane/kubeconfig", highlight=False, soft_wrap=True)
    console.print(f"  {beside}/ansible-operator run", highlight=False, soft_wrap=True)
    console.print(
        f"  {beside}/ansible-operator dev down --dir {work}/control-plane", highlight=False, soft_wrap=True
    )


if __name__ == "__main__":
    sys.exit(main())
