"""Output in pieces, and what `no_log` hides."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.censor import censored_stdout
from runner.execute.run import Event, Run
from runner.execute.stream import Stream, pieces
from runner.objects import GroupVersionKind, ObjectKey
from runner.watches import Content

KEY = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "default", "one")
RUN = Run("1", KEY, "uid", Content(Path("/roles/web"), is_role=True), {}, "kubeconfig")


@given(st.text(alphabet="a\n") | st.text())
def test_pieces_are_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text


def test_a_piece_has_a_bounded_number_of_lines() -> None:
    assert max(piece.count("\n") for piece in pieces("\n" * 1000)) <= 64


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
def test_other_output_stays(data: object) -> None:
    assert censored_stdout({"stdout": "[ERROR]: Task failed", "event_data": data}) == "[ERROR]: Task failed"


class Chunks(asyncio.StreamReader):
    """Gives out `data` in chunks of this size."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__()
        self.feed_data(data)
        self.feed_eof()
        self._size = size

    async def read(self, n: int = -1) -> bytes:
        return await super().read(min(n, self._size))


def token(uuid: str) -> str:
    """As the callback writes it before (and, without a uuid, after) the output of an event."""
    data = base64.b64encode(json.dumps({"uuid": uuid} if uuid else {}).encode()).decode()
    return f"\x1b[K{data}\x1b[{len(data)}D\x1b[K"


@pytest.mark.parametrize("size", [3, 7, 10_000])
async def test_all_output_outside_of_events_is_kept_however_it_comes(tmp_path: Path, size: int) -> None:
    """ansible-runner's parser keeps only the last line before an event when both come at once."""
    (tmp_path / "job_events").mkdir()
    said = f"one\ntwo\nthree\n{token('a')}of an event{token('')}\nfour\nfive\n{token('b')}of another{token('')}\n"
    output = Chunks(said.encode(), size)
    seen: list[Event] = []
    stream = Stream(RUN, tmp_path, [lambda _, event: seen.append(dict(event))])
    await stream.read(output)
    stream.close()

    lines = ["one", "two", "three", "of an event", "four", "five", "of another"]
    assert [line for line in (tmp_path / "stdout").read_text().split("\n") if line] == lines
    assert [event["stdout"] for event in seen if event["stdout"]] == lines
