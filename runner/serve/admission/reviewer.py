"""Reviews a custom resource: by the argument specs of its role, and by tasks of the role."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from runner.config.admission import FailurePolicy
from runner.config.watches import Watch
from runner.errors import BusyError, ExceededError, KubeError, NotFoundError, RunError
from runner.execute.specs import Specs, told
from runner.execute.variables import spec_vars
from runner.objects import ObjectKey
from runner.serve.admission.defaults import patch_for
from runner.serve.admission.review import MOST_VALUES, Review, Verdict, overfull
from runner.serve.admission.scale import SCALE, Read, Scaling
from runner.serve.admission.tasks import Performed

log = structlog.get_logger(__name__)

TIME = 9.0
"""Seconds that a review may take, less than the API server waits: its turn, the tasks, and their end."""
Decide = Callable[[Watch, Review], Awaitable[Verdict]]
Perform = Callable[[Watch, str, Review], Awaitable[Performed]]
TOO_MANY = (
    f"has more than {MOST_VALUES} values (each field and item is one), the most that can be reviewed in a spec:"
    " make it smaller, or keep the values elsewhere and name the place"
)
TOO_DEEP = "is nested too deeply: Ansible could not read it; make it flatter"


class Reviewer:
    """Comes to a verdict, or says what the failure policy says."""

    def __init__(self, specs: Specs, perform: Perform, read: Read) -> None:
        """`perform` is that of `Tasks`; `read` gives an object live."""
        self._specs = specs
        self._perform = perform
        self._scaling = Scaling(read)

    async def validate(self, watch: Watch, review: Review) -> Verdict:
        """Whether the custom resource may be stored as it is."""
        return await self._decided(watch, review, self._validated)

    async def default(self, watch: Watch, review: Review) -> Verdict:
        """What is added to its spec; nothing to a Scale, which has other fields."""
        if review.scales:
            return Verdict()
        return await self._decided(watch, review, self._defaulted)

    async def _decided(self, watch: Watch, review: Review, decide: Decide) -> Verdict:
        verdict = _at_once(watch, review)
        if verdict is not None:
            return verdict
        try:
            async with asyncio.timeout(TIME):
                whole = await self._scaling.applied(watch, review) if review.scales else review
                return _beyond_bounds(whole) or await decide(watch, whole)
        except NotFoundError:
            return Verdict()  # what is to be scaled: the API server says so
        except TimeoutError:
            return _undecided(watch, review, f"there was no verdict within {TIME:g} s")
        except (BusyError, ExceededError) as error:
            busy = isinstance(error, BusyError)
            return Verdict("busy", str(error)) if busy else Verdict("denied", f"spec: {error}")
        except (RunError, KubeError) as error:
            return _undecided(watch, review, str(error))

    async def _validated(self, watch: Watch, review: Review) -> Verdict:
        admission = watch.admission
        if admission is None:
            return Verdict()
        if admission.specs is not None:
            values = spec_vars(review.body, watch)
            mistakes = await self._specs.mistakes(admission.specs, values, templated=not watch.mark_unsafe)
            if mistakes:
                spec = review.body.get("spec")
                lines = [told(mistake, spec, snake_case=watch.snake_case) for mistake in mistakes]
                return Verdict("denied", "; ".join(lines))
        if not admission.tasks:
            return Verdict()
        found = await self._perform(watch, admission.tasks, review)
        if found.refusals:
            return Verdict("denied", "; ".join(found.refusals), found.warnings)
        return Verdict(warnings=found.warnings)

    async def _defaulted(self, watch: Watch, review: Review) -> Verdict:
        admission = watch.admission
        if admission is None or not admission.default:
            return Verdict()
        found = await self._perform(watch, admission.default, review)
        if found.refusals:
            return Verdict("denied", "; ".join(found.refusals), found.warnings)
        data = await self._specs.numbered(admission.specs, found.data) if admission.specs else found.data
        patch = patch_for(review.body, data, snake_case=watch.snake_case)
        return Verdict(warnings=found.warnings, patch=patch)


def _at_once(watch: Watch, review: Review) -> Verdict | None:
    """The verdict, where nobody has to be asked."""
    if not review.changes_anything:
        return Verdict()  # a finalizer can be removed whatever else is wrong with the object
    if review.gvk != (SCALE if review.scales else watch.gvk):
        return Verdict("denied", f"{review.gvk} is not reviewed here, but {watch.gvk}")
    return None


def _beyond_bounds(review: Review) -> Verdict | None:
    """A denial of an object that is too deep or too large for anybody to review."""
    if review.too_deep:
        return Verdict("denied", f"the object {TOO_DEEP}")
    field = overfull(review.body.get("spec"))
    return Verdict("denied", f"{field}: {TOO_MANY}") if field else None


def _undecided(watch: Watch, review: Review, why: str) -> Verdict:
    """What the failure policy says; never in silence."""
    policy = watch.admission.failure_policy if watch.admission else FailurePolicy.FAIL
    ignored = policy is FailurePolicy.IGNORE
    what = f"could not be reviewed, and was {'let through' if ignored else 'refused'} (failurePolicy: {policy})"
    key = ObjectKey(watch.gvk, review.namespace, review.called)
    about = {"kind": str(key.gvk), "namespace": key.namespace, "name": key.name, "policy": str(policy)}
    log.warning("a custom resource could not be reviewed", **about, why=why, said=f"{key}: {what}: {why}")
    if ignored:
        return Verdict("unreviewed", warnings=[f"not reviewed, and let through (failurePolicy: Ignore): {why}"])
    return Verdict("failed", f"{watch.gvk.kind} {key.name} could not be reviewed (failurePolicy: Fail): {why}")
