from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from runner.dev.layout import HOST, choose_ports, default_directory


def test_chosen_ports_are_three_different_ones() -> None:
    ports = choose_ports()

    assert len({ports.api, ports.etcd, ports.etcd_peer}) == 3


def test_previous_ports_are_used_again_while_free() -> None:
    previous = choose_ports()

    assert choose_ports(previous) == previous


def test_previous_ports_are_given_up_when_one_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        previous = replace(choose_ports(), api=taken.getsockname()[1])

        assert choose_ports(previous).api != previous.api


def test_directory_follows_the_state_directory_and_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")

    assert default_directory("one") == Path("/state/ansible-operator-runner/dev/one")


def test_directory_is_in_the_home_directory_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")

    assert default_directory("one") == Path("/home/someone/.local/state/ansible-operator-runner/dev/one")
