"""What a Lease means, as plain values and functions: whose it is, when it may be taken, what to write into it.

The rules are client-go's. No machine's clock is compared with another's: a candidate counts from the moment it
saw the lease change last, the leader from the moment before it sent what the API server took. So the leader's
time is always over first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

from runner.errors import SettingsError

JITTER = 1.2
"""client-go's factor between the retry period and the least renew deadline."""

Spec = Mapping[str, Any]


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
