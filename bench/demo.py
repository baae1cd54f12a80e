"""The demo: the sample operator on a control plane of its own, every step checked.

Run from a checkout by `make demo`. Ends with exit code 1 at the first step that does not come true.
"""

from __future__ import annotations

import argparse
import os
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
from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from runner.errors import OperatorError

GROUP = "sample.example.com/v1alpha1"
SAMPLES = {
    "Memcached": "memcached-sample",
    "HelloApp": "helloapp-sample",
    "PodSet": "podset-sample",
    "CIBuild": "cibuild-sample",
}
PATIENCE = 90.0
"""Seconds any step may take; the garbage collector of Kubernetes looks at new kinds only every 30 s."""


class Demo:
    """The steps, each named by what it shows."""

    def __init__(self, observer: Observer, operator: OperatorProcess, project: Path, console: Console) -> None:
        self._observer = observer
        self._project = project
        self._board = Board(observer, operator, GROUP, SAMPLES, console)
        self._console = console
        self._took: list[tuple[str, float]] = []

    def run(self) -> None:
        for show in (
            self.apply_the_samples,
            self.scale_up,
            self.scale_down,
            self.delete_children,
            self.break_one,
            self.mend_it,
            self.delete_one,
        ):
            with self._step((show.__doc__ or "").strip().rstrip(".")):
                show()
        self._console.print(self._board.table())
        self._summary()

    def apply_the_samples(self) -> None:
        """Apply four custom resources: every one becomes Successful."""
        login = {"config.json": "e30="}
        self._observer.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-login"}, "data": login}
        )
        self._observer.apply(self._project / "crds" / "samples")
        for kind in SAMPLES:
            self._until(f"{kind} to be Successful", partial(self._is, kind, "Successful"))
        self._until("the build to be deployed", lambda: self._status("CIBuild").get("phase") == "Succeeded")
        self._until("three pods in the status", lambda: self._pods_are(3))

    def scale_up(self) -> None:
        """Scale the PodSet to 5 through its scale subresource: five pods, five names in its status."""
        self._scale(5)

    def scale_down(self) -> None:
        """Scale it down to 2: the newest three pods go."""
        self._scale(2)

    def delete_children(self) -> None:
        """Delete a Service and a Deployment by hand: both are put back."""
        gone = [("v1", "Service", SAMPLES["HelloApp"]), ("apps/v1", "Deployment", SAMPLES["Memcached"])]
        for api_version, kind, name in gone:
            before = self._uid(api_version, kind, name)
            self._observer.delete(api_version, kind, name)
            self._until(f"{kind} {name} to be back", partial(self._is_anew, api_version, kind, name, before))

    def break_one(self) -> None:
        """Give the HelloApp an image that cannot be one: Failure, and the message says why."""
        self._patch("HelloApp", {"image": "not an image"})
        self._until("HelloApp to be a Failure", lambda: self._is("HelloApp", "Failure"))
        message = condition(self._sample("HelloApp"), "Failure")["message"]
        self._console.print(f"    [dim]{message}[/dim]")

    def mend_it(self) -> None:
        """Mend the image: Successful again, with an Event that says Recovered."""
        self._patch("HelloApp", {"image": "nginxinc/nginx-unprivileged:1.28-alpine"})
        self._until("HelloApp to be Successful", lambda: self._is("HelloApp", "Successful"))
        self._until("an Event that says Recovered", self._recovered)

    def delete_one(self) -> None:
        """Delete the Memcached: its Deployment goes with it."""
        name = SAMPLES["Memcached"]
        self._until("its Deployment to be there", lambda: self._uid("apps/v1", "Deployment", name) != "")
        self._observer.delete(GROUP, "Memcached", name)
        self._until("its Deployment to be gone", lambda: self._uid("apps/v1", "Deployment", name) == "")

    def _scale(self, replicas: int) -> None:
        self._observer.scale(GROUP, "PodSet", SAMPLES["PodSet"], replicas)
        self._until(f"{replicas} pods in the status", lambda: self._pods_are(replicas))

    def _pods_are(self, replicas: int) -> bool:
        status = self._status("PodSet")
        pods = self._observer.list("v1", "Pod", label_selector=status.get("selector", "none=none"))
        names = sorted(pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("deletionTimestamp"))
        counted = status.get("availableReplicas") == replicas
        return counted and len(names) == replicas and sorted(status.get("podNames", ())) == names

    def _recovered(self) -> bool:
        events = self._observer.list("v1", "Event")
        return any(
            event["reason"] == "Recovered" and event["involvedObject"]["name"] == SAMPLES["HelloApp"]
            for event in events
        )

    def _patch(self, kind: str, spec: Object) -> None:
        self._observer.patch(GROUP, kind, SAMPLES[kind], {"spec": spec})

    def _sample(self, kind: str) -> Object | None:
        return self._observer.get(GROUP, kind, SAMPLES[kind])

    def _status(self, kind: str) -> Object:
        return (self._sample(kind) or {}).get("status") or {}

    def _is(self, kind: str, wanted: str) -> bool:
        body = self._sample(kind) or {}
        found = condition(body, wanted)
        current = found.get("observedGeneration") == body.get("metadata", {}).get("generation")
        return found.get("status") == "True" and current

    def _is_anew(self, api_version: str, kind: str, name: str, before: str) -> bool:
        return self._uid(api_version, kind, name) not in ("", before)

    def _uid(self, api_version: str, kind: str, name: str) -> str:
        found = self._observer.get(api_version, kind, name)
        return found["metadata"]["uid"] if found else ""

    def _until(self, what: str, is_true: Callable[[], bool]) -> None:
        def look() -> bool:
            self._board.refresh()
            return is_true()

        with self._board.live():
            wait_for(what, look, seconds=PATIENCE, every=0.2)

    @contextmanager
    def _step(self, title: str) -> Iterator[None]:
        started = time.monotonic()
        self._console.print(f"[bold]{len(self._took) + 1}. {title}[/bold]")
        yield
        seconds = time.monotonic() - started
        self._took.append((title, seconds))
        self._console.print(f"    [green]✓[/green] {seconds:.1f} s")

    def _summary(self) -> None:
        total = sum(seconds for _, seconds in self._took)
        self._console.print(f"[bold green]All {len(self._took)} steps came true in {total:.0f} s.[/bold green]")


def main() -> int:
    """The demo as a command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the control plane up, and say how to go on")
    keep = parser.parse_args().keep
    project, console = Path.cwd(), Console()
    work = Path(tempfile.mkdtemp(prefix="ansible-operator-demo-"))
    try:
        _show(project, work, console, keep=keep)
    except OperatorError as error:
        console.print(f"[bold red]The demo failed:[/bold red] {error}")
        console.print(f"Logs: {work}")
        return 1
    if keep:
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
        observer = Observer(plane.kubeconfig)
        stack.callback(observer.close)
        observer.apply(project / "crds")
        with OperatorProcess(project, plane.kubeconfig, work / "operator") as operator:
            Demo(observer, operator, project, console).run()


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
