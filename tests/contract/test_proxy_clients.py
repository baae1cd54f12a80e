"""The official client works with a run's kubeconfig, unchanged."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from kubernetes import client, config
from kubernetes.stream import stream

from runner.serve.grants import Grant
from tests.contract.standin import OWNER, Bench

UNTYPED: Any = config


def executed(api: client.CoreV1Api) -> str:
    """The output of `ls`, read to the end of the stream."""
    far = stream(
        api.connect_get_namespaced_pod_exec, "p", "shop", command=["ls"], stdout=True, _preload_content=False
    )
    far.run_forever(timeout=5)
    try:
        return str(far.read_all())
    finally:
        far.sock.shutdown()  # close() leaves the socket open once the other side has closed


def api_for(grant: Grant, directory: Path) -> client.CoreV1Api:
    file = directory / "kubeconfig"
    file.write_text(grant.kubeconfig)
    return client.CoreV1Api(UNTYPED.new_client_from_config(str(file)))


async def test_a_request_of_the_official_client_passes(bench: Bench, tmp_path: Path) -> None:
    with bench.proxy.grant(OWNER) as grant:
        api = api_for(grant, tmp_path)
        found = await asyncio.to_thread(api.read_namespaced_config_map, "c", "shop")
        await asyncio.to_thread(api.api_client.rest_client.pool_manager.clear)
    assert found.metadata is not None
    assert found.metadata.uid == "u1"


async def test_after_the_run_the_official_client_is_told_that_it_is_over(bench: Bench, tmp_path: Path) -> None:
    with bench.proxy.grant(OWNER) as grant:
        api = api_for(grant, tmp_path)
    with pytest.raises(client.ApiException, match="only Ansible runs that are under way") as refused:
        await asyncio.to_thread(api.read_namespaced_config_map, "c", "shop")
    api.api_client.rest_client.pool_manager.clear()
    assert refused.value.status == 401


async def test_exec_of_the_official_client_passes_as_a_websocket(bench: Bench, tmp_path: Path) -> None:
    async def kubelet(request: web.BaseRequest) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        await socket.send_bytes(b"\x01hello from " + request.query["command"].encode())
        await socket.close()
        return socket

    bench.answer = kubelet
    with bench.proxy.grant(OWNER) as grant:
        api = api_for(grant, tmp_path)
        said = await asyncio.to_thread(executed, api)
    assert said == "hello from ls"
    assert bench.seen[0].headers["Authorization"] == "Bearer operator"
