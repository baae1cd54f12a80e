"""Random sequences of specs: after each success the dependents are exactly what the last run produced."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bench.observer import Object, Observer
from bench.operator import OperatorProcess
from runner.dev.api import Api
from tests.fixtures.operators import Operate, Project, Things

pytestmark = pytest.mark.cluster

KEEP = "ansible.sdk.operatorframework.io/prune"
PRIMARY = "operator-sdk/primary-resource"
PRODUCE = """
- name: Produce the one half
  kubernetes.core.k8s:
    definition: "{{ one }}"
  when: one | length > 0
- name: Fail half-way, if it is to
  ansible.builtin.fail:
    msg: As it was told
  when: fails
- name: Produce the other
  kubernetes.core.k8s:
    definition: "{{ other }}"
  when: other | length > 0
"""
AT_ONCE, EXAMPLES = 25, 2
"""Sequences side by side, each for a custom resource of its own, and how often: 50 in all."""
Child = tuple[str, str]
"""Kind, with where it is, and letter."""
KINDS: dict[str, str] = {
    "ConfigMap": "v1",
    "Secret": "v1",
    "ServiceAccount": "v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ConfigMap elsewhere": "v1",
}
children = st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from("abc"))


@dataclass(frozen=True)
class Step:
    """A spec: what a run is to produce, what of that is never to be pruned, and whether it fails half-way."""

    produced: frozenset[Child]
    kept: bool
    fails: bool


steps = st.builds(
    Step, st.frozensets(children, max_size=6), st.booleans(), st.sampled_from([False, False, False, True])
)
sequences = st.lists(steps, min_size=2, max_size=3)
batches = st.lists(sequences, min_size=AT_ONCE, max_size=AT_ONCE)


@dataclass
class Subject:
    """A Thing, and which dependents it must and may have."""

    name: str
    before: set[Child] = field(default_factory=set)
    """What the last success has produced."""
    kept: set[Child] = field(default_factory=set)
    tried: set[Child] = field(default_factory=set)
    """What may be there: all of that, and what was asked for since."""


class Cluster:
    """What the Things produce, in the test's namespace, in a second one and outside of both."""

    def __init__(self, things: Things, elsewhere: str) -> None:
        self.things, self.elsewhere = things, elsewhere
        self.observer: Observer = things.observer
        self.home = things.observer.namespace

    def definition(self, subject: str, child: Child, *, kept: bool = False) -> Object:
        kind, letter = child
        name = f"{self.home}-{subject}-{letter}"
        meta: Object = {"name": name, "labels": {"subject": f"{self.home}-{subject}"}}
        if kind != "ClusterRole":
            meta["namespace"] = self.elsewhere if kind.endswith("elsewhere") else self.home
        if kept:
            meta["annotations"] = {KEEP: "false"}
        return {"apiVersion": KINDS[kind], "kind": kind.split()[0], "metadata": meta}

    def give(self, subject: Subject, step: Step) -> None:
        """Write the spec, and note what may come of it."""
        produced = sorted(step.produced)
        bodies = [self.definition(subject.name, child, kept=step.kept and child[1] == "c") for child in produced]
        half = len(bodies) // 2
        spec = {"one": bodies[:half], "other": bodies[half:], "fails": step.fails}
        if self.things.get(subject.name):
            self.things.patch(subject.name, {"spec": spec})
        else:
            self.things.create(subject.name, spec)
        subject.tried |= step.produced

    def look(self) -> dict[str, dict[Child, bool]]:
        """The dependents of each Thing as they are now, and whether each is never to be pruned."""
        found: dict[str, dict[Child, bool]] = defaultdict(dict)
        for kind, api_version in KINDS.items():
            there = self.elsewhere if kind.endswith("elsewhere") else self.home
            for body in self.observer.list(
                api_version, kind.split()[0], namespace=there, label_selector="subject"
            ):
                meta = body["metadata"]
                kept = meta.get("annotations", {}).get(KEEP) == "false"
                found[meta["labels"]["subject"]][kind, meta["name"][-1]] = kept
        return found


@pytest.fixture
def cluster(things: Things, admin: Api, namespace: str) -> Iterator[Cluster]:
    elsewhere = f"{namespace}-too"
    admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": elsewhere}})
    yield Cluster(things, elsewhere)
    admin.call("DELETE", f"/api/v1/namespaces/{elsewhere}")


@pytest.fixture
def operator(project: Project, operate: Operate) -> OperatorProcess:
    project.role("produce", PRODUCE)
    project.watch("produce", prune=True, snakeCaseParameters=False)
    return operate("--max-concurrent-reconciles=4", ANSIBLE_VERBOSITY_THING_TEST_EXAMPLE_COM="0")


def foreign(cluster: Cluster, owner: Object) -> list[Object]:
    """Objects that no Thing may lose: nobody's, another owner's too, and one by Helm."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
    ours = {**reference, "uid": owner["metadata"]["uid"]}
    somebody = cluster.observer.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "somebody"}})
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "name": "somebody", "uid": somebody["metadata"]["uid"]}
    metas: list[Object] = [
        {"name": "nobodys"},
        {"name": "shared", "ownerReferences": [ours, theirs]},
        {"name": "helms", "ownerReferences": [ours], "annotations": {"meta.helm.sh/release-name": "a"}},
        {"name": "namesakes", "annotations": {PRIMARY: f"{cluster.home}/somebody", f"{PRIMARY}-type": "Thing.x"}},
    ]
    return [somebody, *(cluster.observer.create(config_map(meta)) for meta in metas)]


def config_map(meta: Object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


@pytest.mark.timeout(400)
def test_the_dependents_are_those_of_the_last_success_whatever_the_order_of_specs_failures_and_kills(
    operator: OperatorProcess, cluster: Cluster
) -> None:
    numbers = count()
    owner = cluster.things.create("owner", {"one": [], "other": [], "fails": False})
    cluster.things.wait("owner", "Successful")
    safe = foreign(cluster, owner)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(batches, st.integers(0, 1), st.floats(0, 2))
    def hold(batch: list[list[Step]], kill_at: int, moment: float) -> None:
        subjects = [(Subject(f"s{next(numbers)}"), sequence) for sequence in batch]
        for position in range(max(map(len, batch))):
            asked = [(subject, sequence[position]) for subject, sequence in subjects if position < len(sequence)]
            for subject, step in asked:
                cluster.give(subject, step)
            if position == kill_at:
                time.sleep(moment)  # any moment will do: it is random
                operator.kill()
                operator.start()
            for subject, step in asked:
                cluster.things.wait(subject.name, "Failure" if step.fails else "Successful")
            found = cluster.look()
            for subject, step in asked:
                check(subject, step, found[f"{cluster.home}-{subject.name}"])
        for subject, _ in subjects:  # else the next batch's new operator would run for these, too
            cluster.things.delete(subject.name)

    hold()
    cluster.things.patch("owner", {"spec": {"one": [cluster.definition("owner", ("Secret", "a"))]}})
    cluster.things.wait("owner", "Successful")
    for body in safe:
        assert cluster.observer.get("v1", "ConfigMap", body["metadata"]["name"])


def check(subject: Subject, step: Step, found: dict[Child, bool]) -> None:
    """What is there after a step whose run has ended."""
    if step.fails:
        assert subject.before | subject.kept <= set(found) <= subject.tried
    else:
        subject.kept = {child for child, kept in found.items() if kept}
        assert set(found) == step.produced | subject.kept
        assert subject.kept <= subject.tried
        subject.before, subject.tried = set(step.produced), set(found)
