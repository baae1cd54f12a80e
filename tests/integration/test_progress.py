"""A long run, with real Ansible and a real API server: its condition says where it is, and nobody else acts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest

from bench.observer import Observer, condition
from runner.config.settings import ClusterSettings
from runner.config.watches import Content, Engine, Watch
from runner.control.attempt import Listeners, Result, Verdict
from runner.control.changes import of_resource
from runner.control.plan import Defaults
from runner.control.reconciler import Reconciler
from runner.control.request import Request, Trigger
from runner.dev.controlplane import ControlPlane
from runner.execute.executor import Executor
from runner.kube.client import Client
from runner.kube.discovery import Discovery, ObjectsApi
from runner.kube.listwatch import Change
from runner.kube.recorder import Recorder
from runner.kube.reflector import Reflector
from runner.objects import GroupVersionKind, ObjectKey
from runner.serve.grants import Grant
from tests.fixtures.operators import Project, Things
from tests.fixtures.waiting import until

pytestmark = pytest.mark.cluster

THING = GroupVersionKind("test.example.com", "v1", "Thing")
ROLE = """
- name: Begin
  ansible.builtin.debug:
    msg: begun
- name: Wait for somebody
  ansible.builtin.wait_for:
    path: "{{ until }}"
    sleep: 1
"""


class NoGrant:
    """This role asks no API server."""

    kubeconfig = ""
    children = ()
    calls = frozenset[tuple[str, ...]]()


class Bench:
    """A reconciler for which a minute is a moment, and a reflector that tells it of nothing."""

    def __init__(self, client: Client, namespace: str, directory: Path, role: Path) -> None:
        self.watch = Watch(THING, Content(role, is_role=True))
        self.key = ObjectKey(THING, namespace, "first")
        self.changes: list[Change] = []
        discovery = Discovery(client)
        self.objects = ObjectsApi(client, discovery)
        self.reflector = Reflector(client, discovery, THING, namespace, self.changes.append)
        self.executor = Executor(directory / "runner")
        self.reconciler = Reconciler(
            {THING: self.watch},
            objects=self.objects,
            executor=self.executor,
            recorder=Recorder(client),
            grant=lambda _owner: nullcontext(cast(Grant, NoGrant())),
            listeners=Listeners(lambda *_: None),
            defaults=lambda _gvk: Defaults(engine=Engine.COLD),
            progress_every=0.2,
        )

    async def reconcile(self) -> Result:
        return await self.reconciler.reconcile(Request(self.key, frozenset({Trigger.CREATED})))

    async def message(self) -> str:
        body = await self.objects.get(self.key)
        return str(condition(body, "Running").get("message", ""))

    async def told(self, text: str) -> str:
        """The first message that ends so."""
        message = ""
        async with asyncio.timeout(30):
            while not message.endswith(text):
                await asyncio.sleep(0.05)  # between two requests
                message = await self.message()
        return message


@pytest.fixture
async def bench(
    control_plane: ControlPlane, kinds: Observer, namespace: str, project: Project, tmp_path: Path
) -> AsyncIterator[Bench]:
    project.role("slow", ROLE)
    client = await Client.connect(ClusterSettings(str(control_plane.kubeconfig)))
    bench = Bench(client, namespace, tmp_path, project / "roles/slow")
    watching = asyncio.create_task(bench.reflector.run())
    await bench.reflector.has_synced.wait()  # so that what a test creates is told of as created
    yield bench
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await bench.executor.close()
    await client.close()


async def test_a_long_run_is_told_of_and_that_starts_no_other(
    bench: Bench, things: Things, tmp_path: Path
) -> None:
    over = tmp_path / "over"
    await asyncio.to_thread(things.create, "first", {"until": str(over)})
    reconciling = asyncio.create_task(bench.reconcile())
    message = await bench.told(': task "Wait for somebody" (roles/slow/tasks/main.yml:5)')
    assert message.startswith("Running for ")
    over.touch()
    assert (await reconciling).verdict is Verdict.SUCCEEDED
    assert await bench.message() == "Awaiting next reconciliation"
    last = (await bench.objects.get(bench.key))["metadata"]["resourceVersion"]
    await until(lambda: any(change.new and change.new.resource_version == last for change in bench.changes))
    asked = [enqueue.trigger for change in bench.changes if (enqueue := of_resource(change, bench.watch))]
    assert (len(bench.changes) > 3, asked) == (True, [Trigger.CREATED])
