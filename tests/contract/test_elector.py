"""An elector against a scripted API server: it leads only when the server said so, and knows until when."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from runner.config.settings import ClusterSettings
from runner.kube.client import Client
from runner.kube.election import Elector, Term
from tests.fixtures.apiserver import ApiServer, Drop, Reply, failure, serving
from tests.fixtures.clock import START, FakeClock

LEASES = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
PATH = f"{LEASES}/operator"
ABSENT = failure(404, "NotFound")
CONFLICT = failure(409, "Conflict")
TERM = Term(duration=15.0, renew_deadline=10.0, retry_period=2.0)


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with serving() as server:
        yield server


@pytest.fixture
def time() -> FakeClock:
    return FakeClock()


class Candidate:
    """An elector and the moments until which it was told to act."""

    def __init__(self, client: Client, time: FakeClock) -> None:
        self.until: list[float] = []
        self._time = time
        self._freeze = 0.0
        clock = replace(time.clock(), wall=self._wall)
        self.elector = Elector(client, "ns", "operator", "me", self.until.append, term=TERM, clock=clock)

    def freeze_at_next_write(self, seconds: float) -> None:
        self._freeze = seconds

    def _wall(self) -> float:
        """Asked for once a write, before it is sent."""
        self._time.advance(self._freeze)
        self._freeze = 0.0
        return self._time.now


@pytest.fixture
async def candidate(server: ApiServer, time: FakeClock, tmp_path: Path) -> AsyncIterator[Candidate]:
    client = await Client.connect(ClusterSettings(str(server.kubeconfig(tmp_path / "config"))))
    yield Candidate(client, time)
    await client.close()


def lease(holder: str, renewed: str = "at first", duration: int = 15) -> Reply:
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": duration,
        "acquireTime": "then",
        "renewTime": renewed,
        "leaseTransitions": 1,
    }
    return Reply({"metadata": {"name": "operator", "resourceVersion": "7", "labels": {"a": "b"}}, "spec": spec})


def written(server: ApiServer, verb: str = "put") -> list[dict[str, Any]]:
    return [asked.body["spec"] for asked in server.seen(verb)]


async def leading(server: ApiServer, candidate: Candidate) -> None:
    server.on("get", PATH, ABSENT)
    server.on("post", LEASES, lease("me"))
    await candidate.elector.won()


async def test_a_lease_that_is_not_there_is_created(server: ApiServer, candidate: Candidate) -> None:
    await leading(server, candidate)
    assert written(server, "post")[0]["holderIdentity"] == "me"
    assert candidate.until == [START + 10.0]


async def test_anothers_lease_is_taken_after_it_has_not_changed_for_its_duration(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    server.on("get", PATH, lease("other"))
    server.on("put", PATH, lease("me"))
    await candidate.elector.won()
    assert time.elapsed == 15.0


async def test_a_lease_that_is_renewed_is_waited_for_whatever_its_times_say(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    renewals = [lease("other", f"1970-01-01T00:00:{n:02}.000000Z") for n in range(5)]
    server.on("get", PATH, *renewals)
    server.on("put", PATH, lease("me"))
    await candidate.elector.won()
    assert time.elapsed == 4 * 2.0 + 15.0


async def test_a_lease_that_was_deleted_while_another_held_it_is_not_taken_before_it_would_have_expired(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    server.on("get", PATH, lease("other"), ABSENT)
    server.on("post", LEASES, lease("me"))
    await candidate.elector.won()
    assert time.elapsed == 15.0


async def test_a_released_lease_is_taken_at_once_with_its_labels_and_its_version(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    server.on("get", PATH, lease(""))
    server.on("put", PATH, lease("me"))
    await candidate.elector.won()
    assert time.elapsed == 0.0
    assert server.seen("put")[0].body["metadata"] == {
        "name": "operator",
        "resourceVersion": "7",
        "labels": {"a": "b"},
    }


@pytest.mark.parametrize("trouble", [CONFLICT, failure(403, "Forbidden"), failure(500), Drop()])
async def test_a_candidate_that_could_not_write_does_not_lead_and_tries_again(
    server: ApiServer, candidate: Candidate, time: FakeClock, trouble: Reply | Drop
) -> None:
    server.on("get", PATH, ABSENT)
    server.on("post", LEASES, trouble, lease("me"))
    await candidate.elector.won()
    assert time.slept == [2.0]
    assert candidate.until == [START + 2.0 + 10.0]


async def test_who_leads_is_said_once_and_again_when_it_is_another(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    server.on("get", PATH, lease("other"), lease("other"), lease("third"))
    server.on("put", PATH, lease("me"))
    with capture_logs() as logs:
        await candidate.elector.won()
    assert [log["leader"] for log in logs if log["event"] == "Standing by"] == ["other", "third"]


async def test_an_api_server_that_is_away_is_said_again_while_it_lasts(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    server.on("get", PATH, *[failure(500)] * 100, ABSENT)
    server.on("post", LEASES, lease("me"))
    with capture_logs() as logs:
        await candidate.elector.won()
    assert len([log for log in logs if "trying again" in log["event"]]) == 1 + int(time.elapsed // 60)


async def test_a_leader_renews_by_one_write(server: ApiServer, candidate: Candidate, time: FakeClock) -> None:
    await leading(server, candidate)
    server.on("put", PATH, lease("me"), lease("me"), lease("me"), CONFLICT)
    server.on("get", PATH, lease("other"))
    await candidate.elector.lost()
    assert time.slept == [2.0, 2.0, 2.0]
    assert candidate.until == [START + 10.0, START + 10.0, START + 12.0, START + 14.0]


async def test_a_leader_without_an_answer_gives_up_at_its_deadline(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    await leading(server, candidate)
    server.on("put", PATH, Drop())
    server.on("get", PATH, Drop())
    assert "not renewed for 10 s" in await candidate.elector.lost()
    assert time.elapsed == 10.0
    assert candidate.until == [START + 10.0]


async def test_a_leader_that_finds_anothers_record_stops_at_once(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    await leading(server, candidate)
    server.on("put", PATH, CONFLICT)
    server.on("get", PATH, lease("other"))
    assert await candidate.elector.lost() == "the lease is held by other"
    assert time.elapsed == 0.0


async def test_a_leader_whose_lease_is_gone_and_anothers_again_stops_at_once(
    server: ApiServer, candidate: Candidate
) -> None:
    await leading(server, candidate)
    server.on("put", PATH, ABSENT)
    server.on("get", PATH, lease("other"))
    assert await candidate.elector.lost() == "the lease is held by other"


async def test_a_change_by_somebody_who_does_not_want_to_lead_is_no_loss(
    server: ApiServer, candidate: Candidate
) -> None:
    await leading(server, candidate)
    server.on("put", PATH, CONFLICT, lease("me"), CONFLICT)
    server.on("get", PATH, lease("me"), lease("other"))
    await candidate.elector.lost()
    assert len(candidate.until) == 2


async def test_a_leader_that_was_frozen_past_its_deadline_asks_nothing_more(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    await leading(server, candidate)
    server.on("put", PATH, lease("me"))
    time.advance(10.0)
    asked = len(server.asked)
    assert "not renewed" in await candidate.elector.lost()
    assert len(server.asked) == asked


async def test_a_freeze_while_a_renewal_is_under_way_counts_from_before_it(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    await leading(server, candidate)
    server.on("put", PATH, lease("me"))
    candidate.freeze_at_next_write(11.0)
    assert "not renewed" in await candidate.elector.lost()
    assert server.count("put") == 1
    assert max(candidate.until) <= time.now


async def test_releasing_makes_the_lease_nobodys(server: ApiServer, candidate: Candidate) -> None:
    await leading(server, candidate)
    server.on("put", PATH, lease(""))
    await candidate.elector.release()
    assert written(server)[-1]["holderIdentity"] == ""


async def test_who_does_not_lead_releases_nothing(
    server: ApiServer, candidate: Candidate, time: FakeClock
) -> None:
    await candidate.elector.release()
    await leading(server, candidate)
    time.advance(10.0)
    await candidate.elector.release()
    assert server.count("put") == 0


async def test_a_release_that_fails_is_no_error(server: ApiServer, candidate: Candidate) -> None:
    await leading(server, candidate)
    server.on("put", PATH, CONFLICT)
    await candidate.elector.release()
    assert server.count("put") == 1
