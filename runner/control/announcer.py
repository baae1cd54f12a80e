"""Events about a custom resource, said once: when it starts to fail and when it recovers, not at each retry."""

from __future__ import annotations

from runner.kube.recorder import Recorder
from runner.objects import ObjectKey

FAILED = "ReconcileFailed"
RECOVERED = "Recovered"
INVALID = "InvalidSpec"
UNMAPPED = "StatusFieldLeftAlone"

_REMEMBERED = 1024  # as much of a message as an Event can carry


class Announcer:
    """Remembers what was said last about each key.

    `before` is the message of the object's Failure condition, if true: what was said before a restart.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._failing: dict[ObjectKey, str] = {}
        self._warned: dict[tuple[ObjectKey, str], tuple[str, ...]] = {}

    def failed(self, key: ObjectKey, uid: str, message: str, before: str | None, reason: str = FAILED) -> None:
        message = message[:_REMEMBERED]
        known = self._failing.get(key, before[:_REMEMBERED] if before is not None else None)
        self._failing[key] = message
        if known != message:
            self._recorder.record(key, uid, "Warning", reason, message)

    def recovered(self, key: ObjectKey, uid: str, before: str | None) -> None:
        if self._failing.pop(key, before) is not None:
            self._recorder.record(key, uid, "Normal", RECOVERED, "The last reconciliation succeeded again")

    def warned(self, key: ObjectKey, uid: str, warnings: tuple[str, ...], reason: str = INVALID) -> None:
        """Say the warnings that were not among the last ones with that reason."""
        known = self._warned.get((key, reason), ())
        for warning in warnings:
            if warning not in known:
                self._recorder.record(key, uid, "Warning", reason, warning)
        if warnings:
            self._warned[key, reason] = warnings
        else:
            self._warned.pop((key, reason), None)

    def forget(self, key: ObjectKey) -> None:
        self._failing.pop(key, None)
        for reason in (INVALID, UNMAPPED):
            self._warned.pop((key, reason), None)
