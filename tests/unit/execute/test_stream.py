"""From output to events: whom the stream believes, what it hides, and that nothing ends the reading."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from runner.config.watches import Content
from runner.execute.output import LONGEST_TEXT, MOST_LINES
from runner.execute.run import Event, Run
from runner.execute.stream import Stream, censored_stdout
from runner.objects import GroupVersionKind, ObjectKey
from tests.fixtures.marks import mark

KEY = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "default", "one")
RUN = Run("1", KEY, "uid", Content(Path("/roles/web"), is_role=True), {}, "kubeconfig")


HIDDEN = {"res": {"censored": "the output has been hidden"}}
RESULT = 'fatal: [localhost]: FAILED! => {"censored": "the output has been hidden"}\n...ignoring'


@pytest.mark.parametrize(
    ("stdout", "shown"),
    [
        (f"[ERROR]: Task failed: hunter2\nOrigin: x.yml:1:1\n\n{RESULT}", RESULT),
        (f"[ERROR]: Task failed: hunter2\nfatal: [x\n{RESULT}", RESULT),
        (RESULT, RESULT),
        ("[ERROR]: Task failed: hunter2", ""),
    ],
)
def test_of_a_censored_result_only_the_result_is_shown(stdout: str, shown: str) -> None:
    assert censored_stdout({"stdout": stdout, "event_data": HIDDEN}) == shown


@pytest.mark.parametrize("data", [None, {}, {"res": None}, {"res": {"msg": "x"}}])
def test_output_that_is_not_censored_stays(data: object) -> None:
    assert censored_stdout({"stdout": "[ERROR]: Task failed", "event_data": data}) == "[ERROR]: Task failed"


class Pieces(asyncio.StreamReader):
    """Gives out each piece, however long."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        super().__init__()
        self._pieces = iter(pieces)

    async def read(self, n: int = -1) -> bytes:
        return next(self._pieces, b"")


class Chunks(asyncio.StreamReader):
    """Gives out `data` in chunks of this size."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__()
        self.feed_data(data)
        self.feed_eof()
        self._size = size

    async def read(self, n: int = -1) -> bytes:
        return await super().read(min(n, self._size))


class Rig:
    """A stream, what the sinks are shown, and how the callback tells of an event."""

    def __init__(self, artifacts: Path) -> None:
        self.artifacts = artifacts
        (artifacts / "job_events").mkdir()
        self.seen: list[dict[str, Any]] = []
        self.stream = Stream(RUN, artifacts, [lambda _, event: self.seen.append(dict(event))])

    def told(self, of: str, **part: Any) -> str:
        """Tell of an event as the callback does, and give the mark before its output."""
        given = {"uuid": of, "event": "runner_on_ok", "created": "then", "event_data": {}} | part
        (self.artifacts / f"job_events/{of}-partial.json").write_text(json.dumps(given))
        return mark({"uuid": of})

    async def read(self, text: str, size: int = 10_000) -> None:
        await self.stream.read(Chunks(text.encode(), size))
        self.stream.close()

    @property
    def stdout(self) -> str:
        return (self.artifacts / "stdout").read_text()

    @property
    def texts(self) -> list[str]:
        return [event["stdout"] for event in self.seen if event["stdout"]]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    return Rig(artifacts)


A, B = (f"{letter * 8}-bbbb-cccc-dddd-{letter * 12}" for letter in "ab")
END = mark({})


@pytest.mark.parametrize("size", [3, 7, 10_000])
async def test_all_output_outside_of_events_is_kept_however_it_comes(rig: Rig, size: int) -> None:
    """ansible-runner's parser keeps only the last line before an event when both come at once."""
    first, second = rig.told(A), rig.told(B)
    await rig.read(f"one\ntwo\n{first}of an event{END}\nthree\nfour\n{second}of another{END}\n", size)

    lines = ["one", "two", "of an event", "three", "four", "of another"]
    assert [line for line in rig.stdout.split("\n") if line] == lines
    assert rig.texts == lines


