"""The command line: exit codes, and errors for the person who reads them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.operators import Project
from tests.fixtures.terminal import Terminal


def ansible_operator(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runner", *arguments],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def complaint(ended: subprocess.CompletedProcess[str]) -> str:
    """What the last record of a failed `run` says, the only one that is an error."""
    *others, record = map(json.loads, ended.stderr.splitlines())
    assert (ended.returncode, record["level"]) == (1, "error")
    assert "error" not in {other["level"] for other in others}
    return str(record["msg"])


def test_without_a_command_it_prints_help(tmp_path: Path) -> None:
    ended = ansible_operator(tmp_path)
    assert (ended.returncode, "usage: ansible-operator" in ended.stdout) == (0, True)


def test_version_is_one_line(tmp_path: Path) -> None:
    ended = ansible_operator(tmp_path, "version")
    assert ended.returncode == 0
    assert ended.stdout.startswith('ansible-operator version: "v')
    assert ended.stdout.count("\n") == 1


def test_an_unknown_command_is_an_error(tmp_path: Path) -> None:
    ended = ansible_operator(tmp_path, "walk")
    assert (ended.returncode, ended.stderr.startswith("Error: ")) == (1, True)


def test_a_bad_flag_value_names_the_flag(tmp_path: Path) -> None:
    ended = ansible_operator(tmp_path, "run", "--reconcile-period=30")
    assert ended.returncode == 1
    assert "--reconcile-period" in ended.stderr
    assert "missing unit" in ended.stderr


def test_every_mistake_in_the_watches_is_printed_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "watches.yaml").write_text("- version: v1\n  kind: A\n  role: none\n- kind: B\n  role: none\n")
    ended = ansible_operator(tmp_path, "run")
    assert ended.returncode == 1
    assert "watches.yaml:3: [0].role: role: none was not found" in ended.stderr
    assert "watches.yaml:4: [1].version: invalid GVK" in ended.stderr
    assert "watches.yaml:5: [1].role: role: none was not found" in ended.stderr


def test_without_a_cluster_it_says_where_it_looked(project: Project) -> None:
    (project / "watches.yaml").write_text("[]")
    ended = ansible_operator(
        project.path, "run", KUBECONFIG="", HOME=str(project.path), KUBERNETES_SERVICE_HOST=""
    )
    assert str(project / ".kube/config") in complaint(ended)


def unreachable_cluster(project: Project) -> str:
    """An empty watches.yaml, and the path of a kubeconfig for a server that is not there."""
    (project / "watches.yaml").write_text("[]")
    config = project / "kubeconfig"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],"
        " clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, user: {}}]}"
    )
    return str(config)


def test_an_api_server_that_is_away_is_said_with_what_to_do(project: Project, tmp_path: Path) -> None:
    config = Path(unreachable_cluster(project))
    project.role("empty", "[]")
    (project / "watches.yaml").unlink()
    for kind in ("Thing", "Gadget"):
        project.watch("empty", kind=kind)
    with Terminal(project.path, config, tmp_path) as terminal:
        terminal.wait("is the API server running, and is this its address?")
        assert terminal.lines("API server http://127.0.0.1:1 (context c, user u)")
        assert terminal.lines("Thing (test.example.com/v1) runs the role roles/empty")


def test_leader_election_without_an_id_is_an_error(project: Project) -> None:
    ended = ansible_operator(
        project.path, "run", "--leader-elect", KUBECONFIG=unreachable_cluster(project), OPERATOR_NAME=""
    )
    assert complaint(ended) == "LeaderElectionID must be configured"


def test_flags_that_do_not_go_together_are_an_error(tmp_path: Path) -> None:
    ended = ansible_operator(tmp_path, "run", "--metrics-require-rbac")
    assert "--metrics-secure flag is required when --metrics-require-rbac is present" in complaint(ended)


@pytest.mark.parametrize(
    ("flag", "address"), [("proxy-port", "{port}"), ("user-metrics-bind-address", "127.0.0.1:{port}")]
)
def test_a_busy_port_is_named(project: Project, flag: str, address: str) -> None:
    config = unreachable_cluster(project)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        flags = {"proxy-port": "0", "metrics-bind-address": "0", "health-probe-bind-address": "0"}
        flags |= {"user-metrics-bind-address": "0", flag: address.format(port=port)}
        given = [f"--{name}={value}" for name, value in flags.items()]
        ended = ansible_operator(project.path, "run", *given, KUBECONFIG=config)
    assert f"127.0.0.1:{port}: Address already in use" in complaint(ended)
    assert f"with --{flag}" in complaint(ended)
