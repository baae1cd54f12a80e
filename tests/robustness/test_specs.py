"""Specs that ask for too much: changed faster than anybody can run them, and as large as the data store takes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kubernetes.client.exceptions import ApiException

from bench.observer import Object
from tests.fixtures.operators import Operate, Things
from tests.fixtures.watcher import ALL, Watcher

pytestmark = pytest.mark.cluster

FLIPS = 100
MOST_RUNS = 30
"""Of a hundred changes in a second or two; a run takes more than a tenth of it."""
LARGE: dict[str, Object] = {
    "one text": {"ballast": "x" * 1_400_000},
    "many fields": {"ballast": {f"key{number}": "x" * 10_000 for number in range(140)}},
    "many numbers": {"ballast": list(range(1_000_000, 1_175_000))},
}
CHOSEN = list(LARGE) if ALL else ["one text"]


def test_a_spec_that_flips_100_times_in_a_second_is_run_as_it_is_in_the_end(
    operate: Operate, things: Things, watcher: Watcher, book: Path
) -> None:
    operator = operate("--zap-log-level=debug", LEDGER=str(book))
    things.create("flips", {"text": "none"})
    things.wait("flips", "Successful")

    def flip(number: int) -> None:
        things.patch("flips", {"spec": {"text": f"{number % 2} of change {number}"}})

    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(flip, range(FLIPS)))
    took = time.monotonic() - began
    body = things.wait("flips", "Successful")
    watcher.rests()
    child = things.observer.get("v1", "ConfigMap", "flips") or {}

    print(f"{FLIPS} changes in {took:.1f} s, {len(watcher.runs())} runs")
    assert body["metadata"]["generation"] == 1 + FLIPS
    assert child["data"]["text"] == body["spec"]["text"]
    assert 2 <= len(watcher.runs()) < MOST_RUNS
    assert watcher.problems([operator]) == []
    assert watcher.stirred(3) == []


def test_a_spec_of_as_much_as_the_store_takes_is_run_and_keeps_no_other_waiting(
    operate: Operate, things: Things, watcher: Watcher, book: Path
) -> None:
    operator = operate("--zap-log-level=debug", LEDGER=str(book))
    for name in CHOSEN:
        things.create(name.replace(" ", "-"), LARGE[name])
    things.create("small")
    things.wait("small", "Successful")
    for name in CHOSEN:
        things.wait(name.replace(" ", "-"), "Successful")
    things.patch("one-text", {"spec": {"text": "changed"}})
    things.wait("one-text", "Successful")

    with pytest.raises(ApiException):  # or it was not as much as the store takes
        things.create("too-large", {"ballast": "x" * 1_600_000})
    assert watcher.problems([operator]) == []
