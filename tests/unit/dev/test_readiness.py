from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.dev import api, processes
from runner.dev.api import cause, node_ready, port_taken
from runner.dev.layout import Layout
from runner.dev.processes import Process, tail
from runner.errors import ComponentError, DevError

READY = {"spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
THIS = processes.parse_stat(Path("/proc/self/stat").read_text())[0]
GONE = Process(pid=2**22 + 1, started=1)


def test_node_that_is_ready_and_without_taints_takes_pods() -> None:
    assert node_ready(READY)


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"spec": {}, "status": {}},
        {"spec": {}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        READY | {"spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}},
    ],
    ids=["new", "no conditions", "not ready", "tainted"],
)
def test_node_that_is_not_ready_takes_none(node: dict[str, object]) -> None:
    assert not node_ready(node)


def test_waiting_for_readiness_ends_when_the_condition_is_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "INTERVAL", 0)
    answers = iter([False, False, True])

    api.wait_until("ready", lambda: next(answers), Layout(tmp_path), {})

    assert next(answers, None) is None


def test_server_that_does_not_listen_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "INTERVAL", 0)
    answers: Iterator[bool | OSError] = iter([ConnectionRefusedError(), True])

    def ask() -> bool:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    api.wait_until("ready", ask, Layout(tmp_path), {})

    assert next(answers, None) is None


def test_component_that_has_ended_ends_the_waiting_for_readiness(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.logs.mkdir()
    layout.log("etcd").write_text("first\nlisten tcp: address already in use\n")

    with pytest.raises(ComponentError, match="etcd ended") as raised:
        api.wait_until("ready", lambda: False, layout, {"etcd": GONE})

    assert port_taken(raised.value)


def test_waiting_for_readiness_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "READY_WITHIN", 0)

    with pytest.raises(DevError, match=r"node ready: not so within (.|\n)*kwok: its log is empty"):
        api.wait_until("node ready", lambda: False, Layout(tmp_path), {"kwok": THIS})


@pytest.mark.parametrize(
    ("log_tail", "said"),
    [
        (
            'E1122 01:38:41.180934     918 run.go:72] "command failed" err="no route"\n',
            '"command failed" err="no route"',
        ),
        ("Error: unknown flag: --x\nUsage:\n  etcd [flags]\n", "Error: unknown flag: --x"),
        ("one\nthe reason\n\n", "the reason"),
        ("", "its log is empty"),
    ],
)
def test_cause_is_the_line_that_tells_of_the_error(log_tail: str, said: str) -> None:
    assert cause(log_tail) == said


def test_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n".join(map(str, range(10_000))))

    assert tail(tmp_path / "log", 2) == "9998\n9999"


def test_gone_process_used_here_is_not_alive() -> None:
    assert not processes.alive(GONE)
