"""What listening needs of the API server's client, as protocols: so that serving is tested without one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import aiohttp

from runner.objects import GroupVersionKind
from runner.serve.bodies import Data


class Upstream(Protocol):
    """The part of `kube.client.Client` that the proxy talks through."""

    @property
    def base_url(self) -> str: ...

    def open(
        self, method: str, path_and_query: str, *, headers: Mapping[str, str], data: Data
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]: ...

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]: ...

    async def auth_headers(self) -> dict[str, str]: ...


class Resource(Protocol):
    """The part of `kube.discovery.Resource` that decides about injection."""

    @property
    def gvk(self) -> GroupVersionKind: ...

    @property
    def namespaced(self) -> bool: ...

    @property
    def verbs(self) -> frozenset[str]: ...


class Resources(Protocol):
    """The part of `kube.discovery.Discovery` that the proxy asks."""

    async def by_plural(self, group: str, version: str, plural: str) -> Resource | None: ...
