"""Applies a Scale to the custom resource that it scales, so that the whole object is reviewed."""

from __future__ import annotations

import copy
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from runner.config.watches import Watch
from runner.errors import ForbiddenError, NestedError, NotFoundError, RunError
from runner.objects import Body, GroupVersionKind, ObjectKey
from runner.serve.admission.review import Review

Read = Callable[[ObjectKey], Awaitable[Body]]
SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
USUAL = ".spec.replicas"
MAX_AGE = 60.0
"""Seconds for which the path in a CustomResourceDefinition is remembered."""


class Scaling:
    """Reads objects and definitions live; `read` gives an object by its key."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._paths: dict[GroupVersionKind, tuple[float, str]] = {}

    async def applied(self, watch: Watch, review: Review) -> Review:
        """The review of the object as it will be. Raises KubeError, and RunError where the field is not known."""
        live = await self._read(ObjectKey(watch.gvk, review.namespace, review.name))
        path = await self._path(watch.gvk, review.plural)
        if not path:
            path = _unconfirmed(watch, review, live)
        body: Any = copy.deepcopy(live)
        *outer, last = path.lstrip(".").split(".")
        inner = body
        for name in outer:
            inner = inner.setdefault(name, {}) if isinstance(inner, dict) else None
        if not isinstance(inner, dict):
            raise RunError(f"{path}, which is scaled, is not below a map")
        inner[last] = _replicas(review.body)
        return replace(review, gvk=watch.gvk, body=body, old=live, scales=False)

    async def _path(self, gvk: GroupVersionKind, plural: str) -> str:
        """The `specReplicasPath` of the kind's CustomResourceDefinition; "" where the account may not read it."""
        read_at, path = self._paths.get(gvk, (0.0, ""))
        if path and time.monotonic() - read_at < MAX_AGE:
            return path
        try:
            definition = await self._read(ObjectKey(DEFINITION, "", f"{plural}.{gvk.group}"))
        except (ForbiddenError, NotFoundError, NestedError):
            return ""
        path = specified(definition, gvk.version)
        self._paths[gvk] = time.monotonic(), path
        return path


def specified(definition: Body, version: str) -> str:
    """The `specReplicasPath` of a version; "" where it cannot be scaled."""
    versions = (definition.get("spec") or {}).get("versions") or ()
    found: Body = next((one for one in versions if one.get("name") == version), {})
    scale = (found.get("subresources") or {}).get("scale") or {}
    return str(scale.get("specReplicasPath") or "")


def _unconfirmed(watch: Watch, review: Review, live: Body) -> str:
    """The path that the watch names, or the usual one, if the object has the replicas of the old Scale there."""
    path = str(watch.crd.scale.get("specReplicasPath") or USUAL)
    value: Any = live
    for name in path.lstrip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if (value or 0) == _replicas(review.old):
        return path
    definition = f"{review.plural}.{watch.gvk.group}"
    raise RunError(
        f"which field is scaled is not known: it is not {path}. Let the operator's account get the"
        f" CustomResourceDefinition {definition}, or name specReplicasPath in crd.scale of the watch"
    )


def _replicas(scale: Body | None) -> Any:  # noqa: ANN401  (as it is in the request)
    """Go leaves out a zero."""
    spec = (scale or {}).get("spec")
    return spec.get("replicas", 0) if isinstance(spec, dict) else 0
