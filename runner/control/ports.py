"""What deciding needs of the other rooms, as protocols; the manager passes the real things."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from runner.config.watches import Watch
from runner.control.result import Stages, Verdict
from runner.execute.run import Executor, Outcome, Sink
from runner.objects import Body, GroupVersionKind, ObjectKey, Owner

Json = dict[str, Any]


class Permit(Protocol):
    """A run's way to the API: `kubeconfig` is the text of a file, `children` what it wrote or read of its own."""

    @property
    def kubeconfig(self) -> str: ...

    @property
    def children(self) -> tuple[Body, ...]: ...


Access = Callable[[Owner], AbstractContextManager[Permit]]
"""Entering permits a run for this owner; leaving revokes the permit."""


class Objects(Protocol):
    """Live custom resources. Every method raises the KubeError tree; writes answer the stored object.

    `get` raises NestedError for an object that is nested too deeply; `forget_kind` has its kind looked up anew.
    """

    async def get(self, key: ObjectKey) -> Json: ...

    async def replace(self, key: ObjectKey, body: Json) -> Json: ...

    async def replace_status(self, key: ObjectKey, body: Json) -> Json: ...

    async def has_status(self, key: ObjectKey) -> bool: ...

    def forget_kind(self, gvk: GroupVersionKind) -> None: ...


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


OnFinished = Callable[[ObjectKey, Watch, Stages, Outcome | None, Verdict], None]
"""Told of every reconcile that ended; the outcome is None where nothing was run."""


@dataclass(frozen=True, slots=True)
class World:
    """All that a reconciler acts on. `now` is the wall clock, `seconds` the one that times the stages."""

    objects: Objects
    executor: Executor
    recorder: EventRecorder
    access: Access
    extra_vars: Variables
    sink: Sink
    on_finished: OnFinished
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    seconds: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    randomness: Callable[[], float] = random.random
