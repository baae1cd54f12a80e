"""For development: tells the API server of webhooks at a URL of this machine, for as long as the operator runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from runner.config.admission import FailurePolicy
from runner.config.watches import Watch
from runner.config.webhooks import Endpoint, configurations, conversion, unserved
from runner.errors import ConflictError, KubeError, NotFoundError
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.objects import Body, Json
from runner.serve.admission.remains import CRDS, GROUP, HOST, LABELS, MERGE, PLURALS, by_url, remove
from runner.stopping import either

NAME = "ansible-operator-dev"
AGAIN_AFTER = 1.0
"""Seconds: the CRDs may be applied after the start."""
LOOK_EVERY = 2.0
"""Seconds: whoever applies a CRD again takes from it what it was told here."""
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
        self._convertible: dict[str, Watch] = {}  # by the place of the CRD
        self._converted: dict[str, set[str]] = {}  # the same, and its versions that were not served

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
                for place, names in list(self._converted.items()):
                    with suppress(NotFoundError):
                        await self._change(place, partial(self._untold_spec, names))
                    del self._converted[place]
        except (KubeError, TimeoutError) as error:
            log.warning("The API server still knows webhooks of this operator", why=str(error) or "no answer")

    async def _tell(self, endpoint: Endpoint) -> None:
        """For ever, where there is something to convert; what fails is said once, and tried again."""
        said, told = "", False
        while True:
            try:
                why = await self._try_each(endpoint)
            finally:
                self._tried.set()
            if why and why != said:
                said = why
                log.warning("The API server is not told of all webhooks yet", why=why)
            if not why and not told:
                told = True
                log.info("The API server asks here before it stores a custom resource", url=endpoint.url)
            if not why and not self._convertible:
                return
            await asyncio.sleep(AGAIN_AFTER if why else LOOK_EVERY)

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
        for place, watch in self._convertible.items():
            try:
                await self._change(place, partial(self._told_spec, place, watch, endpoint))
            except KubeError as error:
                why = why or str(error)
        return why

    async def _register(self, watch: Watch, plural: str, endpoint: Endpoint) -> None:
        gvk = watch.gvk
        name = ".".join(filter(None, (NAME, plural, gvk.version, gvk.group)))
        made = configurations([watch], {gvk: plural}, endpoint, name=name, namespaces=self._namespaces)
        for body in made:
            await self._write(f"{GROUP}/{PLURALS[body['kind']]}", body)
        if watch.conversions:
            self._convertible[f"{CRDS}/{plural}.{gvk.group}"] = watch

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

    def _told_spec(self, place: str, watch: Watch, endpoint: Endpoint, crd: Body) -> Json | None:
        """Have it ask here for conversions, and serve the versions that take one."""
        names, stanza = set(watch.conversions), conversion(watch, endpoint) or {}
        hidden = unserved(crd, names)
        if place not in self._converted:
            # A URL is of an operator that was killed: nothing was converted before it.
            left = _client_of(crd).get("url")
            self._converted[place] = names if left else set()
        self._converted[place] |= {crd["spec"]["versions"][index]["name"] for index in hidden}
        config = stanza["webhook"]["clientConfig"]
        if not hidden and _client_of(crd) == config:
            return None
        config["service"] = None  # which the CRD may have been applied with
        return _spec_of(crd, stanza, names, served=True)

    def _untold_spec(self, names: Collection[str], crd: Body) -> Json | None:
        """Unless another operator has taken it over."""
        if not str(_client_of(crd).get("url")).startswith(f"{self._url}/"):
            return None
        return _spec_of(crd, {"strategy": "None", "webhook": None}, names, served=False)

    async def _change(self, place: str, change: Callable[[Body], Json | None]) -> None:
        """Change the spec of a CRD as it is now; nothing where there is nothing to change."""
        while True:
            crd = await self._client.request("GET", place)
            spec = change(crd)
            if spec is None:
                return
            body = {"metadata": {"resourceVersion": crd["metadata"]["resourceVersion"]}, "spec": spec}
            try:
                await self._client.request("PATCH", place, body=body, content_type=MERGE)
            except ConflictError:
                continue
            await asyncio.sleep(SETTLE)
            return

    async def _remove(self, path: str) -> None:
        """Unless another operator has taken it over."""
        try:
            body = await self._client.request("GET", path)
        except NotFoundError:
            return
        if any(config["url"].startswith(f"{self._url}/") for config in by_url(body)):
            await remove(self._client, path)


def _client_of(crd: Body) -> Json:
    """How the API server reaches who converts; empty where nobody does."""
    webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
    return dict(webhook.get("clientConfig") or {})


def _spec_of(crd: Body, stanza: Json, names: Collection[str], *, served: bool) -> Json:
    """What changes of a CRD's spec: these versions are served, or not, and converted as the stanza says."""
    versions = [
        {**version, "served": served} if version["name"] in names else version
        for version in crd["spec"]["versions"]
    ]
    return {"conversion": stanza, "versions": versions}


def _lenient(watch: Watch) -> Watch:
    """Where the operator was killed, nothing is to be refused: as long as it runs, it decides by itself."""
    if watch.admission is None:
        return watch
    return replace(watch, admission=replace(watch.admission, failure_policy=FailurePolicy.IGNORE))
