"""Services for a node whose kernel has no NAT, as kube-proxy needs it: a process that passes on connections.

Every Service's address is one of the node's own; what connects there is joined to the next ready endpoint. TCP
alone, and endpoints see the node's address. `python services.py KUBECONFIG`, with the certificate of kube-proxy.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import yaml

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


class Api:
    """Reads by a kubeconfig with a client certificate."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._server = cluster["server"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as file:  # ssl reads a certificate of its own from a file only
            for name in ("client-certificate-data", "client-key-data"):
                file.write(base64.b64decode(user[name]))
            file.flush()
            self._tls.load_cert_chain(file.name)

    def items(self, path: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(self._server + path, timeout=10, context=self._tls) as answer:
            found: list[dict[str, Any]] = json.load(answer)["items"]
        return found


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


async def main(kubeconfig: Path) -> None:
    api, forwarder = Api(kubeconfig), Forwarder()
    while True:
        with suppress(OSError):  # the API server has not started, or ends
            services = await asyncio.to_thread(api.items, "/api/v1/services")
            slices = await asyncio.to_thread(api.items, "/apis/discovery.k8s.io/v1/endpointslices")
            await forwarder.follow(table(services, slices))
        await asyncio.sleep(EVERY)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
