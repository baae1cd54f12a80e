"""Leader election by a Lease: at most one process of an operator acts, and it knows until when it may.

The rules are client-go's. No machine's clock is compared with another's: a candidate counts from the moment it
saw the lease change last, the leader from the moment before it sent what the API server took. So the leader's
time is always over first.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

import structlog

from runner.errors import ConflictError, KubeError, NotFoundError, SettingsError
from runner.kube.client import Client
from runner.kube.clock import BOOT, Clock

JITTER = 1.2
"""client-go's factor between the retry period and the least renew deadline."""

REMINDER = 60.0
"""Seconds until the same trouble is said again."""

Spec = Mapping[str, Any]


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Term:
    """In seconds: how long others must leave the lease alone after a renewal, after how long without one the
    leader gives up, and how often it renews. Raises SettingsError where these do not fit, as client-go does.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if self.duration <= self.renew_deadline:
            raise SettingsError("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline <= JITTER * self.retry_period:
            raise SettingsError(
                f"renewDeadline must be greater than retryPeriod*JitterFactor ({JITTER * self.retry_period:g}s)"
            )


@dataclass(frozen=True, slots=True)
class Sight:
    """What the lease said when it was last seen, and when that was first seen, by our own clock."""

    spec: Spec = field(default_factory=dict)
    since: float = -math.inf

    @property
    def holder(self) -> str:
        return self.spec.get("holderIdentity") or ""

    def expiry(self, term: Term) -> float:
        """When it may be taken from its holder; the holder keeps to the duration it wrote."""
        return self.since + (self.spec.get("leaseDurationSeconds") or term.duration)

    def again(self, spec: Spec, now: float) -> Sight:
        """The sight after another look."""
        return self if spec == self.spec else Sight(spec, now)


class Step(Enum):
    """What to do after a look at the lease."""

    WRITE = auto()
    WAIT = auto()
    LOST = auto()


def decide(sight: Sight, term: Term, identity: str, now: float, *, leading: bool) -> Step:
    """A lease that was deleted still counts as its last holder's until it would have expired."""
    if sight.holder == identity:
        return Step.WRITE
    if leading:
        return Step.LOST
    return Step.WRITE if not sight.holder or now >= sight.expiry(term) else Step.WAIT


def claimed(spec: Spec, term: Term, identity: str, wall: float) -> dict[str, Any]:
    """The spec that makes, or keeps, the lease ours."""
    ours = spec.get("holderIdentity") == identity
    taken_over = bool(spec) and not ours
    return {
        **spec,
        "holderIdentity": identity,
        "leaseDurationSeconds": math.ceil(term.duration),
        "acquireTime": (spec.get("acquireTime") if ours else None) or _stamp(wall),
        "renewTime": _stamp(wall),
        "leaseTransitions": (spec.get("leaseTransitions") or 0) + taken_over,
    }


def released(spec: Spec, wall: float) -> dict[str, Any]:
    """The spec that lets the next candidate have the lease at once."""
    return {
        **spec,
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": _stamp(wall),
        "renewTime": _stamp(wall),
    }


