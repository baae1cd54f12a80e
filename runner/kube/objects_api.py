"""Whole objects, read live and written back: what a reconcile needs of the API and no more."""

from __future__ import annotations

from typing import Any

from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.objects import ObjectKey


class ObjectsApi:
    """All calls raise ApiError's tree, UnreachableError, and KindAbsentError for a kind that is not served."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def get(self, key: ObjectKey) -> dict[str, Any]:
        """Raises NotFoundError."""
        return await self._call("GET", key)

    async def replace(self, key: ObjectKey, body: object) -> dict[str, Any]:
        """Raises ConflictError if the object has changed since `body` was read."""
        return await self._call("PUT", key, body)

    async def replace_status(self, key: ObjectKey, body: object) -> dict[str, Any]:
        """Writes the status of `body` only. Raises ConflictError as `replace` does."""
        return await self._call("PUT", key, body, "status")

    async def has_status(self, key: ObjectKey) -> bool:
        """Whether the kind has the status subresource."""
        return "status" in (await self._discovery.resource(key.gvk)).subresources

    async def _call(
        self, method: str, key: ObjectKey, body: object = None, subresource: str = ""
    ) -> dict[str, Any]:
        resource = await self._discovery.resource(key.gvk)
        path = resource.path(key.namespace, key.name, subresource)
        answer = await (
            self._client.request(method, path) if body is None else self._client.request(method, path, body=body)
        )
        return dict(answer)
