"""What is remembered of the runs' own writes, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.serve.dependents import OwnWrites, written

META = {"uid": "u", "resourceVersion": "3"}
DYING = {**META, "deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("method", "body", "pairs"),
    [
        ("PUT", {"metadata": META}, [("u", "3")]),
        ("PATCH", {"metadata": {**DYING, "finalizers": ["a"]}}, [("u", "3")]),
        ("PATCH", {"metadata": DYING}, [("u", "3"), ("u", "")]),
        ("DELETE", {"metadata": DYING}, [("u", "3"), ("u", "")]),
        ("DELETE", {"kind": "Status", "details": {"uid": "u"}}, [("u", "")]),
        ("POST", {"kind": "Status", "details": {"uid": "u"}}, []),
        ("DELETE", {"kind": "Status"}, []),
        ("DELETE", {"metadata": {}, "items": [{"metadata": META}]}, [("u", "3"), ("u", "")]),
        ("POST", {"kind": "SubjectAccessReview", "metadata": {}}, []),
        ("POST", ["no object"], []),
        ("POST", None, []),
        ("POST", {"metadata": None}, []),
    ],
)
def test_an_answer_tells_which_versions_were_written(method: str, body: Any, pairs: list[tuple[str, str]]) -> None:
    assert written(method, body) == pairs


KEYS = st.sampled_from(["kind", "metadata", "details", "items", "uid", "resourceVersion", "finalizers"])
JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


@given(JSON, st.sampled_from(["POST", "PUT", "DELETE"]))
def test_an_answer_of_any_shape_tells_pairs_of_texts_or_nothing(body: Any, method: str) -> None:
    assert all(isinstance(text, str) for pair in written(method, body) for text in pair)


def test_a_write_is_forgotten_after_its_time() -> None:
    now = [0.0]
    own = OwnWrites(seconds=10, clock=lambda: now[0])
    own.add("u", "1")
    now[0] = 10.0
    assert own.has("u", "1")
    now[0] = 10.1
    assert not own.has("u", "1")


def test_the_oldest_writes_are_forgotten_when_there_are_too_many() -> None:
    own = OwnWrites(limit=2)
    for version in "123":
        own.add("u", version)
    assert [own.has("u", version) for version in "123"] == [False, True, True]


async def test_settling_own_writes_without_one_under_way_does_not_wait() -> None:
    await OwnWrites().settle(0)


async def test_settling_own_writes_gives_up_in_time() -> None:
    own = OwnWrites()
    with own.under_way():
        await own.settle(0.01)
