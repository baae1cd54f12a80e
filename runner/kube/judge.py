"""What a reflector makes of trouble: which state it is in, how long it waits, and whether it must list again.

Nothing the API server or the network does is an error here; everything passes, some of it only when a person
acts (a missing CustomResourceDefinition, a missing permission), and then the log says what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runner.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    KindAbsentError,
    KubeError,
    NotFoundError,
    StreamError,
)
from runner.kube.backoff import Backoff
from runner.kube.clock import Clock
from runner.objects import GroupVersionKind

LEAST, MOST = 0.1, 30.0
ABSENT_POLL = 10.0
FORBIDDEN_POLL, FORBIDDEN_POLL_MOST = 10.0, 60.0
REFUSALS_BEFORE_LIST = 5


class Phase(StrEnum):
    """What a reflector is doing."""

    STARTING = "starting"
    ABSENT = "absent"
    FORBIDDEN = "forbidden"
    WATCHING = "watching"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do next: the phase to show, seconds to wait, whether the resourceVersion is of no more use."""

    phase: Phase
    delay: float
    relist: bool


class Judge:
    """Counts failures in a row and decides; one per reflector."""

    def __init__(self, clock: Clock) -> None:
        self._storm = Backoff(LEAST, MOST, clock)
        self._expired = Backoff(LEAST, MOST, clock)
        self._forbidden = Backoff(FORBIDDEN_POLL, FORBIDDEN_POLL_MOST, clock)

    def fine(self) -> None:
        """A watch held: the next trouble is the first."""
        self._storm.reset()
        self._expired.reset()
        self._forbidden.reset()

    def judge(self, error: Exception) -> Verdict:
        if isinstance(error, KindAbsentError):
            return Verdict(Phase.ABSENT, ABSENT_POLL, relist=True)
        if isinstance(error, ForbiddenError):
            return Verdict(Phase.FORBIDDEN, self._forbidden.next(), relist=False)
        if isinstance(error, GoneError):  # usual after an outage, whose long waits it must not inherit
            return Verdict(Phase.WAITING, self._expired.next(), relist=True)
        asked = (error.retry_after or 0.0) if isinstance(error, ApiError) else 0.0
        delay = max(self._storm.next(), min(asked, MOST))
        return Verdict(Phase.WAITING, delay, relist=self._must_list(error))

    def _must_list(self, error: Exception) -> bool:
        if isinstance(error, ApiError) and not isinstance(error, NotFoundError):
            return self._storm.failures % REFUSALS_BEFORE_LIST == 0  # perhaps it is our version it refuses
        return not isinstance(error, KubeError) or isinstance(error, StreamError | NotFoundError)


def advice(error: Exception, gvk: GroupVersionKind, plural: str, verb: str, namespace: str) -> str:
    """What a person should do about a phase that only a person can end; empty for what passes."""
    if isinstance(error, KindAbsentError):
        return f"install the CustomResourceDefinition of {gvk}; it is noticed by itself"
    if not isinstance(error, ForbiddenError):
        return ""
    where = f"a Role in namespace {namespace}" if namespace else "a ClusterRole"
    if not plural:
        return "let the operator's service account read API discovery (ClusterRole system:discovery)"
    return (
        f'the operator\'s service account may not {verb} {plural} in API group "{gvk.group}": add to {where} '
        f'the rule {{apiGroups: ["{gvk.group}"], resources: ["{plural}"], verbs: [get, list, watch]}} and bind it'
    )
