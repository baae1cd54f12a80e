"""Performs a file of a role's tasks for a review: as a run, which may read the cluster and change nothing."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from runner.config.watches import Watch
from runner.errors import BusyError, RunError
from runner.execute.executor import Executor
from runner.execute.failure import Failure, failed
from runner.execute.outcome import Ending, Outcome
from runner.execute.run import Event, Run
from runner.execute.variables import extra_vars
from runner.objects import ObjectKey, Owner
from runner.serve.admission.review import Review
from runner.serve.grants import Grant, Purpose

PATIENCE = 2.5
"""Seconds that a review waits for its turn, so that the API server hears of it in time."""
LIMIT = 5.0
"""Seconds that the tasks may take, once it is their turn."""
WAITING = 32
"""Reviews that wait; there is no turn within PATIENCE for more."""
REST = 3.0
"""So many times what the tasks took, the turn stays nobody's: while reconciles want the processors, too."""
BUSY = "as many reviews are under way as may be: try again"


@dataclass(frozen=True, slots=True)
class Performed:
    """`refusals` are the role's own words, `warnings` are passed on, `data` is what was published."""

    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


class Tasks:
    """At most `at_once` at a time, and with a pause between two of them while `reconciling` names anything.

    `executor` is for reviews alone; `grant` gives what lets one pass the proxy.
    """

    def __init__(
        self,
        executor: Executor,
        grant: Callable[[Owner, Purpose], Grant],
        *,
        at_once: int,
        reconciling: Callable[[], Collection[object]],
        ansible_args: str = "",
    ) -> None:
        self._executor = executor
        self._grant = grant
        self._reconciling = reconciling
        self._turns = asyncio.Semaphore(at_once)
        self._waiting = 0
        self._ansible_args = ansible_args
        self._numbers = itertools.count(1)

    async def perform(self, watch: Watch, tasks: str, review: Review) -> Performed:
        """What the tasks came to.

        Raises BusyError where there is no turn for them, RunError where they came to no verdict.
        """
        async with self._turn():
            outcome, warnings = await self._run(watch, tasks, review)
        if outcome.ending is Ending.DEADLINE:
            raise RunError(f"the tasks took longer than {LIMIT:g} s")
        written = [failure for failure in outcome.failures if failure.written]
        if not outcome.succeeded and not written:
            raise RunError(f"the tasks failed: {_told(outcome.failures)}")
        return Performed(tuple(failure.told for failure in written), tuple(warnings), outcome.data)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= WAITING:
            raise BusyError(BUSY)
        self._waiting += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await self._turns.acquire()
        except TimeoutError:
            raise BusyError(BUSY) from None
        finally:
            self._waiting -= 1
        began = time.monotonic()
        try:
            yield
        finally:
            rest = REST * (time.monotonic() - began) if self._reconciling() else 0.0
            asyncio.get_running_loop().call_later(rest, self._turns.release)

    async def _run(self, watch: Watch, tasks: str, review: Review) -> tuple[Outcome, list[str]]:
        """Of its own directory: reviews wait neither for a run of the object nor for each other."""
        number = f"review-{next(self._numbers)}"
        key = ObjectKey(watch.gvk, review.namespace, number)
        warnings: list[str] = []
        with self._grant(_owner(watch, review), Purpose.REVIEW) as grant:
            grant.only_reads()
            run = Run(
                ident=number,
                key=key,
                uid=review.uid,
                content=replace(watch.content, tasks=tasks),
                extra_vars=extra_vars(review.body, watch, finalizing=False, admission=review.facts).values,
                kubeconfig=grant.kubeconfig,
                verbosity=0,
                deadline=LIMIT,
                gather_facts=False,  # which takes longer than all the rest
                ansible_args=self._ansible_args,
            )
            try:
                outcome = await self._executor.run(run, lambda _, event: warnings.extend(warned(event)))
            finally:
                await self._executor.forget(key)
        return outcome, warnings


def warned(event: Event) -> list[str]:
    """What an event tells that the user should know: warnings of a module, and a refusal that is ignored."""
    data = event.get("event_data") or {}
    result = data.get("res")
    found = [str(text) for text in result.get("warnings") or ()] if isinstance(result, Mapping) else []
    if event.get("event") == "runner_on_failed" and data.get("ignore_errors"):
        failure = failed(data, text=str(event.get("stdout") or ""))
        found += [failure.told] if failure.written else []
    return found


def _owner(watch: Watch, review: Review) -> Owner:
    """An object that is being created has no uid yet, and is nobody's owner."""
    metadata = review.body["metadata"]
    name, uid = str(metadata.get("name") or ""), str(metadata.get("uid") or "")
    return Owner(watch.gvk, review.namespace, name, uid or f"review-of-{watch.gvk.kind}")


def _told(failures: tuple[Failure, ...]) -> str:
    return "; ".join(dict.fromkeys(failure.told for failure in failures)) or "they ended without a recap"
