"""Keeps what `no_log` hides hidden: ansible-core 2.19 and later still print the error of such a task in full.

Its result is censored when it reaches an event, but above it the text shows `[ERROR]: Task failed: <message>`,
with the values that the message was made of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from runner.execute.run import Event

_RESULT = re.compile(
    r"^(?:\x1b\[[0-9;]*m)?(?:ok|changed|skipping|failed|fatal|FAILED - RETRYING): \[", re.MULTILINE
)


def censored_stdout(event: Event) -> str:
    """The event's text; of a censored result only the line that shows the result, and what comes after it."""
    text = str(event.get("stdout") or "")
    if not is_censored(event):
        return text
    found = list(_RESULT.finditer(text))
    return text[found[-1].start() :] if found else ""


def is_censored(event: Event) -> bool:
    """Whether `no_log` hides the result that this event tells of."""
    result = (event.get("event_data") or {}).get("res")
    return isinstance(result, Mapping) and "censored" in result
