"""`prune: true` on a real API server: what a run no longer produces goes, and nothing else."""

from __future__ import annotations

import pytest

from bench.observer import Object, Observer, wait_for
from bench.operator import OperatorProcess
from tests.fixtures.operators import PATIENCE, Operate, Project, Things

pytestmark = pytest.mark.cluster

PREFIX = "ansible.sdk.operatorframework.io/"
PRODUCE = """
- name: Produce what the spec names
  kubernetes.core.k8s:
    definition: "{{ objects }}"
- name: Look at others
  kubernetes.core.k8s_info: "{{ look }}"
  when: look is defined
- name: Fail, if it is to
  ansible.builtin.command: "false"
  changed_when: true
  when: fails | default(false)
  ignore_errors: "{{ ignored | default(false) }}"
- name: Be called again, if it is to
  operator_sdk.util.requeue_after: {time: 1h}
  when: polls | default(false)
"""


def config_map(name: str, namespace: str, **metadata: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
    }


class Maps:
    """The ConfigMaps of a Thing, in the test's namespace."""

    def __init__(self, things: Things) -> None:
        self._things = things
        self.namespace = things.observer.namespace

    def spec(self, *names: str, **more: object) -> Object:
        return {"objects": [config_map(name, self.namespace) for name in names], **more}

    def give(self, name: str, *names: str, condition: str = "Successful", **more: object) -> None:
        """Have the Thing produce these, and wait until it has."""
        spec = {"look": None, "fails": None, "ignored": None, "polls": None, **self.spec(*names, **more)}
        if self._things.get(name):
            self._things.patch(name, {"spec": spec})
        else:
            self._things.create(name, {key: value for key, value in spec.items() if value is not None})
        self._things.wait(name, condition)

    def there(self) -> set[str]:
        found = self._things.observer.list("v1", "ConfigMap")
        return {body["metadata"]["name"] for body in found} - {"kube-root-ca.crt"}


@pytest.fixture
def maps(things: Things) -> Maps:
    return Maps(things)


@pytest.fixture
def operator(project: Project, operate: Operate) -> OperatorProcess:
    project.role("produce", PRODUCE)
    project.watch("produce", prune=True, snakeCaseParameters=False)
    return operate()


def events(observer: Observer, reason: str) -> list[str]:
    return [event["message"] for event in observer.list("v1", "Event") if event.get("reason") == reason]


def runs(operator: OperatorProcess) -> list[Object]:
    return list(operator.records("Reconciled"))


def test_what_a_run_no_longer_produces_is_deleted_an_event_and_the_log_name_it_and_no_run_follows(
    operator: OperatorProcess, things: Things, maps: Maps, observer: Observer
) -> None:
    observer.create(config_map("foreign", maps.namespace))
    maps.give("other", "others")
    maps.give("one", "first", "second", "third")
    maps.give("one", "third")
    assert maps.there() == {"third", "others", "foreign"}
    [message] = wait_for("the Event", lambda: events(observer, "Pruned"), seconds=PATIENCE)
    assert f"ConfigMap {maps.namespace}/first, ConfigMap {maps.namespace}/second" in message
    maps.give("one", "third", "fourth")
    assert [record.get("pruned") for record in runs(operator)] == [
        None,
        None,
        [f"ConfigMap {maps.namespace}/first", f"ConfigMap {maps.namespace}/second"],
        None,
    ]


def test_a_restart_forgets_nothing_not_even_a_kind_that_is_no_longer_written(
    operator: OperatorProcess, maps: Maps, things: Things
) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": maps.namespace}}
    maps.give("one", objects=[secret, config_map("first", maps.namespace)])
    places = things.get("one")["metadata"]["annotations"][f"{PREFIX}prune-places"]
    assert places == f"v1/ConfigMap@{maps.namespace},v1/Secret@{maps.namespace}"
    operator.stop()
    things.patch("one", {"spec": {"objects": [config_map("first", maps.namespace)]}})
    operator.start()
    things.wait("one", "Successful")
    assert not things.observer.get("v1", "Secret", "s")
    assert maps.there() == {"first"}


@pytest.mark.parametrize(
    "how",
    [
        {"look": {"api_version": "v1", "kind": "ConfigMap"}},
        {"fails": True, "ignored": True},
        {"polls": True},
    ],
    ids=["that lists them", "with an ignored failure", "that asks to be called again"],
)
def test_nothing_is_deleted_after_a_run(
    operator: OperatorProcess, maps: Maps, things: Things, how: Object
) -> None:
    maps.give("one", "first", "second")
    if "look" in how:
        how = {"look": {**how["look"], "namespace": maps.namespace}}
    before = len(runs(operator))
    things.patch("one", {"spec": maps.spec("first", **how)})
    wait_for("the run", lambda: len(runs(operator)) > before, seconds=PATIENCE)
    assert runs(operator)[-1]["result"] in ("succeeded", "requeued")
    assert maps.there() == {"first", "second"}
    maps.give("one", "first")
    assert maps.there() == {"first"}
