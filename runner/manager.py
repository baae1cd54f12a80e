"""The composition root: builds every part, starts them in order, stops them in order."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from runner import announce
from runner.config.settings import Settings
from runner.config.watches import Engine, Watch, uses_children
from runner.control.narrator import Narrator
from runner.control.plan import Bounds, Defaults
from runner.control.queue import WorkQueue
from runner.control.reconciler import Reconciler
from runner.control.sources import OwnerWatch, Watching, where_to_watch
from runner.control.worker import Report, Workers
from runner.errors import RunError
from runner.execute.console import Console, LogEvents, log_events
from runner.execute.executor import Executor
from runner.execute.run import Run
from runner.execute.rundir import RunDirectory, private_root
from runner.kube.client import Client
from runner.kube.discovery import Discovery, ObjectsApi
from runner.kube.leader import Reactions, exit_within, leadership
from runner.kube.recorder import Recorder
from runner.kube.reflector import Phase, Reflector
from runner.kube.sockets import Fence
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, Owner
from runner.serve import metrics, usermetrics
from runner.serve.metrics import Reviews, serving_context
from runner.serve.ownership import Mechanism
from runner.serve.proxy import Proxy
from runner.version import VERSION, commit

log = structlog.get_logger(__name__)

LOOK_EVERY = 1.0
"""Seconds between two looks at what keeps the operator waiting."""
MEASURE_EVERY = 5.0
"""Seconds between two looks at the queue and the reflectors for the metrics."""

Watches = Mapping[GroupVersionKind, Watch]


async def run_operator(settings: Settings, watches: Watches) -> int:
    """Run until SIGTERM, SIGINT or the loss of leadership.

    Returns the exit code: 0, or 1 when runs had to be cut short or leadership was lost.

    Raises OperatorError when the operator cannot start.
    """
    stopping = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(stopped_by_signals(stopping))
        parts = await _Parts.build(stack, settings, watches)
        leadership = parts.leadership
        parts.introduce()
        await parts.listen(stack)
        await either(stopping.wait(), leadership.won())
        if not stopping.is_set():
            parts.work(stack)
            await either(stopping.wait(), leadership.lost(), parts.serve())
        announce.stopping(parts.workers.busy(), settings.graceful_shutdown_timeout)
        in_time = await parts.workers.stop(settings.graceful_shutdown_timeout)
    said = "Stopped" if in_time else "Stopped; runs were cut short"
    log.info("Stopped", runs_cut_short=not in_time, leadership_lost=leadership.is_lost, said=said)
    return 0 if in_time and not leadership.is_lost else 1


class _Parts:
    """Every part of one operator, wired together."""

    def __init__(self, client: Client, fence: Fence, settings: Settings, watches: Watches) -> None:
        self._settings = settings
        self._watches = watches
        self._metrics = Metrics(watches)
        runs = private_root(settings.runner_dir).absolute()

        def output(run: Run) -> Path:
            return RunDirectory.of(runs, run.key).artifacts / run.ident / "stdout"

        tasks = log_events(settings.ansible_log_events) is not LogEvents.NOTHING
        people = settings.log_encoder == "console"
        self._narrator = Narrator(output, Path.cwd(), tasks=tasks) if people else None
        self._report = Report(self._metrics, self._narrator, output)
        self._client = client
        self._discovery = Discovery(client)
        self._recorder = Recorder(client)
        total = settings.total_workers(watches)
        caps = {gvk: settings.workers(gvk) for gvk in watches}
        self._queue = WorkQueue(asyncio.get_running_loop(), total=total, caps=caps)
        self.proxy = Proxy(
            client,
            self._discovery,
            port=settings.proxy_port,
            inject=settings.inject_owner_ref,
            watched=lambda gvk: gvk in watches,
            on_dependent=self._follow,
            metrics=self._metrics,
            leading=lambda: not fence.shut,
            keeps_children=lambda gvk: gvk in watches and any(map(uses_children, watches[gvk].status.values())),
        )
        self._watching = Watching(
            lambda gvk, namespace, on_change: Reflector(client, self._discovery, gvk, namespace, on_change),
            self._queue,
            self._report.changed,
            own_write=self.proxy.own_write,
            settle=self.proxy.settle,
        )
        self.executor = Executor(runs, settings.environment, console=_console(settings, watches))
        self.workers = Workers(self._queue, self._reconciler().reconcile, total, self._report.followed)
        self.leadership = leadership(settings, client, fence, self._reactions())

    @classmethod
    async def build(cls, stack: AsyncExitStack, settings: Settings, watches: Watches) -> _Parts:
        fence = Fence()
        client = await Client.connect(settings.cluster, fence=fence)
        stack.push_async_callback(client.close)
        parts = cls(client, fence, settings, watches)
        stack.push_async_callback(parts.executor.close)
        stack.push_async_callback(parts.leadership.hand_over)
        return parts

    async def _warm_up(self) -> None:
        """While the first lists are read; the first runs wait for it."""
        wanted = {watch.engine or Engine(self._settings.executor) for watch in self._watches.values()}
        if wanted != {Engine.COLD}:
            try:
                await self.executor.warm_up()
            except RunError as error:
                log.warning("Runs are started cold", why=str(error))

    async def listen(self, stack: AsyncExitStack) -> None:
        """A busy port is found before anything runs; probes and metrics answer also while another leads."""
        self._metrics.build(f"v{VERSION}", commit())
        parts: list[metrics.Listener | Proxy] = [
            metrics.probes(self._settings.health_probe_bind_address, ready=self._trouble),
            metrics.metrics(
                self._settings.metrics_bind_address,
                self._metrics.registry,
                tls=serving_context(self._settings.temporary_directory) if self._settings.metrics_secure else None,
                guard=Reviews(self._client).guard if self._settings.metrics_require_rbac else None,
            ),
            usermetrics.listener(self._settings.user_metrics_bind_address, self._metrics.registry),
            self.proxy,
        ]
        for part in parts:
            stack.push_async_callback(part.stop)
            await part.start()
        announce.listening(zip(("probes", "metrics", "user_metrics", "proxy"), parts, strict=True))

    def introduce(self) -> None:
        """Say which cluster this is, and what is to be done there."""
        announce.introduce(self._client.identity, self._settings, self._watches, Path.cwd())

    def work(self, stack: AsyncExitStack) -> None:
        """Begin to watch and to reconcile: for whoever leads."""
        recording = asyncio.create_task(self._recorder.run(), name="recorder")
        stack.push_async_callback(ended, recording)
        warming_up = asyncio.create_task(self._warm_up(), name="warm-up")
        stack.push_async_callback(ended, warming_up)
        reminding = asyncio.create_task(self._remind(), name="reminder")
        stack.push_async_callback(ended, reminding)
        stack.push_async_callback(self._watching.stop)
        for gvk, watch in self._watches.items():
            self._metrics.workers(gvk, active=0, most=self._settings.workers(gvk))
            self._watching.resources(watch, self._settings.namespaces or ("",))
        self.workers.start()

    async def serve(self) -> None:
        """Say when all is watched, and then keep the gauges true, for ever."""
        await self._watching.has_synced()
        announce.ready(len(self._watches), self._trouble())
        while True:
            for gvk, depth in self._queue.depths().items():
                self._metrics.queue_depth(gvk, depth.due)
                self._metrics.workers(gvk, active=depth.active, most=self._settings.workers(gvk))
            for (gvk, namespace), restarts in self._watching.restarts():
                self._metrics.reflector_restarts(gvk, namespace, restarts)
            await asyncio.sleep(MEASURE_EVERY)

    def _reconciler(self) -> Reconciler:
        return Reconciler(
            self._watches,
            objects=ObjectsApi(self._client, self._discovery),
            executor=self.executor,
            recorder=self._recorder,
            grant=self.proxy.grant,
            on_finished=self._report.finished,
            on_started=self._report.started,
            sink=self._narrator or (lambda _run, _event: None),
            defaults=self._defaults,
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

    def _defaults(self, gvk: GroupVersionKind) -> Defaults:
        return Defaults(
            reconcile_period=self._settings.reconcile_period,
            verbosity=self._settings.verbosity(gvk),
            reconcile_at_start=self._settings.reconcile_at_start,
            deadline=self._settings.run_deadline,
            gather_facts=self._settings.gather_facts,
            ansible_args=self._settings.ansible_args,
            engine=Engine(self._settings.executor),
            bounds=Bounds(self._settings.min_reconcile_period, self._settings.max_runner_artifacts_limit),
        )

    def _follow(self, owner: Owner, kind: GroupVersionKind, mechanism: Mechanism, namespace: str) -> None:
        by_annotation = mechanism is Mechanism.ANNOTATION
        place = where_to_watch(
            self._watches[owner.gvk], kind, namespace, self._settings.namespaces, by_annotation=by_annotation
        )
        if place is not None:
            owner_watch = OwnerWatch(owner.gvk, bool(owner.namespace), not by_annotation, by_annotation)
            self._watching.dependents((kind, place), owner_watch)

    async def _remind(self) -> None:
        """Say what keeps the operator waiting, again and again while it lasts; for ever."""
        reminder, began = announce.Reminder(), time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            kinds = self._watching.resource_reflectors()
            if reminder.last or any(kind.phase is not Phase.WATCHING for kind in kinds):
                announce.remind(reminder, kinds, time.monotonic() - began)

    def _trouble(self) -> str:
        """What keeps the operator from being ready; the other kinds are served."""
        return announce.unready(self._watching.resource_reflectors())


def _console(settings: Settings, watches: Watches) -> Console:
    level = log_events(settings.ansible_log_events)
    for gvk in watches if level is None else ():
        message = "--ansible-log-events is none of tasks, everything, nothing; using tasks"
        log.error(message, gvk=str(gvk), value=settings.ansible_log_events)
    return Console(
        level or LogEvents.TASKS,
        verbosity=settings.console_verbosity,
        debug=settings.debug_logs,
        terminal=settings.log_encoder == "console",
    )


@contextmanager
def stopped_by_signals(stopping: asyncio.Event) -> Iterator[None]:
    """The first SIGTERM or SIGINT asks to stop, the second ends the process at once, whatever the loop does.

    Exit code 1, as the Go operator; each run's supervisor sees its lifeline close, and ends every process.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def on_signal(_number: int, _frame: object) -> None:
        nonlocal asked
        if asked:
            os._exit(1)
        asked = True
        with suppress(RuntimeError):  # the loop is closed: it ends anyhow
            loop.call_soon_threadsafe(stopping.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)  # not the loop's: it hears of two that come together but once
    yield


async def either(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Wait for the first to end, and end the others; what it raises is raised."""
    waiting = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        await ended(task)
    for task in done:
        task.result()


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancel it, and wait until it has ended."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
