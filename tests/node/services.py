"""Services for a node whose kernel has no NAT, as kube-proxy needs it: a process that passes on connections.

Every Service's address is one of the node's own; what connects there is joined to the next ready endpoint. TCP
alone, and endpoints see the node's address. `python services.py KUBECONFIG`, with the certificate of kube-proxy.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import cycle
from typing import Any

from kubernetes import config
from kubernetes.client import ApiClient, CoreV1Api, DiscoveryV1Api
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

EVERY = 0.5
Address = tuple[str, int]


def table(
    services: Iterable[Mapping[str, Any]], slices: Iterable[Mapping[str, Any]]
) -> dict[Address, list[Address]]:
    """Where connections to each Service's address go; nowhere while none of its endpoints is ready."""
    ready: dict[tuple[str, str, str], list[Address]] = {}
    for each in slices:
        owner = (each["metadata"]["namespace"], each["metadata"]["labels"]["kubernetes.io/service-name"])
        for port in each.get("ports") or ():
            addresses = ready.setdefault((*owner, port.get("name") or ""), [])
            addresses += [(address, port["port"]) for address in _ready(each)]
    return {
        (service["spec"]["clusterIP"], port["port"]): ready.get(
            (service["metadata"]["namespace"], service["metadata"]["name"], port.get("name") or ""), []
        )
        for service in services
        if service["spec"].get("clusterIP", "None") != "None"
        for port in service["spec"].get("ports") or ()
    }


def _ready(endpoints: Mapping[str, Any]) -> list[str]:
    return [
        address
        for each in endpoints.get("endpoints") or ()
        if each.get("conditions", {}).get("ready", True)
        for address in each["addresses"]
    ]


class Forwarder:
    """Listens where the table says."""

    def __init__(self) -> None:
        self._targets: dict[Address, list[Address]] = {}
        self._turns = cycle(range(1 << 16))
        self._servers: dict[Address, asyncio.Server] = {}

    async def follow(self, targets: dict[Address, list[Address]]) -> None:
        """Pass on by this table from now on."""
        self._targets = targets
        for address in targets.keys() - self._servers.keys():
            subprocess.run(["ip", "address", "replace", f"{address[0]}/32", "dev", "lo"], check=True)
            self._servers[address] = await asyncio.start_server(self._join(address), *address)
        for address in self._servers.keys() - targets.keys():
            self._servers.pop(address).close()

    def _join(self, address: Address) -> Any:
        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            targets = self._targets.get(address) or []
            with suppress(OSError, asyncio.IncompleteReadError):
                if targets:
                    there, back = await asyncio.open_connection(*targets[next(self._turns) % len(targets)])
                    await asyncio.gather(_copy(reader, back), _copy(there, writer))
            writer.close()

        return accepted


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    finally:
        target.close()


def wanted(api: ApiClient) -> dict[Address, list[Address]]:
    """The table of what the API server has now. Raises HTTPError while it does not answer, or ApiException."""
    services = CoreV1Api(api).list_service_for_all_namespaces(_request_timeout=10)
    slices = DiscoveryV1Api(api).list_endpoint_slice_for_all_namespaces(_request_timeout=10)
    return table(*(api.sanitize_for_serialization(each)["items"] for each in (services, slices)))


async def main(kubeconfig: str) -> None:
    forwarder = Forwarder()
    with config.new_client_from_config(kubeconfig) as api:
        while True:
            with suppress(HTTPError, ApiException):  # the API server has not started, or ends
                await forwarder.follow(await asyncio.to_thread(wanted, api))
            await asyncio.sleep(EVERY)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
