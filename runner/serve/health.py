"""Probes and metrics, as the kubelet and Prometheus ask for them; paths and texts are those of the Go operator."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from runner.errors import ListenError
from runner.serve.listen import everywhere, parse_address
from runner.serve.reviews import Guard

Probe = Callable[[web.Request], Awaitable[web.StreamResponse]]
Check = Callable[[], str]
"""Says what is not well, or nothing ("")."""


class Listener:
    """An HTTP server on one address. "0" and "" mean: do not listen; `port` is then 0.

    `flag` is where a person changes the address.
    """

    def __init__(
        self, address: str, application: web.Application, flag: str, tls: ssl.SSLContext | None = None
    ) -> None:
        self.port = 0
        self._flag = flag
        self._address = parse_address(address)
        self._tls = tls
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)

    async def start(self) -> None:
        """Raises ListenError when the address cannot be had."""
        if self._address is None:
            return
        try:
            sockets = everywhere(*self._address)
        except ListenError as error:
            raise ListenError(f"{error} with {self._flag}") from error
        self.port = sockets[0].getsockname()[1]
        await self._runner.setup()
        for listening in sockets:
            await web.SockSite(self._runner, listening, ssl_context=self._tls).start()

    async def stop(self) -> None:
        await self._runner.cleanup()


def probes(address: str, *, live: Check = lambda: "", ready: Check = lambda: "") -> Listener:
    """`/healthz` and `/readyz`, each also with its check's name or `ping` appended. Raises SettingsError."""
    application = web.Application()
    for name, check in (("healthz", live), ("readyz", ready)):
        application.router.add_get(f"/{name}{{_:/?}}", _whole(name, check))
        application.router.add_get(f"/{name}/{name}", _single(check))
        application.router.add_get(f"/{name}/ping", _single(lambda: ""))
    return Listener(address, application, "--health-probe-bind-address")


def metrics(
    address: str,
    registry: CollectorRegistry,
    *,
    tls: ssl.SSLContext | None = None,
    guard: Guard | None = None,
) -> Listener:
    """`/metrics` in the format that the client asks for. Raises SettingsError for an address that is none."""

    async def exposition(request: web.Request) -> web.Response:
        refusal = await guard(request) if guard else None
        if refusal is not None:
            return refusal
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(registry), headers={"Content-Type": content_type})

    application = web.Application()
    application.router.add_get("/metrics", exposition)
    return Listener(address, application, "--metrics-bind-address", tls)


def _whole(name: str, check: Check) -> Probe:
    async def answer(request: web.Request) -> web.Response:
        trouble = check()
        if trouble:
            return web.Response(status=500, text=f"[-]{name} failed: {trouble}\nhealthz check failed\n")
        return web.Response(text=f"[+]{name} ok\nhealthz check passed\n" if "verbose" in request.query else "ok")

    return answer


def _single(check: Check) -> Probe:
    async def answer(_: web.Request) -> web.Response:
        trouble = check()
        return (
            web.Response(status=500, text=f"internal server error: {trouble}\n")
            if trouble
            else web.Response(text="ok")
        )

    return answer
