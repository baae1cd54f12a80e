"""The command line as the Go operator's: commands, help, version, completion, errors."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from runner import cli
from runner.commands import run
from runner.config.settings import Settings, read_settings
from runner.version import COMMIT_VARIABLE

Capture = pytest.CaptureFixture[str]
PLAINLY = {"run": ["--zap-encoder=console"]}
"""As on a terminal."""


def call(*words: str) -> int:
    """The exit code, by whichever way it ends."""
    try:
        return cli.main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `run` was asked to do; nothing is run."""
    asked: list[Settings] = []

    def main(parsed: argparse.Namespace, _environment: object) -> int:
        asked.append(read_settings(parsed, {}, terminal=False))
        return 0

    monkeypatch.setattr(run, "main", main)
    return asked


@pytest.mark.parametrize("words", [[], ["help"], ["-h"], ["--help"], ["help", "run"], ["run", "--help"]])
def test_help_is_on_stdout(words: Sequence[str], capsys: Capture) -> None:
    assert call(*words) == 0
    assert capsys.readouterr().out.startswith("usage: ansible-operator")


def test_help_lists_every_command(capsys: Capture) -> None:
    call()
    listed = re.findall(r"^    ([\w-]+)\b", capsys.readouterr().out, re.MULTILINE)
    of_projects = ["init", "create", "validate", "rbac", "generate", "scorecard"]
    of_resources = ["pause", "resume", "reconcile", "runs"]
    expected = ["run", "run-once", "preview", *of_projects, *of_resources, "dev", "version", "completion", "help"]
    assert sorted(listed) == sorted(expected)


def test_value_that_begins_with_a_dash_is_a_value_for_run_once(capsys: Capture, tmp_path: Path) -> None:
    missing = str(tmp_path / "watches.yaml")
    assert call("run-once", "thing", "a", "--ansible-args", "--forks 2", "--watches-file", missing) == 1
    assert f"{missing}:1: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["version", "--version"])
def test_version_is_one_line_of_facts(word: str, capsys: Capture) -> None:
    assert call(word) == 0
    line = capsys.readouterr().out
    assert re.fullmatch(
        r'ansible-operator version: "v\d[^"]*", commit: "(?:[0-9a-f]{40}|unknown)"'
        r', kubernetes version: "v1\.\d+\.\d+"'
        r', python version: "3[^"]*", OS: "linux", ARCH: "\w+"(?:, ansible-(?:core|runner) version: "[^"]+"){2}\n',
        line,
    )


def test_the_version_in_an_image_says_which_commit_it_was_made_from(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COMMIT_VARIABLE, "c0ffee")
    call("version")
    assert ', commit: "c0ffee", ' in capsys.readouterr().out


@pytest.mark.parametrize("words", [["walk"], ["walk", "--help"], ["help", "walk"]])
def test_an_unknown_command_is_an_error_without_usage(words: Sequence[str], capsys: Capture) -> None:
    assert call(*words) == 1
    written = capsys.readouterr()
    assert written.err.startswith('Error: unknown command "walk" for "ansible-operator"\n')
    assert (written.out, "usage:" in written.err) == ("", False)


def test_of_an_unknown_command_the_nearest_is_named(capsys: Capture) -> None:
    assert call("generat") == 1
    assert 'unknown command "generat" for "ansible-operator", did you mean generate?\n' in capsys.readouterr().err


def test_the_help_that_a_bad_flag_leads_to_is_that_of_the_inner_command(capsys: Capture) -> None:
    assert call("dev", "run", "--walk") == 1
    assert capsys.readouterr().err == (
        "Error: unknown flag: --walk\nRun 'ansible-operator dev run --help' for usage.\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--walk=fast"], "Error: unknown flag: --walk"),
        (["run", "--proxy"], "Error: unknown flag: --proxy, did you mean --proxy-port?"),
        (["run", "-x"], "Error: unknown flag: -x"),
        (["run", "--proxy-port"], "Error: argument --proxy-port: expected one argument"),
        (["run", "--proxy-port=x"], 'Error: argument --proxy-port: invalid value "x"'),
        (["version", "--walk"], "Error: unknown flag: --walk"),
        (["validate", "one", "two"], "Error: unexpected argument: two"),
        (["rbac", "one", "two"], "Error: unexpected argument: two"),
    ],
)
def test_a_bad_flag_is_one_line_and_where_to_read_on(words: Sequence[str], message: str, capsys: Capture) -> None:
    assert call(*words[:1], *PLAINLY.get(words[0], ()), *words[1:]) == 1
    written = capsys.readouterr()
    first, second = written.err.splitlines()
    assert first.startswith(message)
    assert (written.out, second) == ("", f"Run 'ansible-operator {words[0]} --help' for usage.")


