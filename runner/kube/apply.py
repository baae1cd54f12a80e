"""Objects applied as `kubectl apply --server-side` does; and kinds, until they are served."""

from __future__ import annotations

import asyncio
from typing import Any

from runner.errors import KubeError, NotFoundError
from runner.kube.client import Client
from runner.kube.discovery import Discovery, root
from runner.objects import Body, GroupVersionKind

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_APPLY = "application/apply-patch+yaml"
_STRICTLY = {"force": "true", "fieldValidation": "Strict"}
_LOOK_EVERY = 0.02
_SETTLE = 0.1
"""Seconds after which a changed schema counts: it does so a moment after it was accepted, and nobody says when."""
SERVED_WITHIN = 10.0
"""Seconds that the API server may take to serve a kind that it has accepted."""


class Applier:
    """Applies objects with every right that the client has; fields that others have set it takes over."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def apply(self, body: Body) -> Body:
        """The object as it is then. Raises KubeError; InvalidError or ApiError where it has unknown fields."""
        meta = body["metadata"]
        gvk = GroupVersionKind.of(str(body["apiVersion"]), str(body["kind"]))
        resource = await self._discovery.resource(gvk)
        namespace = str(meta.get("namespace") or await self._client.namespace()) if resource.namespaced else ""
        return await self._send(resource.path(namespace, str(meta["name"])), body)

    async def define(self, crd: Body) -> bool:
        """Apply a CustomResourceDefinition, and wait until its kinds are served; whether it was not there before.

        Raises KubeError, also where they are not served in time.
        """
        path = f"{CRDS}/{crd['metadata']['name']}"
        try:
            await self._client.request("GET", path)
            new = False
        except NotFoundError:
            new = True
        await self._send(path, crd)
        await asyncio.sleep(_SETTLE)
        try:
            async with asyncio.timeout(SERVED_WITHIN):
                while not await self._is_served(crd):  # noqa: ASYNC110  (it tells nobody)
                    await asyncio.sleep(_LOOK_EVERY)
        except TimeoutError:
            raise KubeError(f"{crd['metadata']['name']} is not served after {SERVED_WITHIN:g} s") from None
        return new

    async def _send(self, path: str, body: Body) -> dict[str, Any]:
        return dict(await self._client.request("PATCH", path, params=_STRICTLY, body=body, content_type=_APPLY))

    async def _is_served(self, crd: Body) -> bool:
        spec = crd["spec"]
        for version in spec.get("versions") or ():
            if version.get("served"):
                try:
                    found = await self._client.request("GET", root(spec["group"], version["name"]))
                except NotFoundError:
                    return False
                if spec["names"]["plural"] not in {entry["name"] for entry in found.get("resources") or ()}:
                    return False
        return True
