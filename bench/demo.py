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
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.demotable import Board
from bench.kubectl import Kubectl
from bench.observer import Object, Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from runner.errors import DevError, OperatorError

GROUP = "sample.example.com/v1alpha1"
SAMPLES = {
    "Memcached": "memcached-sample",
    "HelloApp": "helloapp-sample",
    "PodSet": "podset-sample",
    "CIBuild": "cibuild-sample",
}
PATIENCE = 90.0
"""Seconds any step may take."""
FAILURE = """jsonpath='{.status.conditions[?(@.type=="Failure")].message}{"\\n"}'"""
EVENT = "custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message"
WIDTH = 110
RECORDED = (3, 4, 6, 7)
"""The steps that the README shows as a whole."""
README = Path("README.md")
RECORDING = re.compile(r"(<!-- demo -->\n).*?(<!-- end of demo -->)", re.DOTALL)


class Demo:
    """The steps, each named by what it shows. `cold` is a second operator, whose runs are cold."""

    def __init__(
        self, observer: Observer, operator: OperatorProcess, cold: OperatorProcess, plane: Path, console: Console
    ) -> None:
        self._observer = observer
        self._pair = {"cold": cold, "warm": operator}
        self._board = Board(observer, operator, GROUP, SAMPLES, console)
        self._kubectl = Kubectl(plane, Path.cwd(), console, self._board.refresh).type
        self._console = console
        self._took: list[tuple[str, float]] = []

    def run(self) -> None:
        for show in STEPS:
            with self._step(title(show)), self._board.live():
                show(self)
        self._console.print(self._board.table())
        self._summary()

    def apply_the_samples(self) -> None:
        """Apply four custom resources: every one becomes Successful."""
        self._kubectl("create secret generic registry-login --from-literal=config.json={}")
        self._kubectl("apply -f crds/samples/")
        names = " ".join(f"{kind.lower()}/{name}" for kind, name in SAMPLES.items())
        self._kubectl(f"wait --for=condition=Successful --timeout=90s {names}")

    def scale(self) -> None:
        """Scale the PodSet up, then down: its status names the pods that there are."""
        for replicas in (5, 2):
            self._kubectl(f"scale podset podset-sample --replicas={replicas}")
            self._until(f"{replicas} pods in the status", partial(self._pods_are, replicas))
        self._kubectl("get podset podset-sample -o jsonpath='{.status.podNames}{\"\\n\"}'")

    def undo(self) -> None:
        """Delete and change by hand what belongs to them: everything is put back."""
        changes = (
            ("delete service helloapp-sample", "v1", "Service", SAMPLES["HelloApp"]),
            ("delete deployment memcached-sample", "apps/v1", "Deployment", SAMPLES["Memcached"]),
            ("scale deployment helloapp-sample --replicas=7", "apps/v1", "Deployment", SAMPLES["HelloApp"]),
        )
        for change, api_version, kind, name in changes:
            before = self._observer.get(api_version, kind, name)
            self._kubectl(change)
            started = time.monotonic()
            self._until(f"{kind} {name} to be back", partial(self._is_back, api_version, kind, name, before))
            self._say(f"{kind} {name} was put back in {time.monotonic() - started:.1f} s")

    def break_one(self) -> None:
        """Give the HelloApp an image that cannot be one: condition and Event say why."""
        self._kubectl(f"patch helloapp helloapp-sample {_spec('image: not an image')}")
        self._kubectl("wait --for=condition=Failure --timeout=90s helloapp/helloapp-sample")
        self._kubectl(f"get helloapp helloapp-sample -o {FAILURE}")
        self._until("a warning Event", partial(self._has_event, "ReconcileFailed"))
        self._kubectl(f"get events --field-selector reason=ReconcileFailed -o {EVENT}")

    def mend_it(self) -> None:
        """Mend the image: Successful again, with an Event that says Recovered."""
        self._kubectl(f"patch helloapp helloapp-sample {_spec('image: nginx:1.29-alpine')}")
        self._kubectl("wait --for=condition=Successful --timeout=90s helloapp/helloapp-sample")
        self._until("an Event that says Recovered", partial(self._has_event, "Recovered"))
        self._kubectl(f"get events --field-selector reason=Recovered -o {EVENT}")

    def prune(self) -> None:
        """Take the host from the HelloApp: its Ingress goes, though no task of the role deletes it."""
        self._until("its Ingress", lambda: self._ingress() is not None)
        self._kubectl(f"patch helloapp helloapp-sample {_spec('host: null')}")
        self._until("the Ingress to be gone", lambda: self._ingress() is None)
        self._until("an Event that says Pruned", partial(self._has_event, "Pruned"))
        self._kubectl(f"get events --field-selector reason=Pruned -o {EVENT}")

    def compare(self) -> None:
        """The same role, once by an operator whose runs are cold, a fresh ansible-playbook each, and once warm."""
        apply, change = (
            "apply -f crds/samples/memcached.yaml",
            f"patch memcached memcached-sample {_spec('size: 3')}",
        )
        for what, typed in (("created", apply), ("changed", change)):
            cold, warm = (self._timed(namespace, typed) for namespace in self._pair)
            self._say(f"{what}: cold {cold:.2f} s   warm {warm:.2f} s   {cold / warm:.0f} times as fast")

    def delete_one(self) -> None:
        """Delete the Memcached: its Deployment goes with it."""
        self._kubectl("delete memcached memcached-sample")
        self._kubectl("wait --for=delete --timeout=90s deployment/memcached-sample")

    def _timed(self, namespace: str, change: str) -> float:
        """Seconds of the run that a change in that namespace leads to."""
        before = len(self._runs(namespace))
        self._kubectl(f"-n {namespace} {change}")
        self._until(f"a run in {namespace}", lambda: len(self._runs(namespace)) > before)
        return self._runs(namespace)[-1]

    def _runs(self, namespace: str) -> list[float]:
        records = self._pair[namespace].records("Reconciled")
        return [record["seconds"] for record in records if record["namespace"] == namespace]

    def _pods_are(self, replicas: int) -> bool:
        status = (self._observer.get(GROUP, "PodSet", SAMPLES["PodSet"]) or {}).get("status") or {}
        pods = self._observer.list("v1", "Pod", label_selector=status.get("selector", "none=none"))
        names = sorted(pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("deletionTimestamp"))
        counted = status.get("availableReplicas") == replicas
        return counted and len(names) == replicas and sorted(status.get("podNames", ())) == names

    def _has_event(self, reason: str) -> bool:
        events = self._observer.list("v1", "Event")
        return any(
            event["reason"] == reason and event["involvedObject"]["name"] == SAMPLES["HelloApp"]
            for event in events
        )

    def _ingress(self) -> Object | None:
        return self._observer.get("networking.k8s.io/v1", "Ingress", SAMPLES["HelloApp"])

    def _is_back(self, api_version: str, kind: str, name: str, before: Object | None) -> bool:
        """Whether what was deleted is there anew, and what was changed is as it was."""
        found = self._observer.get(api_version, kind, name)
        wanted = (before or {}).get("spec", {}).get("replicas")
        return found is not None and found["spec"].get("replicas") == wanted

    def _until(self, what: str, is_true: Callable[[], bool]) -> None:
        def look() -> bool:
            self._board.refresh()
            return is_true()

        wait_for(what, look, seconds=PATIENCE, every=0.1)

    def _say(self, text: str) -> None:
        self._console.print(f"    {text}", style="green", highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def _step(self, title: str) -> Iterator[None]:
        started = time.monotonic()
        self._console.print(f"[bold]{len(self._took) + 1}. {title}[/bold]", highlight=False, soft_wrap=True)
        yield
        seconds = time.monotonic() - started
        self._took.append((title, seconds))
        self._console.print(f"    [green]✓[/green] {seconds:.1f} s", highlight=False)

    def _summary(self) -> None:
        total = sum(seconds for _, seconds in self._took)
        self._console.print(f"[bold green]All {len(self._took)} steps came true in {total:.0f} s.[/bold green]")


STEPS = (
    Demo.apply_the_samples,
    Demo.scale,
    Demo.undo,
    Demo.break_one,
    Demo.mend_it,
    Demo.prune,
    Demo.compare,
    Demo.delete_one,
)


def title(step: Callable[[Demo], None]) -> str:
    """What a step shows, as its docstring says."""
    return " ".join((step.__doc__ or "").split()).rstrip(".")


def _spec(field: str) -> str:
    """The arguments of `kubectl patch` that set a field of the spec."""
    return f"--type merge -p 'spec: {{{field}}}'"


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
            README.write_text(recorded(README.read_text(), console.export_text()))
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
