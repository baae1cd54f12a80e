"""When this process may act: always, or as long as it leads; and what happens at once when that is over."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from runner.config.settings import Settings
from runner.errors import SettingsError
from runner.kube.client import Client
from runner.kube.clock import BOOT, Clock
from runner.kube.election import Elector, Term
from runner.kube.sockets import Fence

log = structlog.get_logger(__name__)

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
MARGIN = 3.0
"""Seconds between renew deadline and lease duration that ending runs may take: SIGTERM, 2 s, SIGKILL."""
LEAST_TO_EXIT = 1.0
"""Seconds a process that was frozen for longer than its lease gets to clean up; it can write nothing then."""


@dataclass(frozen=True, slots=True)
class Reactions:
    """What others do: `renewed` is told until when to act, `lost` is called at once, `master` for the metrics.

    `exit_within` has to end the process after so many seconds, whatever else it is doing.
    """

    renewed: Callable[[float], None]
    lost: Callable[[], None]
    master: Callable[[bool], None]
    exit_within: Callable[[float], None]


def exit_within(seconds: float) -> None:
    """From a thread, because an event loop, or the end of a process, may hang."""
    timer = threading.Timer(seconds, os._exit, (1,))
    timer.daemon = True
    timer.start()


class Leadership:
    """One process's leadership; without an elector it always leads. `is_lost` is for good."""

    def __init__(
        self,
        elector: Elector | None,
        fence: Fence,
        reactions: Reactions,
        term: Term | None = None,
        clock: Clock = BOOT,
    ) -> None:
        self.is_lost = False
        self._elector = elector
        self._fence = fence
        self._reactions = reactions
        self._term = term or Term()
        self._clock = clock
        self._keeping: asyncio.Task[None] | None = None

    async def won(self) -> None:
        """Return once this process may act."""
        if self._elector is None:
            return
        self._reactions.master(False)
        log.info("Waiting to lead", identity=self._elector.identity)
        await self._elector.won()
        log.info("Leading", identity=self._elector.identity)
        self._reactions.master(True)
        self._keeping = asyncio.create_task(self._keep(self._elector), name="lease")

    async def lost(self) -> None:
        """Return once this process may not act any more; everything that had to stop at once is stopped then."""
        if self._keeping is None:
            await asyncio.Event().wait()
        else:
            await asyncio.shield(self._keeping)

    async def hand_over(self) -> None:
        """Give leadership away, when no run is left and nothing is watched any more."""
        if self._keeping is None or self._elector is None:
            return
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        if not self.is_lost:
            await self._elector.release()

    async def _keep(self, elector: Elector) -> None:
        try:
            why = await elector.lost()
        except Exception:
            log.exception("the lease cannot be kept")
            why = "unexpected failure"
        self.is_lost = True
        self._fence.close()
        self._reactions.exit_within(self._left(elector))
        self._reactions.lost()
        self._reactions.master(False)
        log.error("Leadership lost", reason=why)

    def _left(self, elector: Elector) -> float:
        """Seconds until somebody else may lead."""
        if elector.renewed is None:
            return LEAST_TO_EXIT
        return max(LEAST_TO_EXIT, elector.renewed + self._term.duration - self._clock.now() - LEAST_TO_EXIT)


def leadership(
    settings: Settings, client: Client, fence: Fence, reactions: Reactions, namespace_file: Path = NAMESPACE_FILE
) -> Leadership:
    """As the settings ask. Raises SettingsError where they do not suffice."""
    if not settings.leader_elect:
        return Leadership(None, fence, reactions)
    if not settings.leader_election_id:
        raise SettingsError("LeaderElectionID must be configured")
    term = Term(settings.leader_elect_lease_duration, settings.leader_elect_renew_deadline)
    if term.duration - term.renew_deadline < MARGIN:
        log.warning(
            "the lease duration leaves too little time after the renew deadline to end runs in",
            seconds=term.duration - term.renew_deadline,
            least=MARGIN,
        )

    def renewed(until: float) -> None:
        fence.open_until(until)
        reactions.renewed(until)

    elector = Elector(
        client,
        settings.leader_election_namespace or _own_namespace(namespace_file),
        settings.leader_election_id,
        f"{socket.gethostname()}_{uuid.uuid4()}",
        renewed,
        term=term,
    )
    return Leadership(elector, fence, reactions, term)


def _own_namespace(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        raise SettingsError(
            "unable to find leader election namespace: not running in-cluster, please specify "
            "--leader-election-namespace"
        ) from None
