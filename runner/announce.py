"""What the operator says of itself: where it works, what it watches, what it waits for, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog

from runner.config.settings import Settings
from runner.config.watches import Watch
from runner.kube.reflector import Phase
from runner.objects import GroupVersionKind, ObjectKey
from runner.version import VERSION

PATIENCE = 5.0
"""Seconds until it is said that nothing has come from the API server."""
REMINDER, LONGEST_REMINDER = 60.0, 3600.0
"""Seconds until the same trouble is said again, twice as many after each time."""
_LEAST = 10.0
"""Seconds between two lines about trouble that changes."""
_SHOWN = 5
_WHY = {Phase.ABSENT: "the API server does not serve it", Phase.FORBIDDEN: "not allowed"}

log = structlog.get_logger(__name__)


class Waiting(Protocol):
    """What is asked of a reflector; `why` is what keeps it from watching, if anything."""

    gvk: GroupVersionKind
    phase: Phase
    why: str

    @property
    def ready(self) -> bool: ...


class Listening(Protocol):
    """What listens; `port` is 0 where it does not."""

    @property
    def port(self) -> int: ...


class Reviewing(Protocol):
    """What reviews and converts; `trouble` is what keeps it from that, or nothing ("")."""

    @property
    def converts(self) -> Collection[GroupVersionKind]: ...
    @property
    def trouble(self) -> str: ...


def readiness(
    stopping: Callable[[], bool], kinds: Callable[[], Iterable[Waiting]], webhooks: Collection[Reviewing]
) -> str:
    """Why `/readyz` fails; nothing ("") if all is well.

    A kind that is converted here does not count: it may only be listed while the API server can ask us, which only
    asks pods that are ready. `unready_but_converted` names those kinds.
    """
    if stopping():
        return "stopping"
    told = unready(one for one in kinds() if one.gvk not in _converted(webhooks))
    return "; ".join(filter(None, (told, *(part.trouble for part in webhooks))))


def unready_but_converted(kinds: Callable[[], Iterable[Waiting]], webhooks: Collection[Reviewing]) -> str:
    """The kinds that are not watched, though they keep `/readyz` from nothing; nothing ("") if there are none."""
    return unready(one for one in kinds() if one.gvk in _converted(webhooks))


def _converted(webhooks: Collection[Reviewing]) -> set[GroupVersionKind]:
    return {gvk for part in webhooks for gvk in part.converts}


def unready(kinds: Iterable[Waiting]) -> str:
    """What `/readyz` says of the kinds that keep the operator from being ready; nothing ("") if none does."""
    told = dict.fromkeys(
        f"{one.gvk} ({_WHY.get(one.phase) or one.why or 'not listed yet'})" for one in kinds if not one.ready
    )
    return f"not watching {', '.join(told)}" if told else ""


def trouble(kinds: Iterable[Waiting], seconds: float) -> str:
    """What keeps the operator waiting after so many seconds, as sentences; nothing ("") if nothing does."""
    reasons: dict[str, list[str]] = {}
    for one in kinds:
        why = one.why
        if one.phase is Phase.STARTING and seconds > PATIENCE:
            why = "nothing has come from the API server yet"
        elif one.phase in (Phase.ABSENT, Phase.FORBIDDEN) and seconds < REMINDER:
            why = ""  # the reflector has just said it
        if why:
            reasons.setdefault(why, []).append(one.gvk.kind)
    return "\n".join(f"{_some(dict.fromkeys(names))} cannot be watched: {why}" for why, names in reasons.items())


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


@dataclass(slots=True)
class Reminder:
    """When trouble is worth a line: when it begins, when it is another, and now and then while it lasts."""

    last: str = ""
    at: float = float("-inf")
    pause: float = REMINDER

    def due(self, text: str, now: float) -> bool:
        """Whether to say this now, which counts as said then; its end ("") is said once."""
        if text == self.last:
            worth = bool(text) and now - self.at >= self.pause
            self.pause = min(2 * self.pause, LONGEST_REMINDER) if worth else self.pause
        else:
            worth = not text or not self.last or now - self.at >= _LEAST
            self.pause = REMINDER if worth else self.pause
        if worth:
            self.last, self.at = text, now
        return worth


def remind(reminder: Reminder, kinds: Iterable[Waiting], seconds: float) -> bool:
    """Say what keeps the operator waiting so many seconds after it began to watch, if that is due.

    Returns whether its end is still to be said.
    """
    text = trouble(kinds, seconds)
    if reminder.due(text, seconds):
        (log.warning if text else log.info)(text or "All kinds are watched now")
    return bool(reminder.last)


def introduce(
    who: Mapping[str, str], settings: Settings, watches: Mapping[GroupVersionKind, Watch], root: Path
) -> None:
    """Say which cluster this is, and what is to be done there."""
    said = f"ansible-operator v{VERSION}: {cluster(who, settings)}"
    log.info("Starting", version=f"v{VERSION}", **who, namespaces=settings.namespaces, said=said)
    for gvk, watch in watches.items():
        content, workers = str(watch.content.path), settings.workers(gvk)
        log.info(
            "Serving a kind", gvk=str(gvk), content=content, workers=workers, said=kind(watch, settings, root)
        )


def cluster(who: Mapping[str, str], settings: Settings) -> str:
    """Which API server, as whom, which namespaces, how runs are started, and whether others may lead."""
    known = ", ".join(f"{name} {who[name]}" for name in ("context", "user") if who.get(name))
    places = ", ".join(settings.namespaces) or "all"
    election = f"on, Lease {settings.leader_election_id}" if settings.leader_elect else "off"
    server = f"API server {who.get('server', '')}" + (f" ({known})" if known else "")
    return f"{server}; namespaces: {places}; executor: {settings.executor}; leader election: {election}"


def kind(watch: Watch, settings: Settings, root: Path) -> str:
    """What a kind runs, how many at a time, how often."""
    what = "role" if watch.content.is_role else "playbook"
    path = str(watch.content.path).removeprefix(f"{root}/")
    seconds = settings.reconcile_period if watch.reconcile_period is None else watch.reconcile_period
    often = f"every {_period(seconds)}" if seconds > 0 else "on changes alone"
    number = settings.workers(watch.gvk)
    return f"{watch.gvk.kind} ({watch.gvk.api_version}) runs the {what} {path}, {number} at a time, {often}"


def _period(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def listening(parts: Iterable[tuple[str, Listening]]) -> None:
    """Say on which ports; nothing of those that are off."""
    ports = {name: part.port for name, part in parts if part.port}
    told = ", ".join(f"{name.replace('_', ' ')} on port {port}" for name, port in ports.items())
    log.info("Listening", **ports, said=f"Listening: {told}")


def ready(kinds: int, trouble: str) -> None:
    """Say that all is watched that can be."""
    watched = f"Ready: {kinds} kind{'' if kinds == 1 else 's'} watched"
    (log.warning if trouble else log.info)(
        "Ready", kinds=kinds, trouble=trouble, said=f"Not all is ready: {trouble}" if trouble else watched
    )


def stopping(busy: Mapping[ObjectKey, float], grace: float) -> None:
    """Say that the end begins."""
    waiting_for = [str(key) for key in busy]
    log.info("Stopping", grace_seconds=grace, waiting_for=waiting_for, said=waiting(busy, grace))


def waiting(busy: Mapping[ObjectKey, float], grace: float) -> str:
    """What is waited for before the end, how long, and how to end it."""
    if not busy:
        return "Stopping"
    runs = _some(f"{key} (for {seconds:.0f} s)" for key, seconds in busy.items())
    limit = "for as long as it takes" if grace < 0 else f"for {grace:g} s at most"
    return f"Stopping: waiting for {runs}, {limit}; Ctrl-C again ends it at once"
