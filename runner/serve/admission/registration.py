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
from runner.objects import Body, GroupVersionKind

NAME = "ansible-operator-dev"
PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
AGAIN_AFTER = 1.0
"""Seconds: the CRDs may be applied after the start."""
LOOK_EVERY = 2.0
"""Seconds: whoever applies a CRD again takes from it what it was told here."""
_GROUP = "/apis/admissionregistration.k8s.io/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE = "application/merge-patch+json"

Json = dict[str, Any]

log = structlog.get_logger(__name__)


class Registration:
    """Of the webhooks of these watches; `namespaces` are those that the operator watches, none for all."""

    def __init__(self, client: Client, watches: Collection[Watch], namespaces: tuple[str, ...]) -> None:
        self._client = client
        self._watches = [_lenient(watch) for watch in watches]
        self._namespaces = namespaces
        self._converted: dict[str, set[str]] = {}  # the place of each CRD, and its versions that were not served

    async def run(self, endpoint: Endpoint) -> None:
        """For ever, where there is something to convert; what fails is said once, and tried again."""
        said, plurals = "", None
        while True:
            try:
                if plurals is None:
                    plurals = await self._register(endpoint)
                    log.info("The API server asks here before it stores a custom resource", url=endpoint.url)
                await self._convert_all(plurals, endpoint)
            except KubeError as error:
                if str(error) != said:
                    said = str(error)
                    log.warning("The API server is not told of the webhooks yet", why=said)
                await asyncio.sleep(AGAIN_AFTER)
            else:
                if not self._converted:
                    return
                await asyncio.sleep(LOOK_EVERY)

    async def _register(self, endpoint: Endpoint) -> Mapping[GroupVersionKind, str]:
        discovery = Discovery(self._client)
        plurals = {watch.gvk: (await discovery.resource(watch.gvk)).plural for watch in self._watches}
        made = configurations(self._watches, plurals, endpoint, name=NAME, namespaces=self._namespaces)
        for body in made:
            await self._write(body)
        return plurals

    async def _write(self, body: Mapping[str, Any]) -> None:
        """Create it, or replace what an operator that was killed has left."""
        place = f"{_GROUP}/{PLURALS[body['kind']]}"
        try:
            found = await self._client.request("GET", f"{place}/{NAME}")
        except NotFoundError:
            await self._client.request("POST", place, body=body)
            return
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        await self._client.request("PUT", f"{place}/{NAME}", body={**body, "metadata": {"name": NAME, **version}})

    async def _convert_all(self, plurals: Mapping[GroupVersionKind, str], endpoint: Endpoint) -> None:
        """Have the API server ask here for conversions, and serve the versions that take one."""
        for watch in self._watches:
            stanza = conversion(watch, endpoint)
            if stanza is not None:
                place = f"{_CRDS}/{plurals[watch.gvk]}.{watch.gvk.group}"
                await self._change(place, partial(self._told, place, set(watch.conversions), stanza))

    def _told(self, place: str, names: set[str], stanza: Json, crd: Body) -> Json | None:
        hidden = unserved(crd, names)
        if place not in self._converted:
            # A URL is of an operator that was killed: nothing was converted before it.
            left = _client_of(crd).get("url")
            self._converted[place] = names if left else set()
        self._converted[place] |= {crd["spec"]["versions"][index]["name"] for index in hidden}
        if not hidden and _client_of(crd) == stanza["webhook"]["clientConfig"]:
            return None
        return _spec_of(crd, stanza, names, served=True)

    async def withdraw(self) -> None:
        """Nobody answers there any more."""
        none = {"strategy": "None", "webhook": None}
        try:
            for plural in PLURALS.values():
                await self._delete(f"{_GROUP}/{plural}/{NAME}")
            for place, names in self._converted.items():
                with suppress(NotFoundError):
                    await self._change(place, partial(_spec_of, stanza=none, names=names, served=False))
        except KubeError as error:
            log.warning("The API server still knows the webhooks of this operator", name=NAME, why=str(error))

    async def _change(self, place: str, change: Callable[[Body], Json | None]) -> None:
        """Change the spec of a CRD as it is now; nothing where there is nothing to change."""
        while True:
            crd = await self._client.request("GET", place)
            spec = change(crd)
            if spec is None:
                return
            body = {"metadata": {"resourceVersion": crd["metadata"]["resourceVersion"]}, "spec": spec}
            try:
                await self._client.request("PATCH", place, body=body, content_type=_MERGE)
            except ConflictError:
                continue
            return

    async def _delete(self, place: str) -> None:
        try:
            await self._client.request("DELETE", place)
        except NotFoundError:
            return


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
