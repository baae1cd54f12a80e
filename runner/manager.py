"""The composition root: builds every part, starts them in order, stops them in order."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Any, NoReturn

import structlog

from runner.config.flags import boolean
from runner.control.plan import Defaults
from runner.control.ports import World
from runner.control.queue import WorkQueue
from runner.control.reconciler import Reconciler
from runner.control.triggers import Following
from runner.control.worker import Workers
from runner.execute.console import Console, LogEvents, log_events
from runner.execute.process import ColdExecutor
from runner.execute.variables import extra_vars
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.kube.objects_api import ObjectsApi
from runner.kube.recorder import Recorder
from runner.kube.reflector import Phase, Reflector
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, Owner
from runner.report import Report
from runner.serve import health, usermetrics
from runner.serve.ownership import Mechanism
from runner.serve.proxy import Proxy
from runner.settings import Settings
from runner.version import VERSION, commit
from runner.watches import Watch
from runner.watching import OwnWrites, Watching, where_to_watch

log = structlog.get_logger(__name__)

MEASURE_EVERY = 5.0
"""Seconds between two looks at the queue and the reflectors for the metrics."""

Watches = Mapping[GroupVersionKind, Watch]


async def run_operator(settings: Settings, watches: Watches) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code: 0, or 1 when runs had to be cut short.

    Raises OperatorError when the operator cannot start.
    """
    stopping = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(_stopped_by_signals(stopping))
        parts = await _Parts.build(stack, settings, watches)
        await parts.start(stack)
        parts.workers.start()
        await _either(stopping.wait(), parts.say_ready())
        await _either(stopping.wait(), parts.measure())
        log.info("Stopping", grace_seconds=settings.graceful_shutdown_timeout)
        in_time = await parts.workers.stop(settings.graceful_shutdown_timeout)
    log.info("Stopped", runs_cut_short=not in_time)
    return 0 if in_time else 1


class _Parts:
    """Every part of one operator, wired together."""

    def __init__(self, client: Client, settings: Settings, watches: Watches) -> None:
        self._settings = settings
        self._watches = watches
        self._metrics = Metrics(watches)
        self._report = Report(self._metrics)
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
        )
        self._watching = Watching(
            lambda gvk, namespace, on_change: Reflector(client, self._discovery, gvk, namespace, on_change),
            self._queue,
            OwnWrites(self.proxy.own_write, self.proxy.settle),
            self._report.changed,
        )
        self.workers = Workers(self._queue, self._reconciler().reconcile, total)

    @classmethod
    async def build(cls, stack: AsyncExitStack, settings: Settings, watches: Watches) -> _Parts:
        client = await Client.connect(settings.kubeconfig)
        stack.push_async_callback(client.close)
        return cls(client, settings, watches)

    async def start(self, stack: AsyncExitStack) -> None:
        """Listen first, so that a busy port is found before anything runs; watch last."""
        self._metrics.build(f"v{VERSION}", commit())
        parts: list[health.Listener | Proxy] = [
            health.probes(self._settings.health_probe_bind_address, ready=self._trouble),
            health.metrics(self._settings.metrics_bind_address, self._metrics.registry),
            usermetrics.listener(self._settings.user_metrics_bind_address, self._metrics.registry),
            self.proxy,
        ]
        for part in parts:
            stack.push_async_callback(part.stop)
            await part.start()
        recording = asyncio.create_task(self._recorder.run(), name="recorder")
        stack.push_async_callback(_ended, recording)
        stack.push_async_callback(self._watching.stop)
        for watch in self._watches.values():
            self._watching.resources(watch, self._settings.namespaces or ("",))

    async def say_ready(self) -> None:
        await self._watching.settled()
        log.info("Ready", kinds=len(self._watches), proxy_port=self.proxy.port)

    async def measure(self) -> None:
        """Keep the gauges true, for ever."""
        while True:
            for gvk, depth in self._queue.depths().items():
                self._metrics.queue_depth(gvk, depth.due)
            for (gvk, namespace), restarts in self._watching.restarts():
                self._metrics.reflector_restarts(gvk, namespace, restarts)
            await asyncio.sleep(MEASURE_EVERY)

    def _reconciler(self) -> Reconciler:
        console = _console(self._settings, self._watches)
        world = World(
            objects=ObjectsApi(self._client, self._discovery),
            executor=ColdExecutor(self._settings.runner_dir, self._settings.environment, console=console),
            recorder=self._recorder,
            access=self._access,
            extra_vars=extra_vars,
            sink=lambda _run, _event: None,
            on_finished=self._report.finished,
        )
        return Reconciler(world, self._watches, self._defaults)

    def _defaults(self, gvk: GroupVersionKind) -> Defaults:
        return Defaults(
            reconcile_period=self._settings.reconcile_period,
            verbosity=self._settings.verbosity(gvk),
            reconcile_at_start=self._settings.reconcile_at_start,
            deadline=self._settings.run_deadline,
            gather_facts=self._settings.environment.get("ANSIBLE_GATHERING") != "explicit",
            ansible_args=self._settings.ansible_args,
        )

    @contextmanager
    def _access(self, owner: Owner) -> Iterator[str]:
        with self.proxy.grant(owner) as grant:
            yield grant.kubeconfig

    def _follow(self, owner: Owner, kind: GroupVersionKind, mechanism: Mechanism, namespace: str) -> None:
        by_annotation = mechanism is Mechanism.ANNOTATION
        place = where_to_watch(
            self._watches[owner.gvk], kind, namespace, self._settings.namespaces, by_annotation=by_annotation
        )
        if place is not None:
            following = Following(owner.gvk, bool(owner.namespace), not by_annotation, by_annotation)
            self._watching.dependents((kind, place), following)

    def _trouble(self) -> str:
        """What keeps the operator from being ready; a forbidden kind does not, the others are served."""
        unwatched = [
            str(gvk)
            for (gvk, _), phase in self._watching.phases().items()
            if phase in (Phase.STARTING, Phase.ABSENT)
        ]
        return f"not watching {', '.join(unwatched)}" if unwatched else ""


def _console(settings: Settings, watches: Watches) -> Console:
    environment = settings.environment
    level = log_events(settings.ansible_log_events)
    for gvk in watches if level is None else ():
        message = "--ansible-log-events is none of tasks, everything, nothing; using tasks"
        log.error(message, gvk=str(gvk), value=settings.ansible_log_events)
    verbosity = environment.get("ANSIBLE_VERBOSITY", "")
    try:
        debug = boolean(environment.get("ANSIBLE_DEBUG_LOGS", "false"))
    except ValueError:
        debug = False
    return Console(level or LogEvents.TASKS, verbosity=int(verbosity) if verbosity.isdecimal() else 0, debug=debug)


@contextmanager
def _stopped_by_signals(stopping: asyncio.Event) -> Iterator[None]:
    """The first SIGTERM or SIGINT asks to stop, the second ends the process at once, whatever the loop does."""
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
            signal.signal(number, _end_at_once)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    yield


def _end_at_once(_number: int, _frame: object) -> NoReturn:
    """Exit code 1, as the Go operator; each run's supervisor sees its lifeline close, and ends every process."""
    os._exit(1)


async def _either(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Wait for the first to end, and end the others; what it raises is raised."""
    waiting = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        await _ended(task)
    for task in done:
        task.result()


async def _ended(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
