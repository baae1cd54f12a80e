"""The API server answers wrongly, late, twice or not at all: what has to be done is done, once, and told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

import pytest

from bench.observer import Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.gateway import Call, CutError, Gateway, Refusal
from tests.fixtures.operators import PATIENCE
from tests.fixtures.stage import LONG, Stage, staged
from tests.fixtures.watcher import ALL

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

NAMESPACE = "answers"
TIMES = 3
"""How often each request of a kind goes wrong before it goes right."""
VERBS = ("list", "watch", "get", "put", "post", "patch")
"""Of the operator and of its runs, which delete nothing here."""
REASONS = {500: "InternalError", 429: "TooManyRequests", 504: "Timeout"}
STATUSES = REASONS if ALL else [429]
WATCHES, GAPS = (pytest.mark.xdist_group(f"answers-{part}") for part in ("watches", "gaps"))
"""Each has an operator of its own, so that no process of the tests has all of them."""


@pytest.fixture(scope="module")
def whole(
    control_plane: ControlPlane, kinds: Observer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    with staged(control_plane, tmp_path_factory.mktemp(NAMESPACE), NAMESPACE) as it:
        yield it


@pytest.fixture
def stage(whole: Stage) -> Iterator[Stage]:
    yield whole
    whole.between.right()


_numbers = count()


@pytest.fixture
def name() -> str:
    return f"thing-{next(_numbers)}"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "status", [pytest.param(each, marks=pytest.mark.xdist_group(f"answers-{each}")) for each in STATUSES]
)
def test_whatever_is_refused_for_a_while_is_done_in_the_end(
    stage: Stage, name: str, status: int, verb: str
) -> None:
    refused: dict[str, int] = {}

    def before(call: Call) -> Refusal | None:
        refused[call.path] = refused.get(call.path, 0) + (call.verb == verb)
        if call.verb != verb or refused[call.path] > TIMES:
            return None
        return Refusal(status, REASONS[status], {"Retry-After": "1"} if status == 429 else {})

    if verb in ("list", "watch"):
        stage.forgets_trouble()
    stage.between.before = before
    if verb == "list":
        stage.between.lines = once(expired)
    if verb in ("list", "watch"):
        stage.between.cut_watches()
    stage.lives(name)

    assert sum(refused.values()) > 0
    assert stage.problems() == []


def expired(call: Call, line: bytes) -> Iterable[bytes]:
    """The watch is over, and its version with it, so that everything is listed anew."""
    status = {"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "too old"}
    yield json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
    raise CutError


def once(hook: Callable[[Call, bytes], Iterable[bytes]]) -> Callable[[Call, bytes], Iterable[bytes]]:
    """For the first line of each kind and namespace alone."""
    met: set[str] = set()

    def lines(call: Call, line: bytes) -> Iterable[bytes]:
        if call.path in met:
            return (line,)
        met.add(call.path)
        return hook(call, line)

    return lines


@WATCHES
def test_a_storm_of_conflicts_ends_in_what_was_asked_for(stage: Stage, name: str) -> None:
    numbers = count()

    def before(call: Call) -> Refusal | None:
        return Refusal(409, "Conflict") if call.verb == "put" and next(numbers) % 8 != 7 else None

    stage.between.before = before
    stage.lives(name)

    assert next(numbers) > 24
    assert stage.problems() == []


@WATCHES
def test_answers_that_come_two_seconds_late_change_nothing(stage: Stage, name: str) -> None:
    stage.between.delay = 2.0
    stage.things.create(name)
    stage.things.wait(name, "Successful", seconds=120)
    stage.between.right()
    stage.goes(name)

    assert stage.problems() == []


@WATCHES
def test_json_that_is_cut_is_read_again(stage: Stage, name: str) -> None:
    spoiled: dict[str, int] = {}

    def body(call: Call, answer: bytes) -> bytes:
        spoiled[call.path] = spoiled.get(call.path, 0) + (call.verb == "get")
        return answer[: len(answer) // 2] if call.verb == "get" and spoiled[call.path] <= 2 else answer

    stage.between.body = body
    stage.lives(name)

    assert sum(spoiled.values()) > 0
    assert stage.problems() == []


@WATCHES
def test_events_that_come_twice_and_in_another_order_lead_to_no_other_run(stage: Stage, name: str) -> None:
    stage.forgets_trouble()
    stage.between.lines = repeated("/things")
    stage.between.cut_watches()
    stage.lives(name)
    runs = [run for run in stage.watcher.runs() if run.uid == stage.watcher.seen[-1].uid]

    assert [(run.generation, run.deleting) for run in runs if not run.deleting] == [(1, False), (2, False)]
    assert stage.problems() == []


@WATCHES
def test_events_of_a_child_that_come_twice_and_in_another_order_lead_to_no_other_run(
    stage: Stage, name: str
) -> None:
    uid = stage.things.create(name, {"text": "a"})["metadata"]["uid"]
    stage.things.wait(name, "Successful")
    stage.forgets_trouble()
    stage.between.lines = repeated("/configmaps")
    stage.between.cut_watches()
    for number in range(3):
        stage.things.observer.patch("v1", "ConfigMap", name, {"data": {"text": f"edited {number}"}})
        wait_for("it to be put back", lambda: child(stage, name) == "a", seconds=PATIENCE)
    stage.watcher.rests()
    runs = [run for run in stage.watcher.runs() if run.uid == uid]
    stage.goes(name)

    assert len(runs) == 1 + 3
    assert stage.problems() == []


def child(stage: Stage, name: str) -> str:
    found = stage.things.observer.get("v1", "ConfigMap", name) or {}
    return str(found.get("data", {}).get("text"))


def repeated(path: str) -> Callable[[Call, bytes], Iterable[bytes]]:
    """Each event of that path comes twice, the second time after its successor."""
    held: list[bytes] = []

    def lines(call: Call, line: bytes) -> Iterable[bytes]:
        if path not in call.path:
            return (line,)
        before, held[:] = list(held), [line]
        return [line, *before]

    return lines


@GAPS
@pytest.mark.parametrize("how", ["answer", "event"])
def test_a_version_that_has_expired_leads_to_a_new_list(stage: Stage, name: str, how: str) -> None:
    stage.things.create(name)
    stage.things.wait(name, "Successful")
    Away(stage).begin()
    stage.things.patch(name, {"spec": {"text": "changed meanwhile"}})
    expire(stage.between, how)
    stage.things.wait(name, "Successful")
    stage.goes(name)

    assert stage.problems() == []


@GAPS
def test_an_object_that_is_deleted_and_made_anew_while_nobody_looks_is_run_as_a_new_one(
    stage: Stage, name: str
) -> None:
    first = stage.things.create(name, {"text": "a"})
    stage.things.wait(name, "Successful")
    Away(stage).begin()
    stage.things.patch(name, {"metadata": {"finalizers": []}})  # as somebody does who will not wait
    stage.things.delete(name)
    wait_for("it to be gone", lambda: not stage.things.get(name), seconds=PATIENCE)
    second = stage.things.create(name, {"text": "b"})
    expire(stage.between, "answer")
    stage.things.wait(name, "Successful")
    told = {run.uid: run.generation for run in stage.watcher.runs()}

    assert told[second["metadata"]["uid"]] == 1
    stage.goes(name)
    stage.watcher.excused.add(first["metadata"]["uid"])
    assert stage.problems() == []


@GAPS
def test_what_the_object_before_left_behind_gives_one_of_its_name_no_second_run(stage: Stage, name: str) -> None:
    """The watch tells late that it was made anew, and its predecessor's child ends meanwhile."""
    first = stage.things.create(name, {"text": "a"})
    stage.things.wait(name, "Successful")
    child = Child(stage.things.observer, name)
    child.hold()
    stage.watcher.rests()
    Away(stage, "/things").begin()
    stage.things.patch(name, {"metadata": {"finalizers": []}})
    stage.things.delete(name)
    wait_for("it to be gone", lambda: not stage.things.get(name), seconds=PATIENCE)
    wait_for("its child to be collected", child.ends, seconds=PATIENCE)
    second = stage.things.create(name, {"text": "b"})
    before = len(heard(stage, name))
    child.release()
    wait_for("its child's end to be heard of", lambda: len(heard(stage, name)) > before, seconds=PATIENCE)
    stage.between.right()
    wait_for("the second to be told of", lambda: len(told_of(stage, name)) == 2, seconds=LONG)
    stage.things.wait(name, "Successful")
    stage.watcher.rests()
    runs = [run for run in stage.watcher.runs() if run.uid == second["metadata"]["uid"]]
    stage.goes(name)

    assert [run.generation for run in runs] == [1]
    stage.watcher.excused.add(first["metadata"]["uid"])
    assert stage.problems() == []


