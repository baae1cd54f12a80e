"""The zygotes as the operator starts them: a Python of their own, told by a string what to import."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from runner.execute.fork.zygote import READY_WITHIN, Zygote
from tests.fixtures.ansible_release import only_where_warm


@only_where_warm
@pytest.mark.parametrize("kind", ["plays", "modules"])
async def test_a_zygote_starts_says_that_it_is_ready_and_ends_when_it_is_let_go(kind: str, tmp_path: Path) -> None:
    zygote = Zygote.start(kind, tmp_path, os.environ)
    try:
        await zygote.ready
        assert await zygote.ask({"alive": True}, within=READY_WITHIN) == {}
        zygote.close()
        await zygote.gone
    finally:
        zygote.kill()


@only_where_warm
async def test_what_a_zygote_says_is_logged_a_record_a_line(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import os; os.write(2, b'one\\ntwo'); os._exit(3)")
    with capture_logs() as logs:
        zygote = Zygote.start("plays", tmp_path, {**os.environ, "PYTHONPATH": str(site)})
        await zygote.gone
    assert [(record["event"], record["pid"]) for record in logs] == [("one", zygote.pid), ("two", zygote.pid)]
