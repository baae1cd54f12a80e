"""Waiting for a condition with a deadline."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes.client.exceptions import ApiException

from bench.observer import wait_for
from runner.errors import DevError


def answers(*values: object) -> Iterator[object]:
    yield from values


def test_waiting_gives_the_first_true_answer() -> None:
    given = answers(None, "", "yes", "too late")
    assert wait_for("an answer", lambda: next(given), seconds=5, every=0) == "yes"


def test_waiting_in_vain_names_what_was_waited_for() -> None:
    with pytest.raises(DevError, match="waited 0 s in vain: the moon"):
        wait_for("the moon", lambda: None, seconds=0, every=0)


def test_an_api_error_while_waiting_is_transient_but_is_named_in_the_end() -> None:
    def refused() -> bool:
        raise ApiException(status=503, reason="Unavailable")

    with pytest.raises(DevError, match="503 Unavailable"):
        wait_for("an answer", refused, seconds=0, every=0)
