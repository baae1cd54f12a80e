"""Probes and metrics, as the kubelet and Prometheus ask for them: over TLS and for whom RBAC lets, if asked for.

Paths and texts are those of the Go operator. Whether a token's account may read /metrics is remembered for as
long as controller-runtime does, tokens by their hash only.
"""

from __future__ import annotations

import hashlib
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from runner.errors import KubeError, ListenError
from runner.serve.connections import Connections, Limits
from runner.serve.listen import everywhere, parse_address

Probe = Callable[[web.Request], Awaitable[web.StreamResponse]]
Check = Callable[[], str]
"""Says what is not well, or nothing ("")."""
FEW = Limits(connections=128)
"""For clients of which there are few: the kubelet, Prometheus."""


log = structlog.get_logger(__name__)
TOKEN_SECONDS = 60.0
ALLOW_SECONDS = 300.0
DENY_SECONDS = 30.0
MOST_REMEMBERED = 1000
Found = TypeVar("Found")
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_UNTYPED = re.compile(rb"^# TYPE (\S+) untyped$", re.MULTILINE)
User = Mapping[str, Any]
Guard = Callable[[web.Request], Awaitable[web.Response | None]]
"""Answers a request that may not pass; None lets it pass."""


class Listener:
    """An HTTP server on one address. "0" and "" mean: do not listen; `port` is then 0.

    `flag` is where a person changes the address; one that is `optional` is done without where it is in use.
    `grace`: seconds that requests under way have when it stops. `limits` bound its connections.
    """

    def __init__(
        self,
        address: str,
        application: web.Application,
        flag: str,
        tls: ssl.SSLContext | None = None,
        *,
        optional: bool = False,
        grace: float = 1.0,
        limits: Limits = FEW,
    ) -> None:
        self.port = 0
        self.connections = Connections(limits)
        self._draining = False
        self._flag = flag
        self._optional = optional
        self._address = parse_address(address)
        self._tls = tls
        application.on_response_prepare.append(self._close_when_draining)
        application.middlewares.append(self.connections.note)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=grace)

    async def start(self) -> None:
        """Raises ListenError when the address cannot be had."""
        if self._address is None:
            return
        try:
            sockets = everywhere(*self._address)
        except ListenError as error:
            if self._optional:
                log.info("Not listening", said=f"Doing without {self._flag.removeprefix('--')}: {error}")
                return
            raise ListenError(f"{error} with {self._flag}") from error
        self.port = sockets[0].getsockname()[1]
        await self._runner.setup()
        if self._runner.server is not None:  # always, after `setup`
            self.connections.start(sockets, self._runner.server, self._tls)

    def drain(self) -> None:
        """Answer on, but let each connection end with its next answer: the next one may then go elsewhere."""
        self._draining = True

    async def stop(self) -> None:
        await self.connections.stop()
        await self._runner.cleanup()
        await self.connections.close()

    async def _close_when_draining(self, _: web.Request, response: web.StreamResponse) -> None:
        if self._draining:
            response.force_close()
            response.headers["Connection"] = "close"  # aiohttp has made the headers by now


def probes(
    address: str, *, live: Check = lambda: "", ready: Check = lambda: "", remark: Check = lambda: ""
) -> Listener:
    """`/healthz` and `/readyz`, each also with its check's name or `ping` appended. Raises SettingsError.

    `remark` is for people who ask `/readyz`: trouble that does not keep the operator from being ready.
    """
    application = web.Application()
    for name, check, also in (("healthz", live, lambda: ""), ("readyz", ready, remark)):
        application.router.add_get(f"/{name}{{_:/?}}", _whole(name, check, also))
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
    """`/metrics` in Prometheus's text format. Raises SettingsError for an address that is none."""

    async def exposition(request: web.Request) -> web.Response:
        refusal = await guard(request) if guard else None
        if refusal is not None:
            return refusal
        return web.Response(body=exposed(registry), headers={"Content-Type": PLAIN})

    application = web.Application()
    application.router.add_get("/metrics", exposition)
    return Listener(address, application, "--metrics-bind-address", tls)


