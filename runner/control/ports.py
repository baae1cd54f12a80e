"""What deciding needs of the other rooms, as protocols; the manager passes the real things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from runner.objects import Body, ObjectKey, Owner
from runner.watches import Watch

Json = dict[str, Any]

Access = Callable[[Owner], AbstractContextManager[str]]
"""Entering yields the kubeconfig text of a run for this owner; leaving revokes it."""


class Objects(Protocol):
    """Live custom resources. Every method raises the ApiError tree; writes answer the stored object."""

    async def get(self, key: ObjectKey) -> Json: ...

    async def replace(self, key: ObjectKey, body: Json) -> Json: ...

    async def replace_status(self, key: ObjectKey, body: Json) -> Json: ...

    async def has_status(self, key: ObjectKey) -> bool: ...


class EventRecorder(Protocol):
    """Kubernetes Events about an object. Never blocks, never raises."""

    def record(
        self, key: ObjectKey, uid: str, kind_of: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None: ...


class ExtraVars(Protocol):
    """The variables of a run, and what about the object could not become one."""

    @property
    def values(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


class Variables(Protocol):
    """Makes the extra vars of a run from the object as it is. Pure."""

    def __call__(self, body: Body, watch: Watch, *, finalizing: bool) -> ExtraVars: ...
