"""Takes out of an observation what stock Ansible leaves to chance in cases whose `case.yml` says so."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runner.execute.run import Event
from tests.corpus.case import Case

_POLL = "runner_on_async_poll"
_ENDED = ("runner_on_async_ok", "runner_on_async_failed")
_PLACED = ("counter", "start_line", "end_line", "path")
"""What depends on how many events there were before."""


@dataclass(frozen=True, slots=True)
class Chance:
    """`unordered` events are sorted; `polls` maps the uuid of each poll that is left out to its line of output."""

    unordered: bool
    polled: bool
    polls: dict[str, str]

    def kept(self, events: Iterable[Event]) -> list[Event]:
        """The events without the polls."""
        return [event for event in events if event["uuid"] not in self.polls]

    def keeps_file(self, path: str) -> bool:
        """Whether the file of an event is none of a poll."""
        return not any(uuid in path for uuid in self.polls)

    def without_polls(self, text: str) -> str:
        """The output without the lines of the polls."""
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if line.rstrip("\r\n") not in self.polls.values())

    def arranged(self, events: list[Any]) -> list[Any]:
        """Normalised events; without their places, and sorted, where chance decides on those."""
        if not (self.unordered or self.polled):
            return events
        bare = [{key: value for key, value in event.items() if key not in _PLACED} for event in events]
        return sorted(bare, key=lambda event: json.dumps(event, sort_keys=True)) if self.unordered else bare


def chance_of(case: Case, events: Iterable[Event]) -> Chance:
    """What is left to chance in these events. Polls of a job that does not end in time are none of it."""
    polls: dict[str, str] = {}
    if case.polled:
        ended = {event["event_data"]["jid"] for event in events if event["event"] in _ENDED}
        polls = {
            event["uuid"]: event["stdout"]
            for event in events
            if event["event"] == _POLL and event["event_data"]["jid"] in ended
        }
    return Chance(case.unordered, case.polled, polls)