def exposed(registry: CollectorRegistry) -> bytes:
    """Never as OpenMetrics, like the Go operator: there, and for the library, a counter ends in `_total`."""
    return _UNTYPED.sub(rb"# TYPE \1 counter", generate_latest(registry))


def _whole(name: str, check: Check, remark: Check) -> Probe:
    async def answer(request: web.Request) -> web.Response:
        trouble = check()
        if trouble:
            return web.Response(status=500, text=f"[-]{name} failed: {trouble}\nhealthz check failed\n")
        also = remark()
        if "verbose" in request.query:
            more = f"[!]{also}\n" if also else ""
            return web.Response(text=f"[+]{name} ok\n{more}healthz check passed\n")
        return web.Response(text=f"ok, but {also}\n" if also else "ok")

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


class Asks(Protocol):
    """The part of `kube.client.Client` that is used."""

    async def request(self, method: str, path: str, *, body: object) -> Any: ...  # noqa: ANN401  (what JSON decodes to)


class Reviews:
    """TokenReview and SubjectAccessReview. `now` is monotonic."""

    def __init__(self, client: Asks, now: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._users: Memory[User | None] = Memory(now)
        self._rights: Memory[bool] = Memory(now)

    async def guard(self, request: web.Request) -> web.Response | None:
        """401 for whoever is not known, 403 for whoever may not, 500 where the API server does not say."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        try:
            user = await self._user(token.strip()) if scheme.lower() == "bearer" and token.strip() else None
            if user is None:
                return web.Response(status=401, text="Unauthorized\n")
            if await self._may(user, request.method.lower(), request.path):
                return None
        except KubeError as error:
            log.warning("no answer to who may read metrics", error=str(error))
            return web.Response(status=500, text="Authorization failed\n")
        return web.Response(status=403, text=f"Authorization denied for user {user.get('username', '')}\n")

    async def _user(self, token: str) -> User | None:
        key = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        known = self._users.get(key)
        if known is not None:
            return known[0]
        status = await self._ask("authentication.k8s.io", "TokenReview", {"token": token})
        user = status.get("user") if status.get("authenticated") else None
        self._users.put(key, user, TOKEN_SECONDS)
        return user

    async def _may(self, user: User, verb: str, path: str) -> bool:
        key = (user.get("username"), user.get("uid"), tuple(user.get("groups") or ()), verb, path)
        known = self._rights.get(key)
        if known is not None:
            return known[0]
        spec = {
            "user": user.get("username"),
            "uid": user.get("uid"),
            "groups": user.get("groups"),
            "extra": user.get("extra"),
            "nonResourceAttributes": {"verb": verb, "path": path},
        }
        asked = {name: value for name, value in spec.items() if value}
        allowed = bool((await self._ask("authorization.k8s.io", "SubjectAccessReview", asked)).get("allowed"))
        self._rights.put(key, allowed, ALLOW_SECONDS if allowed else DENY_SECONDS)
        return allowed

    async def _ask(self, group: str, kind: str, spec: object) -> Mapping[str, Any]:
        body = {"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}
        answer = await self._client.request("POST", f"/apis/{group}/v1/{kind.lower()}s", body=body)
        return (answer or {}).get("status") or {}


class Memory(Generic[Found]):
    """What was found out, each for a time of its own; at most so many, the oldest go first."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[Hashable, tuple[float, Found]] = {}

    def get(self, key: Hashable) -> tuple[Found] | None:
        known = self._known.get(key)
        return (known[1],) if known is not None and self._now() < known[0] else None

    def put(self, key: Hashable, found: Found, seconds: float) -> None:
        self._known.pop(key, None)
        if len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._now() + seconds, found)
