"""For development: tells the API server of webhooks at a URL of this machine, for as long as the operator runs."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import structlog

from runner.config.admission import FailurePolicy
from runner.config.watches import Watch
from runner.config.webhooks import Endpoint, configurations, conversion
from runner.errors import KubeError, NotFoundError
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.serve.admission.remains import CRDS, GROUP, HOST, LABELS, MERGE, PLURALS, by_url, remove
from runner.stopping import either

NAME = "ansible-operator-dev"
AGAIN_AFTER = 1.0
"""Seconds: the CRDs may be applied after the start."""
SETTLE = 0.1
"""Seconds after which a conversion counts: it does so a moment after it was accepted, and nobody says when."""
TRIED_WITHIN = WITHDRAWN_WITHIN = 5.0
"""Seconds; the API server may be gone."""

log = structlog.get_logger(__name__)


class Registration:
    """Of the webhooks of these watches; `namespaces` are those that the operator watches, none for all.

    Each kind has configurations of its own, so that operators of several projects can share an API server.
    `stopping` is set when the process is to end.
    """

    def __init__(
        self, client: Client, watches: Collection[Watch], namespaces: tuple[str, ...], stopping: asyncio.Event
    ) -> None:
        self._client = client
        self._untold = [_lenient(watch) for watch in watches]
        self._namespaces = namespaces
        self._stopping = stopping
        self._tried = asyncio.Event()
        self._url = ""
        self._written: list[str] = []

    async def run(self, port: int, authority: bytes) -> None:
        """Tell it of all, and withdraw when the process is to end, also where runs still have to end."""
        self._url = f"https://{HOST}:{port}"
        await either(self._tell(Endpoint(url=self._url, authority=authority)), self._stopping.wait())
        await self._stopping.wait()
        await self.withdraw()  # now: a second Ctrl-C would end the process before the runs have ended

    async def tried(self) -> None:
        """Wait until it was told of what it could be told of, unless that takes too long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tried.wait(), TRIED_WITHIN)

    async def withdraw(self) -> None:
        """Nobody answers there any more."""
        try:
            async with asyncio.timeout(WITHDRAWN_WITHIN):
                while self._written:
                    await self._remove(self._written[-1])
                    self._written.pop()
        except (KubeError, TimeoutError) as error:
            log.warning("The API server still knows webhooks of this operator", why=str(error) or "no answer")

    async def _tell(self, endpoint: Endpoint) -> None:
        """What fails is said once, and tried again."""
        said = ""
        while True:
            try:
                why = await self._try_each(endpoint)
            finally:
                self._tried.set()
            if not why:
                break
            if why != said:
                said = why
                log.warning("The API server is not told of all webhooks yet", why=why)
            await asyncio.sleep(AGAIN_AFTER)
        log.info("The API server asks here before it stores a custom resource", url=endpoint.url)

    async def _try_each(self, endpoint: Endpoint) -> str:
        """Why some of the kinds are still untold of."""
        discovery, left, why = Discovery(self._client), list[Watch](), ""
        for watch in self._untold:
            try:
                resource = await discovery.resource(watch.gvk)
                await self._register(watch, resource.plural, endpoint)
            except KubeError as error:
                left.append(watch)
                why = why or str(error)
        self._untold = left
        return why

    async def _register(self, watch: Watch, plural: str, endpoint: Endpoint) -> None:
        gvk = watch.gvk
        name = ".".join(filter(None, (NAME, plural, gvk.version, gvk.group)))
        made = configurations([watch], {gvk: plural}, endpoint, name=name, namespaces=self._namespaces)
        for body in made:
            await self._write(f"{GROUP}/{PLURALS[body['kind']]}", body)
        if watch.conversions:
            await self._convert(f"{CRDS}/{plural}.{gvk.group}", watch, endpoint)

    async def _write(self, place: str, body: Mapping[str, Any]) -> None:
        """Create it, or replace what an operator that was killed has left."""
        metadata = {**body["metadata"], "labels": LABELS}
        path = f"{place}/{metadata['name']}"
        try:
            found = await self._client.request("GET", path)
        except NotFoundError:
            await self._client.request("POST", place, body={**body, "metadata": metadata})
        else:
            metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
            await self._client.request("PUT", path, body={**body, "metadata": metadata})
        self._written.append(path)

    async def _convert(self, path: str, watch: Watch, endpoint: Endpoint) -> None:
        stanza = conversion(watch, endpoint) or {}
        stanza["webhook"]["clientConfig"]["service"] = None  # which the CRD may have been applied with
        await self._client.request("PATCH", path, body={"spec": {"conversion": stanza}}, content_type=MERGE)
        self._written.append(path)
        await asyncio.sleep(SETTLE)

    async def _remove(self, path: str) -> None:
        """Unless another operator has taken it over."""
        try:
            body = await self._client.request("GET", path)
        except NotFoundError:
            return
        if any(config["url"].startswith(f"{self._url}/") for config in by_url(body)):
            await remove(self._client, path)


def _lenient(watch: Watch) -> Watch:
    """Where the operator was killed, nothing is to be refused: as long as it runs, it decides by itself."""
    if watch.admission is None:
        return watch
    return replace(watch, admission=replace(watch.admission, failure_policy=FailurePolicy.IGNORE))
