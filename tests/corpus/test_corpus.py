"""Each case of the corpus, run cold and in every other way: nobody may be able to tell which was which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from tests.corpus import case as cases
from tests.corpus import cluster
from tests.corpus.compare import Observation, difference
from tests.corpus.executors import OTHERS, REPEATS, Make, cold
from tests.corpus.observe import observe
from tests.corpus.stage import KEY, Stage

WAYS = [pytest.param(name, id=name.replace(" ", "-")) for name in OTHERS]
NEEDS = {name: cases.read(name).needs for name in cases.names()}
PLAIN = [name for name, needs in NEEDS.items() if "kubernetes" not in needs]
KUBERNETES = [name for name, needs in NEEDS.items() if "kubernetes" in needs]


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """The API of the cases that need one."""

    api: Api
    kubeconfig: str

    @contextmanager
    def namespace(self) -> Iterator[str]:
        """A namespace whose name is always as long; its deletion is asked for, not waited for."""
        name = f"corpus-{uuid4().hex[:8]}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        status, answer = self.api.call("POST", "/api/v1/namespaces", body)
        assert status == 201, answer
        yield name
        self.api.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PLAIN)
async def test_runs_the_same(name: str, way: str, stage: Stage, request: pytest.FixtureRequest) -> None:
    values = request.getfixturevalue("http") if "http" in NEEDS[name] else {}
    [stock] = await _observed(name, cold, 1, stage, values)
    _is_the_case_it_says(name, stock)
    others = await _observed(name, OTHERS[way], REPEATS[way], stage, values)

    _are_the_same(stock, others)
    _was_served_as_expected(name, others)


@pytest.mark.cluster
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KUBERNETES)
async def test_does_the_same_to_a_cluster(
    name: str, way: str, stage: Stage, control_plane: ControlPlane, admin: Api
) -> None:
    kubernetes = Kubernetes(admin, control_plane.kubeconfig.read_text())
    [stock] = await _observed(name, cold, 1, stage, {}, kubernetes)
    _is_the_case_it_says(name, stock)
    others = await _observed(name, OTHERS[way], REPEATS[way], stage, {}, kubernetes)

    _are_the_same(stock, others)
    _was_served_as_expected(name, others)


async def _observed(
    name: str,
    make: Make,
    times: int,
    stage: Stage,
    values: Mapping[str, str],
    kubernetes: Kubernetes | None = None,
) -> list[Observation]:
    """What is seen of `times` runs of a case by one executor; nothing of it lives when that has ended."""
    stage.clear()
    source = cases.CASES / name
    environment = stage.environment(cases.read(name, {**stage.values, **values}).environment)
    seen = []
    async with make(stage.runner, environment) as executor:
        for _ in range(times):
            await executor.forget(KEY)
            stage.lay_out(source)
            if kubernetes is None:
                seen.append(await observe(cases.read(name, {**stage.values, **values}), executor, stage))
                continue
            with kubernetes.namespace() as space:
                case = cases.read(name, {**stage.values, **values, "namespace": space})
                one = await observe(
                    case, executor, stage, kubeconfig=kubernetes.kubeconfig, replaced={space: "<namespace>"}
                )
                found = cluster.objects(kubernetes.api, space)
            seen.append(replace(one, cluster=cluster.without(space, found)))
    assert stage.processes() == []
    return seen


def _are_the_same(stock: Observation, others: list[Observation]) -> None:
    for number, other in enumerate(others, 1):
        found = difference(stock, other)
        if found:
            pytest.fail("\n".join([f"run {number} is not the same as the cold one:", *found]), pytrace=False)


def _is_the_case_it_says(name: str, stock: Observation) -> None:
    """A case that ends in an unexpected way compares nothing of what it is for."""
    case = cases.read(name)
    output = stock.artifacts.get("stdout", {}).get("text", "") or stock.error
    code = stock.outcome.get("return_code")
    missing = [text for text in case.says if text not in output]
    if code != case.return_code or missing:
        pytest.fail(f"{output[-8000:]}\nends with {code}, and does not say {missing}", pytrace=False)


def _was_served_as_expected(name: str, others: list[Observation]) -> None:
    told = {other.served for other in others if other.served is not None}
    assert told <= {"cold" if cases.read(name).covered == "cold" else "warm"}
