"""Whole objects, read live and written back: what a reconcile needs of the API and no more."""

from __future__ import annotations

from typing import Any, Unpack

from runner.kube.client import Client, Options
from runner.kube.discovery import Discovery
from runner.objects import GroupVersionKind, ObjectKey

STATUS_AGE = 60.0
"""Seconds for which a kind is believed to have no status subresource."""


class ObjectsApi:
    """All calls raise ApiError's tree, UnreachableError, and KindAbsentError for a kind that is not served."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def get(self, key: ObjectKey) -> dict[str, Any]:
        """Raises NotFoundError, and NestedError for an object that is nested too deeply."""
        return await self._call("GET", key, whole=True)

    async def replace(self, key: ObjectKey, body: object) -> dict[str, Any]:
        """Raises ConflictError if the object has changed since `body` was read."""
        return await self._call("PUT", key, body=body, whole=True)

    async def replace_status(self, key: ObjectKey, body: object) -> dict[str, Any]:
        """Writes the status of `body` only. Raises ConflictError as `replace` does.

        The answer may lack what is nested too deeply.
        """
        return await self._call("PUT", key, "status", body=body)

    async def has_status(self, key: ObjectKey) -> bool:
        """Whether the kind has the status subresource."""
        resource = await self._discovery.resource(key.gvk)
        if "status" not in resource.subresources:
            resource = await self._discovery.resource(key.gvk, max_age=STATUS_AGE)
        return "status" in resource.subresources

    def forget_kind(self, gvk: GroupVersionKind) -> None:
        """What is known of this kind is in doubt: it is looked up anew."""
        self._discovery.forget(gvk)

    async def _call(
        self, method: str, key: ObjectKey, subresource: str = "", **options: Unpack[Options]
    ) -> dict[str, Any]:
        resource = await self._discovery.resource(key.gvk)
        path = resource.path(key.namespace, key.name, subresource)
        return dict(await self._client.request(method, path, **options))