def _stamp(wall: float) -> str:
    """Kubernetes' MicroTime."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Elector:
    """One candidate for one Lease: first `won`, then `lost`, and `release` if it was not lost.

    `on_renewed` is told until when, by `clock`, this process may act; before each use that is to be compared
    with the time it is then. `clock.now` must not stand still while the process is frozen.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        on_renewed: Callable[[float], None],
        *,
        term: Term | None = None,
        clock: Clock = BOOT,
    ) -> None:
        self.identity = identity
        self.renewed: float | None = None
        self._client = client
        self._namespace = namespace
        self._name = name
        self._on_renewed = on_renewed
        self._term = term or Term()
        self._clock = clock
        self._sight = Sight()
        self._body: dict[str, Any] | None = None
        self._trouble = ""
        self._troubled_at = -math.inf
        self._leader = ""

    @property
    def holder(self) -> str:
        """Who held the lease when it was last seen."""
        return self._sight.holder

    async def won(self) -> None:
        """Return once the lease is ours. Whatever the API server answers, it is asked again."""
        while True:
            try:
                if await self._look_and_act(self._term.renew_deadline / 2) is Step.WRITE:
                    return
                self._trouble = ""
                self._say_who_leads()
            except ConflictError:
                log.debug("another candidate was faster", lease=self._name)
            except KubeError as error:
                self._report(error)
            await self._clock.sleep(self._pause())

    async def lost(self) -> str:
        """Keep the lease ours; return why it is not any more. The caller may do nothing from then on."""
        while not (why := await self._keep()):
            await self._clock.sleep(min(self._term.retry_period, max(0.0, self._left())))
        return why

    async def release(self) -> None:
        """Let others have the lease at once, if it is still ours; nothing may be done after it. Never raises."""
        if self._body is None or self._left() <= 0:
            return
        spec = released(self._sight.spec, self._clock.wall())
        try:
            await self._put({**self._body, "spec": spec}, self._left())
        except KubeError as error:
            log.warning("the lease could not be released, it has to expire", lease=self._name, error=str(error))

    async def _keep(self) -> str:
        """Renew once, or say why that is over."""
        if self._left() <= 0:
            return f"the lease was not renewed for {self._term.renew_deadline:g} s"
        limit = min(self._left(), self._term.renew_deadline / 2)
        try:
            async with asyncio.timeout(limit):
                if await self._renew(limit) is Step.LOST:
                    return f"the lease is held by {self.holder or 'nobody'}"
                self._trouble = ""
        except (KubeError, TimeoutError) as error:
            self._report(error)
        return ""

    async def _renew(self, limit: float) -> Step:
        """Most of the time nobody else has touched the lease, and a write is all it takes."""
        if self._body is not None:
            try:
                await self._write(self._body, limit)
            except (ConflictError, NotFoundError):
                pass
            else:
                return Step.WRITE
        return await self._look_and_act(limit, leading=True)

    async def _look_and_act(self, limit: float, *, leading: bool = False) -> Step:
        body = await self._get(limit)
        if body is not None:
            self._see(body)
        step = decide(self._sight, self._term, self.identity, self._clock.now(), leading=leading)
        if step is Step.WRITE:
            await self._write(body, limit)
        return step

    async def _get(self, limit: float) -> dict[str, Any] | None:
        try:
            return dict(await self._client.request("GET", self._path(self._name), timeout=limit, tries=1))
        except NotFoundError:
            return None

    async def _write(self, body: Mapping[str, Any] | None, limit: float) -> None:
        """`body` is the object as read last, None to create it. Raises ConflictError if that was not the last."""
        sent = self._clock.now()
        spec = claimed(self._sight.spec if body else {}, self._term, self.identity, self._clock.wall())
        if body is None:
            await self._create(spec, limit)
        else:
            await self._put({**body, "spec": spec}, limit)
        self.renewed = sent
        self._on_renewed(sent + self._term.renew_deadline)

    async def _create(self, spec: Spec, limit: float) -> None:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec,
        }
        self._see(await self._client.request("POST", self._path(), body=body, timeout=limit))

    async def _put(self, body: object, limit: float) -> None:
        self._see(await self._client.request("PUT", self._path(self._name), body=body, timeout=limit))

    def _see(self, body: Mapping[str, Any]) -> None:
        self._body = dict(body)
        self._sight = self._sight.again(body.get("spec") or {}, self._clock.now())

    def _left(self) -> float:
        """Seconds until this process has to give up."""
        return -math.inf if self.renewed is None else self.renewed + self._term.renew_deadline - self._clock.now()

    def _pause(self) -> float:
        """Seconds until the next look: at the latest when the lease may be taken."""
        pause = self._clock.uniform(0.8, 1.0) * self._term.retry_period
        left = self._sight.expiry(self._term) - self._clock.now()
        return min(pause, left) if left > 0 else pause

    def _say_who_leads(self) -> None:
        if self.holder and self.holder != self._leader:
            log.info("Standing by", leader=self.holder, lease=self._name, said=f"Standing by: {self.holder} leads")
        self._leader = self.holder

    def _report(self, error: Exception) -> None:
        """Trouble is worth a line when it begins, when it changes, and now and then while it lasts."""
        text = str(error) or "no answer in time"
        if text != self._trouble or self._clock.now() - self._troubled_at >= REMINDER:
            log.warning("the lease cannot be read or written, trying again", lease=self._name, error=text)
            self._troubled_at = self._clock.now()
        self._trouble = text

    def _path(self, name: str = "") -> str:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases"
        return f"{path}/{name}" if name else path
