"""What the operator says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from runner import announce
from runner.announce import LONGEST_REMINDER, REMINDER, Reminder
from runner.config.settings import Settings
from runner.config.watches import Content, Watch
from runner.kube.reflector import Phase
from runner.objects import GroupVersionKind, ObjectKey

WEBSITE = GroupVersionKind("example.com", "v1", "Website")
BACKUP = GroupVersionKind("example.com", "v1", "Backup")
ROOT = Path("/project")


@dataclass
class Kind:
    """A reflector's state."""

    gvk: GroupVersionKind
    phase: Phase = Phase.WATCHING
    why: str = ""
    ready: bool = False


def test_readiness_names_each_kind_that_is_missing_and_why() -> None:
    kinds = [
        Kind(WEBSITE, Phase.ABSENT),
        Kind(BACKUP, Phase.FORBIDDEN),
        Kind(BACKUP, Phase.FORBIDDEN),  # in another namespace
        Kind(GroupVersionKind("", "v1", "Pod"), Phase.WAITING, "no answer"),
        Kind(GroupVersionKind("", "v1", "Node"), ready=True),
    ]
    assert announce.unready(kinds) == (
        "not watching example.com/v1, Kind=Website (the API server does not serve it), "
        "example.com/v1, Kind=Backup (not allowed), /v1, Kind=Pod (no answer)"
    )


def test_nothing_is_said_of_kinds_that_are_ready() -> None:
    assert announce.unready([Kind(WEBSITE, ready=True)]) == ""


@dataclass
class Reviews:
    """What reviews, and what keeps it from that."""

    trouble: str = ""
    converts: tuple[GroupVersionKind, ...] = ()


def test_readiness_ends_as_soon_as_the_process_is_asked_to_end() -> None:
    assert announce.readiness(lambda: False, list, []) == ""
    assert announce.readiness(lambda: True, list, []) == "stopping"


def test_readiness_waits_for_the_webhooks() -> None:
    said = announce.readiness(lambda: False, lambda: [Kind(WEBSITE, Phase.ABSENT)], [Reviews("no certificate")])
    assert said == "not watching example.com/v1, Kind=Website (the API server does not serve it); no certificate"


def test_a_kind_that_can_be_listed_only_once_it_is_converted_here_does_not_keep_that_from_being_asked() -> None:
    kinds = [Kind(WEBSITE, Phase.WAITING, "conversion webhook failed")]
    assert announce.readiness(lambda: False, lambda: kinds, [Reviews(converts=(WEBSITE,))]) == ""


def test_kind_that_is_converted_here_and_cannot_be_listed_is_told_without_a_failure() -> None:
    kinds = [
        Kind(WEBSITE, Phase.WAITING, "conversion webhook failed"),
        Kind(BACKUP, Phase.ABSENT),
        Kind(WEBSITE, ready=True),  # in another namespace
    ]
    said = announce.unready_but_converted(lambda: kinds, [Reviews(converts=(WEBSITE,))])
    assert said == "not watching example.com/v1, Kind=Website (conversion webhook failed)"
    assert announce.unready_but_converted(lambda: kinds, []) == ""


def test_an_api_server_that_is_away_is_one_line_for_all_kinds() -> None:
    kinds = [Kind(WEBSITE, Phase.WAITING, "no answer"), Kind(BACKUP, Phase.WAITING, "no answer")]
    assert announce.trouble(kinds, 1.0) == "Website, Backup cannot be watched: no answer"


def test_an_api_server_that_says_nothing_at_all_is_said_after_some_patience() -> None:
    assert announce.trouble([Kind(WEBSITE, Phase.STARTING)], 1.0) == ""
    assert "nothing has come" in announce.trouble([Kind(WEBSITE, Phase.STARTING)], 6.0)


def test_a_kind_that_is_absent_is_a_matter_for_later_reminders() -> None:
    assert announce.trouble([Kind(WEBSITE, Phase.ABSENT, "install it")], 1.0) == ""
    assert "install it" in announce.trouble([Kind(WEBSITE, Phase.ABSENT, "install it")], REMINDER)


