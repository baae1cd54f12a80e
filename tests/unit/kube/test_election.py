"""Whose a lease is, when it may be taken, and what is written into it."""

from __future__ import annotations

import pytest

from runner.errors import SettingsError
from runner.kube.election import Sight, Step, Term, claimed, decide, released

TERM = Term(duration=15.0, renew_deadline=10.0, retry_period=2.0)
OURS = {"holderIdentity": "me", "leaseDurationSeconds": 15, "acquireTime": "then", "leaseTransitions": 3}
THEIRS = {**OURS, "holderIdentity": "other"}
WALL = 1_700_000_000.5
STAMP = "2023-11-14T22:13:20.500000Z"


@pytest.mark.parametrize(
    ("spec", "seconds_since", "step"),
    [
        ({}, 0.0, Step.WRITE),
        ({**THEIRS, "holderIdentity": ""}, 0.0, Step.WRITE),
        (OURS, 100.0, Step.WRITE),
        (THEIRS, 14.9, Step.WAIT),
        (THEIRS, 15.0, Step.WRITE),
        ({**THEIRS, "leaseDurationSeconds": 60}, 59.9, Step.WAIT),
        ({"holderIdentity": "other"}, 14.9, Step.WAIT),
    ],
)
def test_a_candidate_takes_a_lease_that_is_free_or_has_not_changed_for_its_duration(
    spec: dict[str, object], seconds_since: float, step: Step
) -> None:
    assert decide(Sight(spec, 0.0), TERM, "me", seconds_since, leading=False) is step


@pytest.mark.parametrize("spec", [THEIRS, {**THEIRS, "holderIdentity": ""}])
def test_a_leader_that_finds_another_record_has_lost_however_old_that_is(spec: dict[str, object]) -> None:
    assert decide(Sight(spec, 0.0), TERM, "me", 1000.0, leading=True) is Step.LOST


def test_a_lease_expires_by_when_its_record_changed_last_not_by_when_it_was_looked_at() -> None:
    sight = Sight().again(THEIRS, 100.0).again(dict(THEIRS), 110.0)
    assert sight.expiry(TERM) == 115.0
    assert sight.again({**THEIRS, "renewTime": "later"}, 112.0).expiry(TERM) == 127.0


def test_a_renewal_keeps_when_the_lease_was_acquired() -> None:
    assert claimed(OURS, TERM, "me", WALL) == {**OURS, "renewTime": STAMP}


def test_a_takeover_counts_as_a_transition_and_the_first_one_does_not() -> None:
    taken = claimed(THEIRS, TERM, "me", WALL)
    assert (taken["holderIdentity"], taken["acquireTime"], taken["leaseTransitions"]) == ("me", STAMP, 4)
    assert claimed({}, TERM, "me", WALL)["leaseTransitions"] == 0


def test_a_fraction_of_a_second_makes_the_others_wait_longer_never_shorter() -> None:
    assert claimed({}, Term(6.2, 4.0), "me", WALL)["leaseDurationSeconds"] == 7


def test_a_released_lease_is_nobodys() -> None:
    found = released(OURS, WALL)
    assert (found["holderIdentity"], found["leaseTransitions"]) == ("", 3)
    assert decide(Sight(found, 0.0), TERM, "other", 0.0, leading=False) is Step.WRITE


@pytest.mark.parametrize(
    ("duration", "deadline", "message"),
    [(10.0, 10.0, "leaseDuration must be greater"), (15.0, 2.4, "renewDeadline must be greater")],
)
def test_a_term_that_cannot_work_is_refused(duration: float, deadline: float, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Term(duration, deadline)