@dataclass
class Child:
    """The ConfigMap that the run of an object creates, under its name."""

    observer: Observer
    name: str

    def hold(self) -> None:
        """It stays until `release`, also when it is deleted."""
        self._patch(["tests.example.com/hold"])

    def release(self) -> None:
        self._patch([])

    def ends(self) -> bool:
        child = self.observer.get("v1", "ConfigMap", self.name)
        assert child is not None  # it is held
        return "deletionTimestamp" in child["metadata"]

    def _patch(self, finalizers: list[str]) -> None:
        self.observer.patch("v1", "ConfigMap", self.name, {"metadata": {"finalizers": finalizers}})


def heard(stage: Stage, name: str) -> list[object]:
    """Reconciles that were begun because a child changed."""
    decided = stage.operator.records("Decided")
    return [one for one in decided if one["key"].endswith(f"/{name}") and "dependent" in one["triggers"]]


def told_of(stage: Stage, name: str) -> list[object]:
    """Creations that the operator has heard of."""
    enqueued = stage.operator.records("Enqueued")
    return [one for one in enqueued if one["key"].endswith(f"/{name}") and one["trigger"] in ("created", "start")]


@GAPS
def test_a_right_that_is_taken_away_and_given_back_costs_nothing_that_was_asked_for_meanwhile(
    stage: Stage, name: str
) -> None:
    stage.things.create(name, {"text": "a"})
    stage.things.wait(name, "Successful")

    def before(call: Call) -> Refusal | None:
        return Refusal(403, "Forbidden") if "/things" in call.path else None

    stage.forgets_trouble()
    stage.between.before = before
    stage.between.cut_watches()
    stage.things.patch(name, {"spec": {"text": "b"}})
    wait_for("it to be told", lambda: refusals(stage.operator), seconds=PATIENCE)
    stage.between.right()
    stage.things.wait(name, "Successful", seconds=120)
    stage.goes(name)

    assert stage.problems() == []


