"""The files of `job_events/`: Ansible writes what it knows of an event, we add its output and its number.

The same names and content as ansible-runner's `Runner.event_callback`, with a third of its file operations (one
open and one rename an event), which are most of what a run costs the operator.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class EventFiles:
    """The events of one run on disk."""

    def __init__(self, artifacts: Path, ident: str) -> None:
        self._directory = str(artifacts / "job_events")
        self._ident = ident

    def complete(self, event: dict[str, Any], part: dict[str, Any] | None = None) -> None:
        """Add to `event` what Ansible wrote of it, which is nothing for output outside of any task.

        `part` is that, or it is in a file. Raises OSError or ValueError when that cannot be read.
        """
        event["runner_ident"] = self._ident
        try:
            event.update(part or json.loads(Path(self._partial(event)).read_bytes()))
        except FileNotFoundError:
            event["created"] = datetime.now(UTC).isoformat()

    def store(self, event: dict[str, Any]) -> None:
        """Write the whole event over Ansible's part of it, which is shorter. Raises OSError."""
        partial = self._partial(event)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT, 0o600)  # truncating would cost more than the rest
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(json.dumps(event).encode())
        os.rename(partial, f"{self._directory}/{event['counter']}-{event['uuid']}.json")  # noqa: PTH104  (half as long)

    def _partial(self, event: dict[str, Any]) -> str:
        return f"{self._directory}/{event['uuid']}-partial.json"
