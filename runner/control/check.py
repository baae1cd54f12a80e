"""Check runs: condition Drifted says what a real run would change, and nothing else of the object is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from runner.config.arguments import unquoted
from runner.control import status
from runner.control.attempt import Attempt, Result, Verdict
from runner.control.message import failure_message
from runner.control.plan import Perform
from runner.control.publish import Writer
from runner.control.request import DRIFT_ONLY
from runner.control.status import Condition, Moment, drifted
from runner.differences import Difference, summary
from runner.errors import KindAbsentError, KubeError, NotFoundError, RunError
from runner.execute.outcome import Ending, Outcome
from runner.execute.run import Run
from runner.objects import Body, Json

WOULD_CHANGE, IN_SYNC, CHECK_FAILED = "WouldChange", status.IN_SYNC, "CheckFailed"
_LONGEST = 1024
"""Characters of the message."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """What condition Drifted says: its status, reason and message."""

    status: str
    reason: str
    message: str


def unknown(cause: str) -> Finding:
    """The check run itself went wrong."""
    return Finding("Unknown", CHECK_FAILED, cause[:_LONGEST])


def finding(outcome: Outcome) -> Finding:
    """What a check run has found."""
    if not outcome.succeeded:
        return unknown(f"The check run failed: {failure_message(outcome)}")
    if outcome.differences:
        return Finding("True", WOULD_CHANGE, _listed(outcome.differences)[:_LONGEST])
    if outcome.uncompared:
        return unknown(f"The check run could not compare {'; '.join(outcome.uncompared)}")
    return Finding("False", IN_SYNC, status.NOTHING_WOULD_CHANGE)


def _listed(differences: Sequence[Difference]) -> str:
    return f"A run would change {len(differences)} object{'s' * (len(differences) > 1)}: {summary(differences)}"


def condition(body: Body, moment: Moment, found: Finding) -> dict[str, Any]:
    """The status of the object with what was found, and all else as it is."""
    wanted: Condition = {
        "type": status.DRIFTED,
        "status": found.status,
        "reason": found.reason,
        "message": found.message,
    }
    return drifted(body, moment, wanted)


def checking(run: Run) -> Run:
    """The same as a check run."""
    return replace(run, ansible_args=f"{unquoted(run.ansible_args)} --check --diff".strip())


def unless_drift(attempt: Attempt, result: Result) -> Result:
    """A check that never came to its run is no failure of the object: it is made anew when it is due again."""
    if result.verdict is Verdict.FAILED and attempt.run is None and attempt.request.triggers == DRIFT_ONLY:
        log.warning("object not checked for drift", key=str(attempt.key), error=attempt.failure)
        return Result(Verdict.CHECKED, attempt.watch.drift_period, next(iter(DRIFT_ONLY)), attempt.generation)
    return result


class Checking:
    """Performs check runs by `run`, which returns what came of one, and writes what they have found."""

    def __init__(self, writer: Writer, run: Callable[[Attempt, Json, Perform], Awaitable[Outcome]]) -> None:
        self._writer = writer
        self._run = run

    async def check(self, attempt: Attempt, body: Json, step: Perform) -> Result:
        """Nothing that goes wrong in it is a failure of the object."""
        try:
            outcome = await self._run(attempt, body, step)
            found = finding(outcome)
            if outcome.ending is Ending.CANCELLED:
                return Result(Verdict.CANCELLED, generation=attempt.generation)
        except RunError as error:
            found = unknown(f"The check run could not be started: {error}")
        finally:
            attempt.under_way = None
            attempt.stopwatch.lap("ansible")
        await self._write(attempt, body, found)
        attempt.stopwatch.lap("status")
        said = f"{attempt.key}: checked, {found.message}"
        log.info("Checked", key=str(attempt.key), drifted=found.status, message=found.message, said=said)
        return Result(Verdict.CHECKED, step.period, step.trigger, attempt.generation)

    async def _write(self, attempt: Attempt, body: Json, found: Finding) -> None:
        moment = attempt.moment
        try:
            await self._writer.status(
                attempt.key, attempt.watch, body, lambda current: condition(current, moment, found)
            )
        except (NotFoundError, KindAbsentError):
            raise
        except KubeError as error:  # the next check writes it
            log.warning("condition Drifted could not be written", key=str(attempt.key), error=str(error))