@GAPS
def test_watch_events_that_are_cut_are_seen_again(stage: Stage, name: str) -> None:
    numbers: dict[str, int] = {}

    def lines(call: Call, line: bytes) -> Iterable[bytes]:
        """Of each kind, every second one is cut."""
        numbers[call.path] = numbers.get(call.path, 0) + 1
        if numbers[call.path] % 2:
            yield line[: len(line) // 2]
            raise CutError
        yield line

    stage.forgets_trouble()
    stage.between.lines = lines
    stage.lives(name)

    assert sum(numbers.values()) > 2
    assert stage.problems() == []


def refusals(operator: OperatorProcess) -> list[object]:
    return [record for record in operator.records() if "forbid" in json.dumps(record).lower()]


@dataclass
class Away:
    """The operator's watch is broken and cannot be made again until something replaces `before`.

    Below `path` alone, where one is given.
    """

    stage: Stage
    path: str = ""

    def begin(self) -> None:
        self.stage.forgets_trouble()
        met = threading.Event()

        def before(call: Call) -> Refusal | None:
            if call.verb not in ("watch", "list") or self.path not in call.path:
                return None
            met.set()
            return Refusal(503, "ServiceUnavailable")

        self.stage.between.before = before
        self.stage.between.cut_watches()
        assert met.wait(30)


def expire(between: Gateway, how: str) -> None:
    """The next watch is told that its version is too old, by its answer or by its first event."""
    answered: set[str] = set()

    def before(call: Call) -> Refusal | None:
        if how != "answer" or call.verb != "watch" or call.path in answered:
            return None
        answered.add(call.path)
        return Refusal(410, "Expired")

    between.lines = once(expired) if how == "event" else lambda _call, line: (line,)
    between.before = before
