"""A command in a guest: its output and exit code come back, what it writes does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import DevError
from tests.node import guest


def test_a_command_sees_cgroups_of_version_2_alone_and_writes_nothing_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "written"
    script = f"cat /proc/self/cgroup; mkdir -p {tmp_path}; touch {written} && ls {written}; exit 3"

    assert guest.run(["sh", "-c", script]) == 3
    assert capsys.readouterr().out == f"0::/\n{written}\n"
    assert not written.exists()


def test_a_guest_that_does_not_come_up_says_what_its_kernel_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "MEMORY", "1M")

    with pytest.raises(DevError, match="the guest ended before `true`"):
        guest.run(["true"])
