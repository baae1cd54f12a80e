"""Admission as a part of the operator: the server with all that it needs, of every replica, leading or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import structlog

from runner.config.flags import available_processors
from runner.config.settings import Settings
from runner.config.watches import Watch
from runner.errors import RunError
from runner.execute.executor import Executor
from runner.execute.history import History
from runner.execute.root import private_root
from runner.execute.specs import Specs
from runner.kube.client import Client
from runner.kube.discovery import Discovery, ObjectsApi
from runner.metrics import Metrics
from runner.serve.admission.registration import Registration
from runner.serve.admission.reviewer import Reviewer
from runner.serve.admission.secret import SecretCertificate
from runner.serve.admission.server import webhooks
from runner.serve.admission.tasks import Tasks
from runner.serve.aside import Aside, at_home
from runner.serve.certificates import ServingCertificate
from runner.serve.metrics import Listener
from runner.serve.proxy import Proxy
from runner.stopping import ended

log = structlog.get_logger(__name__)

LINGERS = 5.0
"""Seconds that reviews are still answered after the process was asked to end: nodes hear late of a pod's end."""
UNCERTIFIED = "The webhooks have no certificate"
HINT = (
    "Mount tls.crt and tls.key there, as config/certmanager has cert-manager do it. Or let the operator keep a"
    " certificate of its own, with config/own-certificate (docs/how-to/admission.md)"
)
FILES = ".admission"
"""The directory, among those of runs, in which reviews keep their files."""


def wanted(settings: Settings, watches: Iterable[Watch]) -> bool:
    """Whether reviews are to be served: by default where a watch asks for it and the API server could reach us."""
    asked = any(watch.has_webhooks for watch in watches)
    return asked and (
        settings.webhooks in ("on", "dev") or (settings.webhooks == "auto" and settings.cluster.in_pod)
    )


def parts(
    settings: Settings,
    watches: Iterable[Watch],
    client: Client,
    executor: Executor,
    proxy: Proxy,
    metrics: Metrics,
    reconciling: Callable[[], Collection[object]],
    stopping: asyncio.Event,
) -> dict[str, Admission]:
    """By its name in the log; nothing where it is not wanted.

    `reconciling` says what is, which tasks of reviews make room for. `stopping` is set when the process is to end.
    """
    watches = list(watches)
    if not wanted(settings, watches):
        return {}
    return {"webhooks": Admission(settings, watches, client, executor, proxy, metrics, reconciling, stopping)}


class Admission:
    """Listens between `start` and `stop`; `port` is then the one."""

    def __init__(
        self,
        settings: Settings,
        watches: Iterable[Watch],
        client: Client,
        executor: Executor,
        proxy: Proxy,
        metrics: Metrics,
        reconciling: Callable[[], Collection[object]],
        stopping: asyncio.Event,
    ) -> None:
        self._watches = [watch for watch in watches if watch.has_webhooks]
        self.converts = frozenset(watch.gvk for watch in self._watches if watch.conversions)
        self._stopping = stopping
        self._lingers = LINGERS if settings.cluster.in_pod else 0.0
        place = private_root(settings.runner_dir) / FILES
        self._executor = Executor(place, settings.environment, sibling=executor)
        self._specs = Specs(place, settings.environment)
        at_once = max(1, available_processors() // 2)
        tasks = Tasks(
            self._executor,
            proxy.grant,
            at_once=at_once,
            reconciling=reconciling,
            ansible_args=settings.ansible_args,
        )
        own = bool(settings.webhook_cert_secret) and settings.webhooks != "dev" and not _is_mounted(settings)
        self._directory = None if own or settings.webhooks == "dev" else _directory(settings)
        self._needs_mount = self._directory is not None and settings.cluster.in_pod
        self.certificate = ServingCertificate("webhooks", self._directory)
        self._secret: SecretCertificate | None = None
        if own:
            protect = partial(proxy.protection.protect, "webhooks")
            name = settings.webhook_cert_secret
            self._secret = SecretCertificate(client, self._watches, self.certificate, name, protect)
        self._registration: Registration | None = None
        if settings.webhooks == "dev":
            self._registration = Registration(client, self._watches, settings.namespaces, stopping)
        self._aside = Aside("webhooks")
        self._server: Listener = webhooks(
            self._watches,
            Reviewer(self._specs, at_home(tasks.perform), at_home(ObjectsApi(client, Discovery(client)).get)),
            self.certificate,
            settings.webhook_port,
            metrics,
            host="127.0.0.1" if settings.webhooks == "dev" else "",  # the API server is told of this address
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._lingering: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def trouble(self) -> str:
        """What keeps the API server from having its reviews answered; nothing ("") if nothing does."""
        if not self.port:
            return "the webhooks do not listen yet"
        if self._needs_mount and not self.certificate.mounted():
            return f"the webhooks have no certificate in {self._directory}. {HINT}"
        why = self._secret.trouble if self._secret is not None else ""
        return f"the webhooks' certificate: {why}" if why else ""

    async def start(self) -> None:
        """Raises ListenError when the port is in use."""
        self._aside.start()
        await self._aside.run(self._server.start())
        if self._needs_mount and not self.certificate.mounted():
            log.warning(UNCERTIFIED, directory=str(self._directory), hint=HINT)
        self._lingering = asyncio.create_task(self._linger(), name="webhooks-linger")
        self._tasks.append(asyncio.create_task(self._warm_up(), name="admission-warm-up"))
        self._tasks.append(asyncio.create_task(self._clear_up(), name="admission-clear-up"))
        if self._secret is not None:
            self._tasks.append(asyncio.create_task(self._secret.run(), name="webhook-certificate"))
        if self._registration is not None:
            registering = self._registration.run(self.port, self.certificate.authority)
            self._tasks.append(asyncio.create_task(registering, name="webhook-registration"))
            await self._registration.tried()  # before the first list, which may have to be converted

    async def stop(self) -> None:
        """Answers on for what is left of LINGERS, where it is the process that ends, and others can answer."""
        if self._stopping.is_set() and self._lingering is not None:
            await self._lingering
        for task in self._tasks:
            await ended(task)
        if self._lingering is not None:
            await ended(self._lingering)
        if self._registration is not None:
            await self._registration.withdraw()
        await self._aside.run(self._server.stop())
        await self._executor.close()
        await self._aside.run(self._specs.close())
        await self._aside.stop()

    async def _linger(self) -> None:
        await self._stopping.wait()
        self._server.drain()
        await asyncio.sleep(self._lingers)

    async def _clear_up(self) -> None:
        """Remove what reviews left that were killed."""
        history = History([self._executor.root])
        for key in [key for watch in self._watches for key, _ in history.objects(watch.gvk)]:
            try:
                await self._executor.forget(key)
            except Exception:  # reviews go on without
                log.exception("what a review left cannot be removed", key=str(key))

    async def _warm_up(self) -> None:
        """So that the first review is as fast as the others; whatever fails now is told by a review."""
        admissions = [watch.admission for watch in self._watches if watch.admission]
        with suppress(RunError):
            if any(admission.specs for admission in admissions):
                await self._aside.run(self._specs.start())
            if any(admission.tasks or admission.default for admission in admissions):
                await self._executor.warm_up()


def _directory(settings: Settings) -> Path:
    """Where certificates are mounted: as the flag says, or where controller-runtime looks for them."""
    usual = settings.temporary_directory / "k8s-webhook-server" / "serving-certs"
    return Path(settings.webhook_cert_path) if settings.webhook_cert_path else usual


def _is_mounted(settings: Settings) -> bool:
    return (_directory(settings) / "tls.crt").exists()