def test_trouble_is_said_at_once_then_ever_less_often_and_its_end_once() -> None:
    reminder = Reminder()
    said = [second for second in range(4000) if reminder.due("away", float(second))]
    assert said == [0, 60, 180, 420, 900, 1860, 3780]
    assert [reminder.due("", 4000.0), reminder.due("", 4001.0)] == [True, False]


def test_trouble_that_lasts_for_days_is_said_each_hour() -> None:
    reminder = Reminder()
    said = [second for second in range(0, 200_000, 10) if reminder.due("away", float(second))]
    assert said[-1] - said[-2] == LONGEST_REMINDER


def test_trouble_that_changes_every_second_is_not_said_every_second() -> None:
    reminder = Reminder()
    said = [second for second in range(30) if reminder.due(f"error {second}", float(second))]
    assert said == [0, 10, 20]


@pytest.mark.parametrize(
    ("who", "settings", "said"),
    [
        (
            {"server": "https://one:6443", "context": "dev", "user": "me"},
            Settings(namespaces=("a", "b"), executor="cold"),
            "API server https://one:6443 (context dev, user me); namespaces: a, b; executor: cold; "
            "leader election: off",
        ),
        (
            {"server": "https://one", "user": "system:serviceaccount:ns:operator"},
            Settings(leader_elect=True, leader_election_id="x"),
            "API server https://one (user system:serviceaccount:ns:operator); namespaces: all; executor: auto; "
            "leader election: on, Lease x",
        ),
    ],
)
def test_the_cluster_is_named_as_far_as_it_is_known(who: dict[str, str], settings: Settings, said: str) -> None:
    assert announce.cluster(who, settings) == said


@pytest.mark.parametrize(
    ("period", "often"),
    [(None, "every 10 h"), (90.0, "every 90 s"), (120.0, "every 2 min"), (-1.0, "on changes alone")],
)
def test_a_kind_says_what_it_runs_and_how_often(period: float | None, often: str) -> None:
    watch = Watch(WEBSITE, Content(ROOT / "roles" / "website", is_role=True), reconcile_period=period)
    said = announce.kind(watch, Settings(max_concurrent_reconciles=4), ROOT)
    assert said == f"Website (example.com/v1) runs the role roles/website, 4 at a time, {often}"


def test_only_ports_that_are_open_are_told() -> None:
    with capture_logs() as logs:
        announce.listening([("probes", _Port(6789)), ("user_metrics", _Port(5050)), ("metrics", _Port(0))])
    assert logs[0]["said"] == "Listening: probes on port 6789, user metrics on port 5050"


@dataclass
class _Port:
    port: int


def test_kinds_that_are_not_watched_are_a_warning_when_all_else_is_ready() -> None:
    with capture_logs() as logs:
        announce.ready(2, "not watching X")
        announce.ready(1, "")
    assert [(log["log_level"], log["said"]) for log in logs] == [
        ("warning", "Not all is ready: not watching X"),
        ("info", "Ready: 1 kind watched"),
    ]


@pytest.mark.parametrize(
    ("busy", "grace", "said"),
    [
        ({}, 30.0, "Stopping"),
        (
            {ObjectKey(WEBSITE, "ns", "blog"): 12.3},
            30.0,
            "Stopping: waiting for Website ns/blog (for 12 s), for 30 s at most; Ctrl-C again ends it at once",
        ),
        (
            {ObjectKey(WEBSITE, "ns", str(number)): 1.0 for number in range(7)},
            -1.0,
            "Stopping: waiting for "
            + ", ".join(f"Website ns/{number} (for 1 s)" for number in range(5))
            + " and 2 more, for as long as it takes; Ctrl-C again ends it at once",
        ),
    ],
)
def test_the_end_says_what_is_waited_for(busy: dict[ObjectKey, float], grace: float, said: str) -> None:
    assert announce.waiting(busy, grace) == said
