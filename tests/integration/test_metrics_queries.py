"""The alerts and the dashboard before a running operator: what they ask for is there, and says what it should."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.observer import Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.ansible_release import only_where_warm
from tests.fixtures.operators import PATIENCE, Project, Things, port
from tests.fixtures.queries import TARGET, asked, queries

pytestmark = [pytest.mark.cluster, only_where_warm, pytest.mark.xdist_group("metrics_queries")]

OK = """
- name: Ask for something
  kubernetes.core.k8s_info:
    kind: ConfigMap
    api_version: v1
    namespace: "{{ ansible_operator_meta.namespace }}"
"""
BROKEN = """
- name: Say hello
  ansible.builtin.debug:
    msg: hello
- name: Break
  ansible.builtin.fail:
    msg: broken
"""
NAMESPACE = "metrics-queries"
KIND = {"group": "test.example.com", "version": "v1"}


class Scrape:
    """The series of one /metrics, by name, each with its labels."""

    def __init__(self, url: str) -> None:
        with urlopen(url, timeout=10) as answer:
            self.text = answer.read().decode()
        self.series: dict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
        for family in text_string_to_metric_families(self.text):
            for sample in family.samples:
                self.series[sample.name].append((sample.labels, sample.value))

    def values(self, name: str, /, **labels: str) -> list[float]:
        """Of the series of that name that have these labels."""
        return [value for found, value in self.series[name] if labels.items() <= found.items()]


@pytest.fixture(scope="module")
def observer(control_plane: ControlPlane, kinds: Observer) -> Iterator[Observer]:
    observer = Observer(control_plane.kubeconfig, NAMESPACE)
    observer.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield observer
    observer.delete("v1", "Namespace", NAMESPACE)
    observer.close()


@pytest.fixture(scope="module")
def scrape(
    control_plane: ControlPlane, observer: Observer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scrape]:
    """Of an operator with leader election, one object that is fine, one that fails, and a metric of a role."""
    directory = tmp_path_factory.mktemp("queries")
    project = Project(directory)
    project.role("ok", OK)
    project.role("broken", BROKEN)
    project.watch("ok")
    project.watch("broken", kind="Gadget")
    operator = OperatorProcess(
        directory,
        control_plane.kubeconfig,
        directory / "work",
        "--metrics-bind-address=127.0.0.1:0",
        "--user-metrics-bind-address=127.0.0.1:0",
        "--leader-elect",
        "--leader-election-id=queries",
        f"--leader-election-namespace={NAMESPACE}",
        environment={"WATCH_NAMESPACE": NAMESPACE, "ANSIBLE_GATHERING": "explicit"},
    )
    with operator:
        things = Things(observer)
        things.create("fine")
        things.create("bad", kind="Gadget")
        things.wait("fine", "Successful")
        things.wait("bad", "Failure", kind="Gadget")
        body = b'{"name": "backups", "description": "Backups made.", "counter": {"increment": true}}'
        urlopen(Request(metrics_of(operator, "user_metrics"), data=body), timeout=10).close()
        yield wait_for("both to be counted", partial(_both, metrics_of(operator, "metrics")), seconds=PATIENCE)


def metrics_of(operator: OperatorProcess, part: str) -> str:
    return f"http://127.0.0.1:{port(operator, part)}/metrics"


def _both(url: str) -> Scrape | None:
    try:
        scrape = Scrape(url)
    except URLError:
        return None
    counted = [
        scrape.values("ansible_operator_objects", kind=kind, condition=condition)
        for kind, condition in (("Thing", "Successful"), ("Gadget", "Failure"))
    ]
    return scrape if counted == [[1], [1]] else None


@pytest.mark.parametrize(("where", "expression"), list(queries()), ids=[where for where, _ in queries()])
def test_what_a_query_asks_for_is_there(scrape: Scrape, where: str, expression: str) -> None:
    for name, labels in asked(expression).items():
        series = scrape.series.get(name)
        assert series, f"there is no {name}"
        for label in labels.keys() - TARGET:
            values = {found.get(label) for found, _ in series}
            assert None not in values, f"{name} has no label {label}"
            assert labels[label] <= values, f"{label} of {name} has other values: {values}"


def test_the_object_that_fails_is_named_and_so_is_its_task(scrape: Scrape) -> None:
    assert scrape.values("ansible_operator_object_failing_since_seconds", name="bad", **KIND, kind="Gadget")
    (failures,) = scrape.values(
        "ansible_operator_task_failures_total",
        **KIND,
        kind="Gadget",
        action="ansible.builtin.fail",
        task="roles/broken/tasks/main.yml:5",
    )
    assert failures >= 1


def test_watched_kinds_zygotes_and_leader_are_as_they_are(scrape: Scrape) -> None:
    watching = scrape.values("ansible_operator_watched_kinds", **KIND, purpose="resource", state="watching")
    assert (watching, scrape.values("ansible_operator_zygotes")) == ([1, 1], [2])
    assert scrape.values("ansible_operator_zygote_starts_total", result="succeeded") == [1]
    assert scrape.values("leader_election_master_status") == [1]


def test_the_operators_own_requests_are_counted(scrape: Scrape) -> None:
    assert sum(scrape.values("rest_client_requests_total", code="200", method="PUT")) >= 2


def test_a_counter_of_a_role_is_exposed_as_one_under_its_very_name(scrape: Scrape) -> None:
    assert "# TYPE backups counter\nbackups 1.0\n" in scrape.text
