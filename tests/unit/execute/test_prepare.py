"""What one object's runs have found out about the API is there for the next object's."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from runner.execute.prepare import Discovery, file_name
from runner.execute.rundir import DISCOVERY

KUBECONFIG = 'clusters: [{name: c, cluster: {server: "http://user:secret@localhost:8888"}}]'


@pytest.fixture
def directories(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    return one, other


def found_out(directory: Path, text: str, when: int = 1) -> None:
    path = directory / "k8srcp-abc.json"
    path.write_text(text)
    os.utime(path, ns=(when, when))


def given(directory: Path) -> list[str]:
    return [path.read_text() for path in directory.glob(DISCOVERY)]


def test_discovery_is_handed_on_under_the_name_that_is_looked_for(directories: tuple[Path, Path]) -> None:
    one, other = directories
    discovery = Discovery(since=0)
    found_out(one, "the API")
    discovery.take(one)
    discovery.give(other, KUBECONFIG)
    assert (other / file_name("http://user:secret@localhost:8888")).read_text() == "the API"


def test_an_object_that_has_discovery_of_its_own_keeps_it(directories: tuple[Path, Path]) -> None:
    one, other = directories
    discovery = Discovery(since=0)
    found_out(one, "new", when=2)
    found_out(other, "own")
    discovery.take(one)
    discovery.give(other, KUBECONFIG)
    assert given(other) == ["own"]


def test_discovery_that_earlier_operators_left_is_replaced(directories: tuple[Path, Path]) -> None:
    one, other = directories
    discovery = Discovery(since=5)
    found_out(one, "new", when=6)
    found_out(other, "of an earlier operator", when=4)
    discovery.take(one)
    discovery.give(other, KUBECONFIG)
    assert given(other) == ["new"]


def test_discovery_that_earlier_operators_left_is_removed_where_nothing_replaces_it(
    directories: tuple[Path, Path],
) -> None:
    found_out(directories[0], "of an earlier operator", when=4)
    Discovery(since=5).give(directories[0], KUBECONFIG)
    assert given(directories[0]) == []


def test_the_latest_discovery_is_handed_on(directories: tuple[Path, Path]) -> None:
    one, other = directories
    discovery = Discovery(since=0)
    found_out(one, "new", when=2)
    discovery.take(one)
    found_out(one, "old", when=1)
    discovery.take(one)
    discovery.give(other, KUBECONFIG)
    assert given(other) == ["new"]


@pytest.mark.parametrize("kubeconfig", ["", "clusters: []", "clusters: 1", "{", "a: b"])
def test_no_discovery_is_handed_on_for_a_kubeconfig_without_a_server(
    directories: tuple[Path, Path], kubeconfig: str
) -> None:
    one, other = directories
    discovery = Discovery(since=0)
    found_out(one, "the API")
    discovery.take(one)
    discovery.give(other, kubeconfig)
    assert given(other) == []


def test_at_first_there_is_no_discovery_to_hand_on(directories: tuple[Path, Path]) -> None:
    Discovery(since=0).give(directories[0], KUBECONFIG)
    assert given(directories[0]) == []


def test_the_name_of_discovery_is_the_one_that_kubernetes_core_uses() -> None:
    discovery = pytest.importorskip("ansible_collections.kubernetes.core.plugins.module_utils.client.discovery")

    class Configuration:
        host = "http://user:secret@localhost:8888"

    class Client:
        configuration = Configuration()

    discoverer = object.__new__(discovery.Discoverer)
    discoverer.client = Client()
    identity = discoverer._Discoverer__get_default_cache_id()
    assert file_name(Configuration.host) == f"k8srcp-{hashlib.sha256(identity).hexdigest()}.json"
