"""Kinds as people name them, against what an API server says of its kinds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runner.config.settings import ClusterSettings
from runner.errors import UsageError
from runner.kube.named import Context, find_kind, in_context
from tests.fixtures.apiserver import ApiServer, Reply, failure, serving


def group(name: str, *versions: str) -> dict[str, Any]:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def served(plural: str, kind: str, *short: str) -> Reply:
    entry = {
        "name": plural,
        "singularName": kind.lower(),
        "kind": kind,
        "namespaced": True,
        "shortNames": [*short],
    }
    return Reply({"resources": [entry, {**entry, "name": f"{plural}/status"}]})


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with serving() as server:
        groups = [
            group("cache.example.com", "v1", "v1beta1"),
            group("other.example.com", "v1"),
            group("away", "v1"),
        ]
        server.on("get", "/apis", Reply({"groups": groups}))
        server.on("get", "/api/v1", served("pods", "Pod", "po"))
        server.on("get", "/apis/cache.example.com/v1", served("memcacheds", "Memcached", "mc"))
        server.on("get", "/apis/cache.example.com/v1beta1", served("memcacheds", "Memcached", "mc"))
        server.on("get", "/apis/other.example.com/v1", served("pods", "Pod"), served("pods", "Pod"))
        server.on("get", "/apis/gone/v1", failure(503, "ServiceUnavailable"))
        yield server


@pytest.fixture
async def context(server: ApiServer, tmp_path: Path) -> AsyncIterator[Context]:
    async with in_context(ClusterSettings(str(server.kubeconfig(tmp_path / "c")))) as context:
        yield context


@pytest.mark.parametrize(
    "word",
    [
        "memcacheds",
        "memcached",
        "Memcached",
        "mc",
        "memcacheds.cache.example.com",
        "Memcached.v1.cache.example.com",
    ],
)
async def test_a_kind_is_found_by_every_name_that_kubectl_takes(context: Context, word: str) -> None:
    found = await find_kind(context.client, word)
    assert str(found.gvk) == "cache.example.com/v1, Kind=Memcached"
    assert (found.plural, found.namespaced) == ("memcacheds", True)


async def test_a_version_may_be_named(context: Context) -> None:
    found = await find_kind(context.client, "memcacheds.v1beta1.cache.example.com")
    assert found.gvk.version == "v1beta1"


async def test_the_core_group_goes_before_others(context: Context) -> None:
    assert (await find_kind(context.client, "pods")).gvk.group == ""
    assert (await find_kind(context.client, "pods.other.example.com")).gvk.group == "other.example.com"


async def test_a_kind_of_several_groups_has_to_be_named_with_one(server: ApiServer, context: Context) -> None:
    server.on("get", "/apis/other.example.com/v1", served("memcacheds", "Memcached"))
    with pytest.raises(UsageError, match=r"say memcacheds\.cache\.example\.com or memcacheds\.other"):
        await find_kind(context.client, "memcached")


async def test_a_kind_that_nobody_serves_is_told_in_plain_words(context: Context) -> None:
    with pytest.raises(UsageError, match="the API server has no kind 'pear'"):
        await find_kind(context.client, "pear")


async def test_the_namespace_is_that_of_the_kubeconfig(server: ApiServer, tmp_path: Path) -> None:
    file = server.kubeconfig(tmp_path / "c")
    async with in_context(ClusterSettings(str(file))) as context:
        assert context.namespace == "default"
    text = file.read_text()
    for written in ('"context": {', "context: {"):
        text = text.replace(written, f'{written}"namespace": "mine", ')
    file.write_text(text)
    async with in_context(ClusterSettings(str(file))) as context:
        assert context.namespace == "mine"
