"""For development: tells the API server of webhooks at a URL of this machine, for as long as the operator runs."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import structlog

from runner.config.admission import FailurePolicy
from runner.config.watches import Watch
from runner.config.webhooks import Endpoint, configurations, conversion
from runner.errors import KubeError, NotFoundError
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.objects import GroupVersionKind

NAME = "ansible-operator-dev"
PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
AGAIN_AFTER = 1.0
"""Seconds: the CRDs may be applied after the start."""
_GROUP = "/apis/admissionregistration.k8s.io/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE = "application/merge-patch+json"

log = structlog.get_logger(__name__)


class Registration:
    """Of the webhooks of these watches; `namespaces` are those that the operator watches, none for all."""

    def __init__(self, client: Client, watches: Collection[Watch], namespaces: tuple[str, ...]) -> None:
        self._client = client
        self._watches = [_lenient(watch) for watch in watches]
        self._namespaces = namespaces
        self._converted: list[str] = []

    async def run(self, endpoint: Endpoint) -> None:
        """Until the API server is told of all; what fails is said once, and tried again."""
        said = ""
        while True:
            try:
                await self._register(endpoint)
            except KubeError as error:
                if str(error) != said:
                    said = str(error)
                    log.warning("The API server is not told of the webhooks yet", why=said)
                await asyncio.sleep(AGAIN_AFTER)
            else:
                log.info("The API server asks here before it stores a custom resource", url=endpoint.url)
                return

    async def _register(self, endpoint: Endpoint) -> None:
        discovery = Discovery(self._client)
        plurals = {watch.gvk: (await discovery.resource(watch.gvk)).plural for watch in self._watches}
        made = configurations(self._watches, plurals, endpoint, name=NAME, namespaces=self._namespaces)
        for body in made:
            await self._write(body)
        for watch in self._watches:
            await self._convert(watch, plurals, endpoint)

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

    async def _convert(self, watch: Watch, plurals: Mapping[GroupVersionKind, str], endpoint: Endpoint) -> None:
        stanza = conversion(watch, endpoint)
        if stanza is not None:
            place = f"{_CRDS}/{plurals[watch.gvk]}.{watch.gvk.group}"
            await self._client.request("PATCH", place, body={"spec": {"conversion": stanza}}, content_type=_MERGE)
            self._converted.append(place)

    async def withdraw(self) -> None:
        """Nobody answers there any more."""
        none = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        try:
            for plural in PLURALS.values():
                await self._delete(f"{_GROUP}/{plural}/{NAME}")
            for place in self._converted:
                await self._client.request("PATCH", place, body=none, content_type=_MERGE)
        except KubeError as error:
            log.warning("The API server still knows the webhooks of this operator", name=NAME, why=str(error))

    async def _delete(self, place: str) -> None:
        try:
            await self._client.request("DELETE", place)
        except NotFoundError:
            return


def _lenient(watch: Watch) -> Watch:
    """Where the operator was killed, nothing is to be refused: as long as it runs, it decides by itself."""
    if watch.admission is None:
        return watch
    return replace(watch, admission=replace(watch.admission, failure_policy=FailurePolicy.IGNORE))