def test_an_error_of_run_is_json_where_nobody_reads_it_on_a_terminal(capsys: Capture) -> None:
    assert call("run", "--zebra=fast") == 1
    (record,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (record["level"], record["logger"]) == ("error", "cli")
    assert record["msg"].startswith("unknown flag: --zebra\n")


@pytest.mark.parametrize(
    "words",
    [
        ["more", "--proxy-port=1", "words"],
        ["--proxy-port", "1", "--", "--walk"],
        ["--inject-owner-ref", "words", "--proxy-port", "1"],
    ],
)
def test_run_ignores_positional_arguments(words: Sequence[str], settings: list[Settings]) -> None:
    assert call("run", *words) == 0
    assert (settings[0].proxy_port, settings[0].inject_owner_ref) == (1, True)


def test_version_ignores_positional_arguments() -> None:
    assert call("version", "please") == 0


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--ansible-args", "--check"], "ansible_args", "--check"),
        (["--graceful-shutdown-timeout", "-1s"], "graceful_shutdown_timeout", -1.0),
    ],
)
def test_the_value_of_a_flag_may_begin_with_a_dash(
    words: Sequence[str], field: str, value: object, settings: list[Settings]
) -> None:
    assert call("run", *words) == 0
    assert getattr(settings[0], field) == value


def test_a_deprecated_flag_is_accepted_with_a_notice_and_not_in_the_help(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "read_settings", lambda *_, **__: Settings())
    assert call("run", "--metrics-addr=:1", "--watches-file=none") == 1
    notice = "Flag --metrics-addr has been deprecated, use --metrics-bind-address instead"
    assert notice in capsys.readouterr().err.splitlines()[0]
    call("run", "--help")
    assert "metrics-addr" not in capsys.readouterr().out


def test_a_deprecated_flag_and_its_successor_together_are_an_error(capsys: Capture) -> None:
    assert call("run", *PLAINLY["run"], "--metrics-addr=:1", "--metrics-bind-address=:2") == 1
    assert "Error: only one of --metrics-bind-address and --metrics-addr" in capsys.readouterr().err


@pytest.mark.parametrize("shell", cli.SHELLS)
def test_completion_knows_the_commands_and_the_flags(shell: str, capsys: Capture) -> None:
    assert call("completion", shell) == 0
    script = capsys.readouterr().out
    for name in ("validate", "rbac", "dev", "kubeconfig", "proxy-port"):
        assert name in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_the_shell_can_read(shell: str, capsys: Capture) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    call("completion", shell)
    script = capsys.readouterr().out
    read = subprocess.run([program, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


def test_bash_completes_a_command(capsys: Capture) -> None:
    call("completion", "bash")
    script = capsys.readouterr().out
    words = "COMP_WORDS=(ansible-operator val); COMP_CWORD=1"
    function = "$(complete -p ansible-operator | sed 's/.*-F \\(\\S*\\).*/\\1/')"
    ask = f'{words}; {function} ansible-operator val; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "validate"


CHOICES = {
    "create": ("WHAT", {"api": "add a kind", "webhook": "have the API server ask"}),
    "generate": ("WHAT", {"schema": "the JSON schema", "bundle": "what OLM installs", "crds": "the CRDs of"}),
    "dev": ("COMMAND", {"up": "start it", "down": "end it", "run": "run the operator of a project"}),
    "completion": ("SHELL", {"bash": "for bash: source <(", "powershell": "for PowerShell: "}),
}


@pytest.mark.parametrize("command", CHOICES)
def test_who_leaves_out_what_has_to_be_chosen_reads_what_there_is(command: str, capsys: Capture) -> None:
    assert call(command) == 1
    name, choices = CHOICES[command]
    first, *listed, last = capsys.readouterr().err.splitlines()
    assert first == f"Error: the following arguments are required: {name}"
    assert last == f"Run 'ansible-operator {command} --help' for usage."
    told = dict(line.strip().split(maxsplit=1) for line in listed)
    assert [choice for choice, text in choices.items() if not told[choice].startswith(text)] == []


@pytest.mark.parametrize("command", CHOICES)
def test_of_an_unknown_choice_the_nearest_is_named_and_what_there_is(command: str, capsys: Capture) -> None:
    name, choices = CHOICES[command]
    near = next(iter(choices))
    assert call(command, f"{near}x") == 1
    first, *listed, _ = capsys.readouterr().err.splitlines()
    assert first == f'Error: unknown {name} "{near}x" for "ansible-operator {command}", did you mean {near}?'
    assert listed[0].split()[0] == near


def test_an_error_below_what_was_chosen_does_not_list_what_there_was(capsys: Capture) -> None:
    assert call("create", "api") == 1
    assert "webhook" not in capsys.readouterr().err
