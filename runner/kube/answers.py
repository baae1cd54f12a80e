"""What the API server's answers mean: JSON of any depth, a `Status` body, or anything a proxy may have said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from runner.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NestedError,
    NotFoundError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnreachableError,
)
from runner.objects import LEVELS

BY_STATUS: Mapping[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    413: TooLargeError,
    422: InvalidError,
    429: TooManyRequestsError,
}
TEXT_LIMIT = 300

_TOO_LARGE = ("etcdserver: request is too large", "trying to send message larger than max")
"""As the API server passes on what etcd, or its own client for it, has refused: with a 500 and no reason."""

_TOKEN = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")(\s*:)?|[{}\[\]]', re.DOTALL)


def shallow(text: bytes, levels: int = LEVELS) -> tuple[bytes, tuple[str, ...]]:
    """JSON with null for what is nested deeper than `levels`, and the fields at its top that lost something.

    Nothing in it recurses, so that no depth is too much for it.
    """
    parts: list[bytes] = []
    cut: dict[str, None] = {}
    field, depth, kept = "", 0, 0
    for token in _TOKEN.finditer(text):
        match token[0][:1]:
            case b"{" | b"[":
                depth += 1
                if depth == levels + 1:
                    parts += (text[kept : token.start()], b"null")
                    cut[field] = None
            case b"}" | b"]":
                if depth == levels + 1:
                    kept = token.end()
                depth -= 1
            case _ if depth == 1 and token[2]:
                field = token[1][1:-1].decode(errors="replace")
    return b"".join((*parts, text[kept:])), tuple(cut)


def decoded(text: bytes) -> Any:  # noqa: ANN401  (what JSON decodes to)
    """The value of JSON; what Python's decoder finds too deep is left out. Raises ValueError for anything else."""
    try:
        return json.loads(text)
    except RecursionError:
        return json.loads(shallow(text)[0])


def too_deep(text: bytes) -> tuple[str, ...]:
    """The fields at the top of an object that are nested deeper than LEVELS."""
    if text.count(b"{") + text.count(b"[") <= LEVELS:  # most objects: nothing to look for
        return ()
    return shallow(text)[1]


def error_of(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error for an HTTP answer; `retry_after` is the header of that name, in seconds (a date is ignored)."""
    found = _status_body(body)
    text = (
        str(found.get("message") or "") or body[:TEXT_LIMIT].decode("utf-8", "replace").strip() or "no explanation"
    )
    return _error(status, found, text, _seconds(retry_after))


def error_of_event(status_body: Mapping[str, Any]) -> ApiError:
    """The error for the object of a watch event of type ERROR."""
    text = str(status_body.get("message") or "a watch error without a message")[:TEXT_LIMIT]
    code = status_body.get("code")
    return _error(code if isinstance(code, int) and code else 500, status_body, text, None)


def _error(status: int, found: Mapping[str, Any], text: str, after: float | None) -> ApiError:
    details = found.get("details")
    details = details if isinstance(details, Mapping) else {}
    if after is None:
        after = _seconds(details.get("retryAfterSeconds"))
    kind = BY_STATUS.get(status, ApiError)
    if status == 500 and any(words in text for words in _TOO_LARGE):
        kind = TooLargeError
    reason, fields = str(found.get("reason") or ""), _fields(details.get("causes"))
    return kind(status, reason, text, retry_after=after, fields=fields)


def _fields(causes: object) -> tuple[str, ...]:
    items = causes if isinstance(causes, Sequence) else ()
    return tuple(str(cause["field"]) for cause in items if isinstance(cause, Mapping) and cause.get("field"))


def _status_body(body: bytes) -> Mapping[str, Any]:
    try:
        found = decoded(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and found.get("kind") == "Status" else {}


def _seconds(value: object) -> float | None:
    try:
        return max(0.0, float(str(value)))
    except ValueError:
        return None


def answered(body: bytes, host: str, *, whole: bool) -> Any:  # noqa: ANN401  (any JSON value)
    """What an answer of that host holds. Raises UnreachableError for what is not JSON.

    Levels below the deepest one are cut off or, if it is to be `whole`, a NestedError.
    """
    try:
        found = decoded(body) if body else None
    except ValueError:
        raise UnreachableError(f"{host} answered with something that is not JSON: is it an API server?") from None
    if whole and (fields := too_deep(body)):
        raise _nested(decoded(shallow(body)[0]), fields)
    return found


def _nested(body: Mapping[str, Any], fields: tuple[str, ...]) -> NestedError:
    """What is left can be read, and its status be written; managed fields mirror the depth of the others."""
    meta = {name: value for name, value in (body.get("metadata") or {}).items() if name != "managedFields"}
    kept = {name: value for name, value in body.items() if name in ("apiVersion", "kind", "status")}
    told = [field for field in fields if field != "metadata"] or ["metadata"]
    return NestedError(LEVELS, {**kept, "metadata": meta}, told)
