from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.dev import cli
from runner.dev.components import AuditLevel, Options
from runner.dev.directory import State, write_state
from runner.dev.layout import Layout, Ports


def parsed(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="ansible-operator")
    cli.add_arguments(parser)
    return parser.parse_args(argv)


def run(directory: Path, *argv: str) -> int:
    return cli.main(parsed(argv[0], "--dir", str(directory), *argv[1:]), {})


@pytest.mark.parametrize(
    ("argv", "level"),
    [([], None), (["--audit"], AuditLevel.METADATA), (["--audit", "Request"], AuditLevel.REQUEST)],
)
def test_audit_log_is_off_on_or_at_a_level(argv: list[str], level: AuditLevel | None) -> None:
    assert parsed("up", *argv).audit == level


def test_unknown_component_has_no_logs() -> None:
    with pytest.raises(SystemExit):
        parsed("logs", "kubelet")


def test_status_of_nothing_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "plane", "status") == 1
    assert capsys.readouterr().out.count("stopped") == 5


def test_status_and_down_make_no_directory(tmp_path: Path) -> None:
    run(tmp_path / "plane", "status")
    run(tmp_path / "plane", "down")

    assert not (tmp_path / "plane").exists()


def test_bringing_down_nothing_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "plane", "down") == 0
    assert "nothing runs" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["kubeconfig", "logs"])
def test_asking_of_a_control_plane_that_is_not_there_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert run(tmp_path / "plane", command) == 1
    assert "ansible-operator dev up" in capsys.readouterr().err


def test_path_of_the_kubeconfig_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Layout(tmp_path).kubeconfig.write_text("kind: Config\n")

    assert run(tmp_path, "kubeconfig") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'kubeconfig'}\n"


def test_kubeconfig_is_printed_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Layout(tmp_path).kubeconfig.write_text("kind: Config\n")

    assert run(tmp_path, "kubeconfig", "--content") == 0
    assert capsys.readouterr().out == "kind: Config\n"


def test_kept_data_survives_down_unless_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = Layout(tmp_path / "plane")
    layout.data.mkdir(parents=True)
    write_state(layout.state, State(Ports(1, 2, 3), Options(keep=True), ready=True))

    assert run(layout.directory, "down") == 0
    assert layout.data.exists()
    assert run(layout.directory, "down", "--delete") == 0
    assert not layout.directory.exists()


def test_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    Layout(tmp_path).kubeconfig.write_text("kind: Config\n")
    script = "import sys; from runner.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "dev", "kubeconfig", "--dir", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, env=environment)

    os.close(writer)
    assert done.stderr == ""
