"""Leadership as the operator sees it: won, lost with everything stopped at once, or handed over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from runner.config.settings import Settings
from runner.errors import SettingsError
from runner.kube.client import Client
from runner.kube.clock import Clock
from runner.kube.election import Elector, Term
from runner.kube.leader import Leadership, Reactions, leadership
from runner.kube.sockets import Fence
from tests.fixtures.waiting import until

NOBODY = cast(Client, None)


class FakeElector:
    """Wins at once, and loses when the test says so. `renewed` is at time 100."""

    identity = "me"
    renewed: float | None = 100.0

    def __init__(self) -> None:
        self.why: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.released = False

    async def won(self) -> None:
        return

    async def lost(self) -> str:
        return await self.why

    async def release(self) -> None:
        self.released = True


@dataclass
class Seen:
    """What others were told, in order."""

    said: list[object] = field(default_factory=list)

    def reactions(self) -> Reactions:
        return Reactions(
            renewed=lambda until: self.said.append(("renewed", until)),
            lost=lambda: self.said.append("lost"),
            master=lambda leading: self.said.append(("master", leading)),
            exit_within=lambda seconds: self.said.append(("exit within", seconds)),
        )


@dataclass
class Stage:
    """A leadership over a fake elector at a time that the test sets."""

    now: float = 100.0
    seen: Seen = field(default_factory=Seen)
    fence: Fence = field(default_factory=lambda: Fence(lambda: 0.0))
    elector: FakeElector = field(default_factory=FakeElector)

    def leadership(self) -> Leadership:
        clock = Clock(now=lambda: self.now)
        elector = cast(Elector, self.elector)
        return Leadership(elector, self.fence, self.seen.reactions(), Term(15.0, 10.0), clock)


async def test_without_an_election_the_operator_always_leads_and_never_loses() -> None:
    always = Leadership(None, Fence(), Seen().reactions())
    await always.won()
    losing = asyncio.create_task(always.lost())
    await asyncio.sleep(0)
    assert not losing.done()
    losing.cancel()
    await always.hand_over()


async def test_a_loss_shuts_the_fence_and_stops_everything_before_anybody_waiting_hears_of_it() -> None:
    stage = Stage(now=110.0)
    it = stage.leadership()
    await it.won()
    stage.elector.why.set_result("the lease is held by other")
    await it.lost()
    assert (it.is_lost, stage.fence.shut) == (True, True)
    assert stage.seen.said[2:] == [("exit within", 4.0), "lost", ("master", False)]


@pytest.mark.parametrize(("now", "seconds"), [(100.0, 14.0), (110.0, 4.0), (113.5, 1.0), (1000.0, 1.0)], ids=str)
async def test_the_process_ends_before_another_may_lead_but_has_a_second_where_that_is_over(
    now: float, seconds: float
) -> None:
    stage = Stage(now=now)
    it = stage.leadership()
    await it.won()
    stage.elector.why.set_result("why")
    await it.lost()
    assert ("exit within", seconds) in stage.seen.said


async def test_an_elector_that_fails_is_a_loss() -> None:
    stage = Stage()
    it = stage.leadership()
    await it.won()
    stage.elector.why.set_exception(RuntimeError("a mistake"))
    await it.lost()
    assert it.is_lost


async def test_handing_over_releases_the_lease() -> None:
    stage = Stage()
    it = stage.leadership()
    await it.won()
    await it.hand_over()
    assert (stage.elector.released, it.is_lost) == (True, False)


async def test_a_lost_lease_is_not_released() -> None:
    stage = Stage()
    it = stage.leadership()
    await it.won()
    stage.elector.why.set_result("why")
    await until(lambda: it.is_lost)
    await it.hand_over()
    assert not stage.elector.released


async def test_who_never_led_hands_over_nothing() -> None:
    stage = Stage()
    await stage.leadership().hand_over()
    assert not stage.elector.released


def test_an_election_needs_a_name() -> None:
    with pytest.raises(SettingsError, match="LeaderElectionID must be configured"):
        leadership(Settings(leader_elect=True), NOBODY, Fence(), Seen().reactions())


def test_outside_a_cluster_an_election_needs_a_namespace(tmp_path: Path) -> None:
    settings = Settings(leader_elect=True, leader_election_id="it")
    with pytest.raises(SettingsError, match="--leader-election-namespace"):
        leadership(settings, NOBODY, Fence(), Seen().reactions(), tmp_path / "absent")


async def test_in_a_cluster_the_namespace_is_the_pods(tmp_path: Path) -> None:
    file = tmp_path / "namespace"
    file.write_text("shop\n")
    settings = Settings(leader_elect=True, leader_election_id="it")
    assert leadership(settings, NOBODY, Fence(), Seen().reactions(), file)
