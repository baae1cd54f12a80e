"""The composition root: builds every part, starts them in order, stops them in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from runner import announce
from runner.config.settings import Settings
from runner.config.watches import Engine, Watch
from runner.control.attempt import Listeners
from runner.control.changes import OwnerWatch, where_to_watch
from runner.control.leftovers import Leftovers
from runner.control.narrator import Narrator
from runner.control.plan import Defaults, defaults_of
from runner.control.queue import WorkQueue
from runner.control.readings import Readings
from runner.control.reconciler import Reconciler
from runner.control.related import RelatedObjects
from runner.control.request import Trigger
from runner.control.sources import Watching
from runner.control.worker import Audience, Report, Workers
from runner.errors import RunError
from runner.execute.console import LogEvents, log_events
from runner.execute.executor import Executor
from runner.kube.client import Client
from runner.kube.discovery import Discovery, ObjectsApi
from runner.kube.leader import Reactions, exit_within, leadership
from runner.kube.listwatch import Change
from runner.kube.mark_key import MarkKey, secret_name
from runner.kube.recorder import Recorder
from runner.kube.reflector import Reflector
from runner.kube.sockets import Fence
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, Owner
from runner.serve import certificates, metrics, usermetrics
from runner.serve.admission import part as admission
from runner.serve.metrics import Reviews
from runner.serve.ownership import Mechanism
from runner.serve.protected import ProtectedObject
from runner.serve.proxy import Proxy
from runner.stopping import either, ended, stopped_by_signals
from runner.version import VERSION, commit

log = structlog.get_logger(__name__)

Watches = Mapping[GroupVersionKind, Watch]
Meanwhile = Callable[[Callable[[Collection[GroupVersionKind]], int]], Coroutine[Any, Any, None]]
"""Is given what has every custom resource of some kinds reconciled, and returns how many they are."""


async def run_operator(settings: Settings, watches: Watches) -> int:
    """Run until SIGTERM, SIGINT or the loss of leadership.

    Returns the exit code: 0, or 1 when runs had to be cut short or leadership was lost.

    Raises OperatorError when the operator cannot start.
    """
    stopping = asyncio.Event()
    with stopped_by_signals(stopping):
        return await operate(settings, watches, stopping)


@dataclass(frozen=True, slots=True)
class Before:
    """What an operator that begins anew inside its process has from before: who carries out runs, and is told of
    them, and the kinds whose watch is the same, of which what is reconciled rests.
    """

    executor: Executor
    audience: Audience | None = None
    resting: Collection[GroupVersionKind] = ()


async def operate(
    settings: Settings,
    watches: Watches,
    stopping: asyncio.Event,
    meanwhile: Meanwhile | None = None,
    before: Before | None = None,
) -> int:
    """The same until `stopping` is set, or `meanwhile` returns, which begins when this process leads."""
    async with AsyncExitStack() as stack:
        if before is None:
            before = Before(Executor.of(settings, watches))
            stack.push_async_callback(before.executor.close)
        parts = await _Parts.build(stack, settings, watches, before)
        leadership = parts.leadership
        announce.introduce(parts.client.identity, settings, watches, Path.cwd())
        await parts.listen(stack, stopping)
        stack.push_async_callback(parts.leadership.hand_over)  # at once, though what listens may linger
        await either(stopping.wait(), leadership.won())
        if not stopping.is_set():
            await parts.keep_key()
            parts.work(stack)
            also = [meanwhile(parts.enqueue)] if meanwhile else []
            await either(stopping.wait(), leadership.lost(), parts.serve(), *also)
        announce.stopping(parts.workers.busy(), settings.graceful_shutdown_timeout)
        in_time = await parts.workers.stop(settings.graceful_shutdown_timeout)
    said = "Stopped" if in_time else "Stopped; runs were cut short"
    log.info("Stopped", runs_cut_short=not in_time, leadership_lost=leadership.is_lost, said=said)
    return 0 if in_time and not leadership.is_lost else 1


class _Parts:
    """Every part of one operator, wired together."""

    def __init__(
        self,
        client: Client,
        fence: Fence,
        settings: Settings,
        watches: Watches,
        figures: Metrics,
        before: Before,
    ) -> None:
        self._settings = settings
        self._resting = frozenset(before.resting)
        self._watches = watches
        self._metrics = figures
        self.executor = before.executor
        self._report = self._told(before)
        self.client = client
        self._discovery = Discovery(client)
        self._recorder = Recorder(client)
        total = settings.total_workers(watches)
        caps = {gvk: settings.workers(gvk) for gvk in watches}
        self._queue = WorkQueue(asyncio.get_running_loop(), total=total, caps=caps)
        self._mark_key = MarkKey(client, settings)
        self.proxy = self._proxy(fence)
        self._objects = ObjectsApi(client, self._discovery)
        self._related = RelatedObjects(watches, self._objects, self._queue)
        self._watching = self._sources()
        reconciler = self._reconciler()
        reconciler.related = self._related
        self.workers = Workers(self._queue, reconciler.reconcile, total, self._report.followed)
        self._metrics.live(self._readings(caps, reconciler))
        self.leadership = leadership(settings, client, fence, self._reactions())

    def _told(self, before: Before) -> Report:
        tasks = log_events(self._settings.ansible_log_events) is not LogEvents.NOTHING
        people = self._settings.log_encoder == "console"
        narrator = Narrator(self.executor.output, Path.cwd(), tasks=tasks) if people else None
        return Report(self._metrics, narrator, self.executor.output, before.audience)

    def _proxy(self, fence: Fence) -> Proxy:
        with_children = frozenset(gvk for gvk, watch in self._watches.items() if watch.asks_for_children)
        return Proxy(
            self.client,
            self._discovery,
            port=self._settings.proxy_port,
            inject=self._settings.inject_owner_ref,
            watched=frozenset(self._watches).__contains__,
            on_dependent=self._follow,
            metrics=self._metrics,
            leading=fence.is_open,
            keeps_children=with_children.__contains__,
            marks=self._mark_key.marks,
        )

    def _sources(self) -> Watching:
        client, discovery = self.client, self._discovery
        return Watching(
            lambda gvk, namespace, on_change: Reflector(client, discovery, gvk, namespace, on_change),
            self._queue,
            self._resource_changed if self._related.looks else self._report.changed,
            own_write=self.proxy.own_write,
            settle=self.proxy.settle,
            look=self._related.look if self._related.looks else None,
        )

    @classmethod
    async def build(cls, stack: AsyncExitStack, settings: Settings, watches: Watches, before: Before) -> _Parts:
        fence = Fence()
        figures = Metrics(watches)
        client = await Client.connect(settings.cluster, fence=fence, on_request=figures.requested)
        stack.push_async_callback(client.close)
        stack.callback(fence.close)
        return cls(client, fence, settings, watches, figures, before)

    async def _warm_up(self) -> None:
        """While the first lists are read; the first runs wait for it."""
        wanted = {watch.engine or Engine(self._settings.executor) for watch in self._watches.values()}
        if wanted != {Engine.COLD}:
            try:
                await self.executor.warm_up()
            except RunError as error:
                log.warning("Runs are started cold", why=str(error))

    async def listen(self, stack: AsyncExitStack, stopping: asyncio.Event) -> None:
        """A busy port is found before anything runs; probes and metrics answer also while another leads."""
        self._metrics.build(f"v{VERSION}", commit())
        tls = (
            certificates.of_metrics(self._settings.temporary_directory) if self._settings.metrics_secure else None
        )
        watches, own = self._watches.values(), (self.client, self.executor, self.proxy, self._metrics)
        webhooks = admission.parts(self._settings, watches, *own, self.workers.busy, stopping)
        kinds = self._watching.resource_reflectors
        ready = partial(announce.readiness, stopping.is_set, kinds, webhooks.values())
        remark = partial(announce.unready_but_converted, kinds, webhooks.values())
        parts: dict[str, metrics.Listener | Proxy | admission.Admission] = {
            "probes": metrics.probes(self._settings.health_probe_bind_address, ready=ready, remark=remark),
            "metrics": metrics.metrics(
                self._settings.metrics_bind_address,
                self._metrics.registry,
                tls=tls.context if tls else None,
                guard=Reviews(self.client).guard if self._settings.metrics_require_rbac else None,
            ),
            "user_metrics": usermetrics.of(self._settings, self._metrics.registry),
            "proxy": self.proxy,
        }
        parts |= webhooks
        for part in parts.values():
            stack.push_async_callback(part.stop)
            await part.start()
        announce.listening(parts.items())

    async def keep_key(self) -> None:
        """Have the key of marks, and keep it from runs, before the first one may create a Secret of its name."""
        if not any(watch.prune for watch in self._watches.values()):
            return
        if self._settings.cluster.in_pod and not self._settings.prune_key_file:
            namespace, name = await self.client.namespace(), secret_name(self._settings)
            self.proxy.protection.protect("prune", [ProtectedObject("", "secrets", namespace, name)])
        await self._mark_key.marks()

    def work(self, stack: AsyncExitStack) -> None:
        """Begin to watch and to reconcile: for whoever leads."""
        recording = asyncio.create_task(self._recorder.run(), name="recorder")
        stack.push_async_callback(ended, recording)
        warming_up = asyncio.create_task(self._warm_up(), name="warm-up")
        stack.push_async_callback(ended, warming_up)
        stack.push_async_callback(self._related.stop)
        reminding = asyncio.create_task(self._watching.keep_telling(partial(announce.remind, announce.Reminder())))
        stack.push_async_callback(ended, reminding)
        stack.push_async_callback(self._watching.stop)
        for watch in self._watches.values():
            self._watching.resources(watch, self._settings.namespaces or ("",))
        self._related.follow(self._watching, self._settings.namespaces)
        self.workers.start()

    async def serve(self) -> None:
        """Say when all is watched, clear up what went before, and then go on for ever."""
        await self._watching.has_synced()
        announce.ready(len(self._watches), announce.unready(self._watching.resource_reflectors()))
        leftovers = Leftovers(self.executor, self._objects, self._settings.watches)
        await leftovers.forget_gone(self._watches, self._watching.resource_keys)
        await asyncio.Event().wait()

    def enqueue(self, kinds: Collection[GroupVersionKind]) -> int:
        """Have every custom resource of these kinds reconciled because its content has changed."""
        keys = [key for gvk in kinds for key in self._watching.resource_keys(gvk)]
        for key in keys:
            self._queue.add(key, Trigger.CONTENT)
        return len(keys)

    def _reconciler(self) -> Reconciler:
        return Reconciler(
            self._watches,
            objects=self._objects,
            executor=self.executor,
            recorder=self._recorder,
            grant=self.proxy.grant,
            listeners=Listeners(self._report.finished, self._report.started, self._report.event),
            defaults={gvk: self._defaults(gvk) for gvk in self._watches}.__getitem__,
            told=self._watching.told,
        )

    def _defaults(self, gvk: GroupVersionKind) -> Defaults:
        defaults = defaults_of(self._settings, gvk)
        return replace(defaults, reconcile_at_start=False) if gvk in self._resting else defaults

    def _readings(self, workers: Mapping[GroupVersionKind, int], reconciler: Reconciler) -> Readings:
        return Readings(
            workers,
            self._metrics.controllers,
            self._queue,
            self._watching,
            ages=reconciler.ages,
            disk=lambda: self.executor.budget.bytes,
            zygotes=lambda: self.executor.engine.alive,
            zygote_starts=lambda: self.executor.zygote_starts,
        )

    def _reactions(self) -> Reactions:
        return Reactions(
            renewed=self.executor.extend,
            lost=self._fenced_off,
            master=lambda leading: self._metrics.master(self._settings.leader_election_id, leading=leading),
            exit_within=exit_within,
        )

    def _fenced_off(self) -> None:
        self.proxy.refuse_all()
        self.workers.cancel()

    def _follow(self, owner: Owner, kind: GroupVersionKind, mechanism: Mechanism, namespace: str) -> None:
        by_annotation = mechanism is Mechanism.ANNOTATION
        place = where_to_watch(
            self._watches[owner.gvk], kind, namespace, self._settings.namespaces, by_annotation=by_annotation
        )
        if place is not None:
            owner_watch = OwnerWatch(owner.gvk, bool(owner.namespace), not by_annotation, by_annotation)
            self._watching.dependents((kind, place), owner_watch)

    def _resource_changed(self, change: Change) -> None:
        self._report.changed(change)
        self._related.follow_declared(self._watching, change, self._settings.namespaces)
