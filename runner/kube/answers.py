"""What the API server's error answers mean: a `Status` body, or anything a proxy before it may have said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runner.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
)

BY_STATUS: Mapping[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: TooManyRequestsError,
}
TEXT_LIMIT = 300


def error_of(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error for an HTTP answer; `retry_after` is the header of that name, in seconds (a date is ignored)."""
    found = _status_body(body)
    text = found.get("message") or body[:TEXT_LIMIT].decode("utf-8", "replace").strip() or "no explanation"
    return _error(status, found, text, _seconds(retry_after))


def error_of_event(status_body: Mapping[str, Any]) -> ApiError:
    """The error for the object of a watch event of type ERROR."""
    text = str(status_body.get("message") or "a watch error without a message")[:TEXT_LIMIT]
    return _error(int(status_body.get("code") or 500), status_body, text, None)


def _error(status: int, found: Mapping[str, Any], text: str, after: float | None) -> ApiError:
    if after is None:
        after = _seconds((found.get("details") or {}).get("retryAfterSeconds"))
    kind = BY_STATUS.get(status, ApiError)
    return kind(status, str(found.get("reason") or ""), text, retry_after=after)


def _status_body(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and found.get("kind") == "Status" else {}


def _seconds(value: object) -> float | None:
    try:
        return max(0.0, float(str(value)))
    except ValueError:
        return None
