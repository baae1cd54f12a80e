"""The steps of the demo: what is typed, and what has to come of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console

from bench.demotable import Board
from bench.kubectl import Kubectl
from bench.observer import Object, Observer, condition, wait_for
from bench.operator import OperatorProcess
from runner.errors import DevError
from runner.execute.history import History, PastRun

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
DRIFTED = """jsonpath='{.status.conditions[?(@.type=="Drifted")].message}{"\\n"}'"""
MODE = "ansible.sdk.operatorframework.io/mode"
EVENT = "custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message"


class Demo:
    """The steps, each named by what it shows. `cold` is a second operator, whose runs are cold."""

    def __init__(
        self, observer: Observer, operator: OperatorProcess, cold: OperatorProcess, plane: Path, console: Console
    ) -> None:
        self._observer = observer
        self._pair = {"cold": cold, "warm": operator}
        self._board = Board(observer, operator, GROUP, SAMPLES, console)
        typed = Kubectl(plane, Path.cwd(), console, self._board.refresh)
        self._kubectl, self._ansible_operator = typed.type, typed.operator
        self._history = History([operator.runner_dir])
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

    def follow(self) -> None:
        """Let a pod of the PodSet be unready: the status follows it, without a run."""
        pod = self._sample("PodSet")["status"]["podNames"][0]
        before = len(self._past_runs("PodSet"))
        for ready, available in (("False", 1), ("True", 2)):
            condition = f"status: {{conditions: [{{type: Ready, status: '{ready}'}}]}}"
            self._kubectl(f'patch pod {pod} --subresource=status -p "{condition}"')
            started = time.monotonic()
            self._until(f"availableReplicas {available}", partial(self._has_available, available))
            self._say(f"availableReplicas is {available} after {time.monotonic() - started:.1f} s")
        self._check("no run took place", len(self._past_runs("PodSet")) == before)

    def ask_who(self) -> None:
        """Ask who changed the HelloApp's Deployment: Event and run say object, field manager and field."""
        reasons = "reason=DependentChanged,involvedObject.name=helloapp-sample"
        who = "Deployment default/helloapp-sample changed by kubectl: spec.replicas"
        self._until("its Event", partial(self._has_event, "DependentChanged", who))
        self._until("the end of its run", lambda: self._past_runs("HelloApp")[0].result == "succeeded")
        self._kubectl(f"get events --field-selector {reasons} -o {EVENT}")
        self._ansible_operator("runs helloapp helloapp-sample -n default")
        because = next(run for run in self._past_runs("HelloApp") if who in run.texts("because"))
        self._check("the run says who", who in self._ansible_operator(f"runs show {because.ident[:12]}"))

    def refer(self) -> None:
        """Change the Secret that the CIBuild names: it is run at once, and Event and run say which Secret."""
        who = "Secret default/registry-login changed by kubectl"
        self._kubectl("patch secret registry-login --type merge -p 'stringData: {config.json: \"[]\"}'")
        self._until("its Event", partial(self._has_event, "ReferenceChanged", who, "CIBuild"))
        self._kubectl(f"get events --field-selector reason=ReferenceChanged -o {EVENT}")
        self._until("a run that says it", partial(self._is_because, "CIBuild", who))

    def pause(self) -> None:
        """Pause the Memcached: what is done by hand stays until it is resumed."""
        self._ansible_operator("pause memcached memcached-sample")
        self._kubectl("wait --for=condition=Paused --timeout=90s memcached/memcached-sample")
        self._kubectl("scale deployment memcached-sample --replicas=6")
        self._kubectl(f"patch memcached memcached-sample {_spec('size: 3')}")
        self._until("the change to be seen", self._is_seen)
        self._check("the Deployment is left alone", self._replicas() == 6)
        self._ansible_operator("resume memcached memcached-sample")
        self._until("the Deployment to be as it should", lambda: self._replicas() == 3)
        self._say("the Deployment was left at 6 replicas, and has 3 now")

    def drift(self) -> None:
        """Only check the Memcached: its condition says what a run would change, and nothing is changed."""
        self._kubectl(f"annotate memcached memcached-sample {MODE}=check")
        self._kubectl("scale deployment memcached-sample --replicas=6")
        self._kubectl("wait --for=condition=Drifted --timeout=90s memcached/memcached-sample")
        self._kubectl(f"get memcached memcached-sample -o {DRIFTED}")
        self._check("the Deployment is left alone", self._replicas() == 6)
        self._kubectl(f"annotate memcached memcached-sample {MODE}-")
        self._kubectl("wait --for=condition=Drifted=False --timeout=90s memcached/memcached-sample")
        self._check("the Deployment is as it should be", self._replicas() == 3)

    def preview(self) -> None:
        """Preview what applying a Memcached would change, object by object: nothing is changed."""
        shown = self._ansible_operator("preview -f crds/samples/memcached.yaml", code=1)
        self._check("both are shown", "-  replicas: 3" in shown and "-  size: 3" in shown)
        self._check("nothing was changed", self._replicas() == 3)

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
        status = self._sample("PodSet").get("status") or {}
        pods = self._observer.list("v1", "Pod", label_selector=status.get("selector", "none=none"))
        names = sorted(pod["metadata"]["name"] for pod in pods if not pod["metadata"].get("deletionTimestamp"))
        counted = status.get("availableReplicas") == replicas
        return counted and len(names) == replicas and sorted(status.get("podNames", ())) == names

    def _past_runs(self, kind: str) -> list[PastRun]:
        return self._history.runs(SAMPLES[kind], "default")

    def _is_because(self, kind: str, what: str) -> bool:
        return any(what in text for run in self._past_runs(kind) for text in run.texts("because"))

    def _has_available(self, replicas: int) -> bool:
        return bool(self._sample("PodSet")["status"].get("availableReplicas") == replicas)

    def _is_seen(self) -> bool:
        """Whether the condition that says that the Memcached is paused is of the object as it is now."""
        body = self._sample("Memcached")
        paused = condition(body, "Paused") or {}
        return bool(paused.get("observedGeneration") == body["metadata"]["generation"])

    def _replicas(self) -> int:
        deployment = self._observer.get("apps/v1", "Deployment", SAMPLES["Memcached"]) or {}
        return int(deployment["spec"]["replicas"])

    def _sample(self, kind: str) -> Object:
        return self._observer.get(GROUP, kind, SAMPLES[kind]) or {}

    def _has_event(self, reason: str, message: str = "", kind: str = "HelloApp") -> bool:
        events = self._observer.list("v1", "Event")
        return any(
            event["reason"] == reason
            and event["involvedObject"]["name"] == SAMPLES[kind]
            and message in event["message"]
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

    def _check(self, what: str, is_true: bool) -> None:
        if not is_true:
            raise DevError(f"it is not so that {what}")

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
    Demo.follow,
    Demo.undo,
    Demo.ask_who,
    Demo.refer,
    Demo.pause,
    Demo.drift,
    Demo.preview,
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
