"""The files of `job_events/`: Ansible writes what it knows of an event, we add its output and its number.

The same names and content as ansible-runner's `Runner.event_callback`, with a third of its file operations (one
open and one rename an event), which are most of what a run costs the operator.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from runner.execute.output import EventDict


class EventFiles:
    """The events of one run on disk. The uuids are those that `OutputReader` takes for one: never a path."""

    def __init__(self, artifacts: Path) -> None:
        self._directory = str(artifacts / "job_events")

    def part(self, uuid: str) -> Any | None:  # noqa: ANN401  (whatever the file holds)
        """What Ansible wrote of this event, None if it did not.

        Raises OSError, or ValueError or RecursionError, when that cannot be read.
        """
        try:
            return json.loads(Path(self._partial(uuid)).read_bytes())
        except FileNotFoundError:
            return None

    def store(self, event: EventDict) -> None:
        """Write the whole event over Ansible's part of it, which is shorter. Raises OSError."""
        partial = self._partial(event["uuid"])
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)  # truncating costs more
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(json.dumps(event).encode())
        os.rename(partial, f"{self._directory}/{event['counter']}-{event['uuid']}.json")  # noqa: PTH104  (half as long)

    def _partial(self, uuid: str) -> str:
        return f"{self._directory}/{uuid}-partial.json"
