"""Every error this package raises on purpose, as one tree.

The message of each is written for the person who reads it: what was wrong, where, what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class OperatorError(Exception):
    """The root: catch this to catch everything the operator raises on purpose."""


class SettingsError(OperatorError):
    """A flag or an environment variable that cannot be used."""


class UsageError(SettingsError):
    """Flags that do not go together: worth being shown with the usage."""


@dataclass(frozen=True)
class Problem:
    """One mistake in a file: where it is and what to do about it.

    `line` counts from 1; `field` is a path such as `[2].finalizer.name`; `rule` is that of `validate`.
    """

    file: str
    line: int
    field: str
    message: str
    rule: str = "watch-invalid"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " + (f"{self.field}: " if self.field else "")
        return where + self.message


class WatchesError(OperatorError):
    """watches.yaml cannot be used; `problems` holds every mistake that was found, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class ExpressionError(OperatorError):
    """A JMESPath expression that cannot be evaluated on what it was given."""


class ConversionError(OperatorError):
    """A custom resource whose spec cannot be converted to another version."""


class KubeError(OperatorError):
    """Something between us and the API server."""

    @property
    def transient(self) -> bool:
        """Whether trying again, on the object read anew, may help though nobody mends anything."""
        return False


class CredentialsError(KubeError):
    """No usable way to log in was found."""


class UnreachableError(KubeError):
    """No answer: connection refused, reset, cut or timed out."""

    @property
    def transient(self) -> bool:
        return True


class ApiError(KubeError):
    """The API server answered with an error; `status` is the HTTP status.

    `fields` are the paths of the fields that it found fault with, where it names them.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after: float | None = None,
        fields: Sequence[str] = (),
    ) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.fields = tuple(fields)
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")

    @property
    def transient(self) -> bool:
        """A conflict, an API server that asks for time, or one in trouble."""
        return self.status in (409, 429) or self.status >= 500


class NotFoundError(ApiError):
    """404: the object, or its kind, is not there."""


class ConflictError(ApiError):
    """409: somebody else wrote first, or the object exists already."""


class ForbiddenError(ApiError):
    """403: the operator's account may not do this."""


class UnauthorizedError(ApiError):
    """401: the credentials are not (or no longer) accepted."""


class GoneError(ApiError):
    """410: this resourceVersion is too old to continue from."""


class TooManyRequestsError(ApiError):
    """429: asked to wait; `retry_after` says how many seconds, where the server said so."""


class TooLargeError(ApiError):
    """413, or what etcd says through a 500: the object is larger than can be stored."""

    @property
    def transient(self) -> bool:
        return False


class InvalidError(ApiError):
    """422: the object does not satisfy its schema."""


class StaleError(KubeError):
    """A write found no such object, or no such subresource: what was known of it or its kind is out of date."""

    @property
    def transient(self) -> bool:
        return True


class NestedError(KubeError):
    """An object that is nested too deeply; `body` is what can be read of it, `fields` what cannot."""

    def __init__(self, levels: int, body: Mapping[str, Any], fields: Sequence[str]) -> None:
        self.body = dict(body)
        self.fields = tuple(fields)
        super().__init__(f"{' and '.join(fields)} is nested deeper than {levels} levels: make it flatter")


class LeadershipLostError(KubeError):
    """Another process may be the leader by now, so this one may not call the API server any more."""


class KindAbsentError(KubeError):
    """The API server does not serve this kind (yet)."""


class TooManyObjectsError(KubeError):
    """A list is longer than what may be read of it."""


class ListenError(OperatorError):
    """An address the operator was told to listen on, and cannot."""


class BodyError(OperatorError):
    """A request's body that cannot be given its owner, although the API server might accept it."""


class MediaTypeError(BodyError):
    """A request's body in a format that can't be read here."""


class UnownedError(OperatorError):
    """An object that cannot be given its owner for now: what its kind is cannot be found out."""


class ReviewError(OperatorError):
    """A review or conversion that is none, or that nobody here can answer."""


class DeepReviewError(ReviewError):
    """A review whose object is nested too deeply to be decoded."""


class MetricError(OperatorError):
    """A request to the user metrics API that cannot be met."""


class RunError(OperatorError):
    """A run that could not be started; nothing of it has run."""


class BusyError(RunError):
    """As many reviews are under way as may be, and there was no time to wait."""


class ExceededError(RunError):
    """The values of a review take more time or memory to validate than one review may have."""


class UnsureError(RunError):
    """As RunError, but an attempt to start the run could not be ended: it is not to be started in another way."""


class DevError(OperatorError):
    """The local control plane cannot do what was asked."""


class BinariesError(DevError):
    """A program of the control plane was found in none of the places that were tried."""


class ComponentError(DevError):
    """A component of the control plane ended while it was being started.

    `cause` is the line of its log that says why, `log_tail` is how the log ends.
    """

    def __init__(self, component: str, cause: str, log_tail: str) -> None:
        self.component = component
        self.log_tail = log_tail
        more = f"\nIts log ended with:\n{log_tail}" if len(log_tail.splitlines()) > 1 else ""
        super().__init__(f"{component} ended while it was being started: {cause}{more}")


class StreamError(KubeError):
    """The watch said something that cannot be continued from: an ERROR event, or a line that is not JSON."""


class ShortWatchError(KubeError):
    """The watch ended by itself, but far too early."""


_REFUSED_ACCOUNT = re.compile(
    r'[Uu]ser \\{0,4}"[^"]{0,300}" (?:\(groups=\[[^\]]{0,2000}\]\) )?(?:(cannot)|(is attempting)) '
)
"""As RBAC begins a refusal; the quotation marks may be escaped, where it stands within JSON."""
_UNRESOLVED_ROLES = re.compile(r": RBAC: [^\n]{0,2000}")
"""As RBAC ends a refusal if bindings of the account name roles that are not there."""


def without_account(text: str) -> str:
    """Name nobody in the text of a refusal: "the operator may not list resource ...".

    For Events and status of custom resources. Their readers need to know which permission lacks, and not which
    account and roles the operator has; that belongs into the operator's log.
    """
    text = _REFUSED_ACCOUNT.sub(lambda match: f"the operator {'may not' if match[1] else match[2]} ", text)
    return _UNRESOLVED_ROLES.sub("", text)
