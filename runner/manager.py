"""The composition root: builds every part, starts them in order, stops them in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager

import structlog

from runner.control.plan import Defaults
from runner.control.queue import WorkQueue
from runner.control.reconciler import Reconciler, World
from runner.control.triggers import Following
from runner.control.worker import Workers
from runner.execute.console import Console, LogEvents
from runner.execute.process import ColdExecutor
from runner.execute.run import Event, Run
from runner.execute.variables import extra_vars
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.kube.objects_api import ObjectsApi
from runner.kube.recorder import Recorder
from runner.kube.reflector import Change, Phase, Reflector
from runner.metrics import Metrics
from runner.objects import GroupVersionKind, Owner
from runner.report import Report
from runner.serve import health
from runner.serve.ownership import Mechanism
from runner.serve.proxy import Proxy
from runner.settings import Settings
from runner.version import VERSION
from runner.watches import Watch
from runner.watching import OwnWrites, Watching, where_to_watch

log = structlog.get_logger(__name__)


def run_operator(settings: Settings, watches: tuple[Watch, ...]) -> int:
    """Run until SIGTERM or SIGINT; returns the exit code: 0, or 1 when runs had to be cut short."""
    return asyncio.run(Manager(settings, watches).run())


class Manager:
    """One operator process: every part of it, and the order in which they live."""

    def __init__(self, settings: Settings, watches: tuple[Watch, ...]) -> None:
        self._settings = settings
        self._watches = {watch.gvk: watch for watch in watches}
        self._metrics = Metrics()
        self._report = Report(self._metrics)
        self._stopping = asyncio.Event()
        self._ready = False

    async def run(self) -> int:
        """Raises OperatorError when it cannot start."""
        async with AsyncExitStack() as stack:
            client = await Client.connect(self._settings.kubeconfig)
            stack.push_async_callback(client.close)
            discovery = Discovery(client)
            await self._listen(stack)
            queue = self._queue()
            proxy = self._proxy(client, discovery)
            await proxy.start()
            stack.push_async_callback(proxy.stop)
            recorder = Recorder(client)
            _background(stack, recorder.run())
            reconciler = self._reconciler(ObjectsApi(client, discovery), recorder, proxy)
            self._watching = self._watch(client, discovery, queue, proxy)
            stack.push_async_callback(self._watching.stop)
            workers = Workers(queue, reconciler.reconcile, self._settings.total_workers(self._watches))
            return await self._until_stopped(workers, queue, proxy)

    async def _until_stopped(self, workers: Workers, queue: WorkQueue, proxy: Proxy) -> int:
        with _signals(self._stop):
            workers.start()
            await self._first(self._watching.settled())
            if not self._stopping.is_set():
                self._ready = True
                log.info("Ready", kinds=len(self._watches), proxy_port=proxy.port)
            await self._first(self._measure(queue))
            log.info("Stopping", grace=self._settings.graceful_shutdown_timeout)
            in_time = await workers.stop(self._settings.graceful_shutdown_timeout)
        log.info("Stopped", in_time=in_time)
        return 0 if in_time else 1
