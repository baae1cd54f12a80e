"""Each case of the corpus, run cold and in every other way: nobody may be able to tell which was which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from runner.execute.executor import Executor
from tests.corpus import case as cases
from tests.corpus import cluster
from tests.corpus.compare import Observation, difference
from tests.corpus.executors import COLD, OTHERS, REPEATS
from tests.corpus.observe import observe
from tests.corpus.stage import KEY
from tests.corpus.trial import Trial

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]
WAYS = [pytest.param(name, id=name.replace(" ", "-")) for name in OTHERS]
CASES = {name: cases.read(name) for name in cases.names()}
PLAIN = [name for name, case in CASES.items() if "kubernetes" not in case.needs]
KUBERNETES = [name for name, case in CASES.items() if "kubernetes" in case.needs]
USES = Counter(str(case.environment) for case in CASES.values())
"""How many cases have the same environment, and so may share an executor."""


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
        try:
            yield name
        finally:
            self.api.call("DELETE", f"/api/v1/namespaces/{name}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One case, and where and with what it runs."""

    name: str
    trial: Trial
    values: Mapping[str, str]
    kubernetes: Kubernetes | None = None

    async def check(self, way: str) -> None:
        """Fail with the differences between a cold run and those of this way."""
        environment = self._case().environment
        async with self.trial.lend(COLD, self.name, environment, keep=False) as lent:
            stock = await self._observed(lent.executor)
        _is_the_case_it_says(self.name, stock)
        keep = USES[str(CASES[self.name].environment)] > 1
        async with self.trial.lend(OTHERS[way], self.name, environment, keep=keep) as lent:
            others = [await self._observed(lent.executor) for _ in range(REPEATS[way])]
            _are_the_same(stock, others, f"after {lent.history}")
        _was_served_as_expected(self.name, others)

    def _case(self, **more: str) -> cases.Case:
        return cases.read(self.name, {**self.trial.stage.values, **self.values, **more})

    async def _observed(self, executor: Executor) -> Observation:
        await executor.forget(KEY)
        self.trial.stage.lay_out(cases.CASES / self.name)
        if self.kubernetes is None:
            return await observe(self._case(), executor, self.trial.stage)
        with self.kubernetes.namespace() as space:
            seen = await observe(
                self._case(namespace=space),
                executor,
                self.trial.stage,
                kubeconfig=self.kubernetes.kubeconfig,
                replaced={space: "<namespace>"},
            )
            return replace(seen, cluster=cluster.without(space, cluster.objects(self.kubernetes.api, space)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PLAIN)
async def test_runs_the_same(name: str, way: str, trial: Trial, request: pytest.FixtureRequest) -> None:
    values = request.getfixturevalue("http") if "http" in CASES[name].needs else {}
    await Comparison(name, trial, values).check(way)


@pytest.mark.cluster
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KUBERNETES)
async def test_does_the_same_to_a_cluster(
    name: str, way: str, trial: Trial, control_plane: ControlPlane, admin: Api
) -> None:
    kubernetes = Kubernetes(admin, control_plane.kubeconfig.read_text())
    await Comparison(name, trial, {}, kubernetes).check(way)


def _are_the_same(stock: Observation, others: list[Observation], circumstances: str) -> None:
    for number, other in enumerate(others, 1):
        if found := difference(stock, other):
            message = f"run {number}, {circumstances}, is not the same as the cold one:"
            pytest.fail("\n".join([message, *found]), pytrace=False)


def _is_the_case_it_says(name: str, stock: Observation) -> None:
    """A case that ends in an unexpected way compares nothing of what it is for."""
    case = CASES[name]
    output = stock.artifacts.get("stdout", {}).get("text", "") or stock.error
    code = stock.outcome.get("return_code")
    missing = [text for text in case.says if text not in output]
    if code != case.return_code or missing:
        pytest.fail(f"{output[-8000:]}\nends with {code}, and does not say {missing}", pytrace=False)


def _was_served_as_expected(name: str, others: list[Observation]) -> None:
    told = {other.served for other in others if other.served is not None}
    assert told <= {"cold" if CASES[name].covered == "cold" else "warm"}
