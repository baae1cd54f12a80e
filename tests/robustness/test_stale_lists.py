"""A new operator is given a list from before the last changes, as an API server that lags behind may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.observer import wait_for
from tests.fixtures.gateway import Call, Gateway
from tests.fixtures.operators import PATIENCE, Operate, Things
from tests.fixtures.watcher import Watcher

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("silent", [False, True], ids=["the watch catches up", "the watch lags, too"])
def test_an_old_list_at_the_start_revives_nothing_and_hides_nothing(
    operate: Operate,
    things: Things,
    between: Gateway,
    watcher: Watcher,
    book: Path,
    tmp_path: Path,
    silent: bool,
) -> None:
    for name in ("changed", "deleted"):
        things.create(name, {"text": "a"})
    old: list[bytes] = []

    def listed(call: Call, body: bytes) -> bytes:
        """The first list is given each time."""
        if call.verb != "list" or "/things" not in call.path:
            return body
        old.append(body)
        return old[0]

    between.body = listed
    operator = operate("--zap-log-level=debug", kubeconfig=between.login(tmp_path / "login"), LEDGER=str(book))
    for name in ("changed", "deleted"):
        things.wait(name, "Successful")
    things.patch("changed", {"spec": {"text": "b"}})
    things.wait("changed", "Successful")
    things.delete("deleted")
    wait_for("it to be gone", lambda: not things.get("deleted"), seconds=PATIENCE)
    operator.stop()
    runs = len(watcher.runs())
    if silent:
        between.lines = lambda _call, _line: ()
    operator.start()
    wait_for("the old list to be worked off", lambda: len(watcher.runs()) > runs, seconds=PATIENCE)
    things.wait("changed", "Successful")
    between.right()
    between.cut_watches()
    things.patch("changed", {"spec": {"text": "c"}})
    things.wait("changed", "Successful")

    assert len(old) >= 2
    assert watcher.problems([operator]) == []