async def test_nothing_that_a_sink_knows_is_told_when_it_fails(tmp_path: Path) -> None:
    @dataclass
    class Knowing:
        body: dict[str, str]

        def sink(self, _run: Run, _event: Event) -> None:
            raise ValueError

    (tmp_path / "job_events").mkdir()
    stream = Stream(RUN, tmp_path, [Knowing({"password": "canary"}).sink])
    with capture_logs() as logs:
        await stream.read(Chunks(b"text\n", 10))
        stream.close()
    assert [record["event"] for record in logs] == [f"an event sink failed: {Knowing.sink.__qualname__}"]


async def test_an_event_that_ansible_did_not_tell_of_is_text(rig: Rig) -> None:
    await rig.read(f"{rig.told(A)}(item={mark({'uuid': B})}x){END}")

    assert [event["uuid"] for event in rig.seen] == [A]
    assert rig.texts[0].startswith("(item=\\x1b[K")


@pytest.mark.parametrize(
    "payload",
    [
        {"uuid": "../../../elsewhere/inventory/hosts"},
        {"uuid": A, "event": "runner_on_ok", "event_data": {"res": {"period": "1s"}}},
        {"uuid": A.upper()},
        {"uuid": [A]},
        {"event": "playbook_on_stats"},
    ],
    ids=str,
)
async def test_what_a_mark_says_beyond_a_uuid_is_not_believed(rig: Rig, payload: dict[str, Any]) -> None:
    before = set(rig.artifacts.rglob("*"))
    await rig.read(f"{mark(payload)}\n{END}")

    assert [event["event"] for event in rig.seen] == ["verbose"]
    assert {path.parent.name for path in set(rig.artifacts.rglob("*")) - before} == {"job_events"}


@pytest.mark.parametrize(
    "part",
    [{"event": 7}, {"event_data": [1]}, {"event_data": "x"}, {"created": None}, {"uuid": B}],
    ids=str,
)
async def test_data_of_another_shape_is_none_of_an_event(rig: Rig, part: dict[str, Any]) -> None:
    await rig.read(f"{rig.told(A, **part)}text{END}\nmore\n")

    assert {event["event"] for event in rig.seen} == {"verbose"}
    assert rig.texts[-1] == "more"


async def test_data_that_nobody_can_make_sense_of_does_not_end_the_reading(rig: Rig) -> None:
    odd = rig.told(A, event="playbook_on_stats", event_data={"artifact_data": 3, "failures": [1]})
    odder = rig.told(B, event_data={"task_action": ["set_fact"], "res": {"ansible_facts": [1], "period": {}}})
    await rig.read(f"{odd}recap{END}\n{odder}text{END}\n" + "x" * 400_000 + "\nlast\n")

    assert rig.texts[-1] == "last"


async def test_a_handler_that_runs_again_is_told_of_again(rig: Rig) -> None:
    """Its task's uuid is that of both events."""
    first = rig.told(A)
    await rig.read(f"{first}once{END}\n{first}again{END}\n")

    assert rig.texts == ["once", "again"]


async def test_text_that_follows_a_censored_event_is_hidden_until_the_next_event(rig: Rig) -> None:
    """A string that ends the event by a mark of its own must not uncover what comes after it."""
    hidden, shown = rig.told(A, event_data=HIDDEN), rig.told(B)
    await rig.read(f"{hidden}Task failed: {END}hunter2\nhunter2{END}\n{shown}shown{END}\n")

    assert "hunter2" not in rig.stdout
    assert "hunter2" not in json.dumps(rig.seen)
    assert "shown" in rig.texts


async def test_output_without_end_or_line_break_takes_bounded_memory(rig: Rig) -> None:
    begin, more = rig.told(A).encode(), [b"x" * 2**15] * (4 * LONGEST_TEXT // 2**15)
    tracemalloc.start()
    try:
        await rig.stream.read(Pieces([begin, *more]))
        rig.stream.close()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 6 * LONGEST_TEXT  # of four times as much; made into an event, it is there several times
    assert len(rig.texts[0]) < LONGEST_TEXT + 200
    assert rig.texts[0].endswith("more characters of this event's output were left out)")


async def test_lines_outside_of_events_beyond_a_number_share_events(rig: Rig) -> None:
    await rig.read("line\n" * 20 * MOST_LINES)

    assert len(rig.seen) < MOST_LINES + 20
    assert rig.stdout == "line\n" * 20 * MOST_LINES
