"""The console that the flags ask for."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from runner.config.settings import Settings
from runner.config.watches import Content, Watch
from runner.execute.console import console_for
from runner.objects import GroupVersionKind

KINDS = [GroupVersionKind(group, "v1", "Thing") for group in ("one.io", "other.io")]
WATCHES = {gvk: Watch(gvk, Content(Path("/roles/thing"), is_role=True)) for gvk in KINDS}


def test_unknown_log_events_are_an_error_for_each_watch() -> None:
    with capture_logs() as logs:
        console_for(Settings(ansible_log_events="all"), WATCHES)
    assert [(entry["log_level"], entry["gvk"], entry["value"]) for entry in logs] == [
        ("error", str(gvk), "all") for gvk in KINDS
    ]


def test_known_log_events_are_no_error() -> None:
    with capture_logs() as logs:
        console_for(Settings(ansible_log_events="Everything"), WATCHES)
    assert logs == []
