"""What was asked of the API server, by whom and when: its audit log, from a moment on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

OPERATOR = "ansible-operator"
"""How the operator itself names itself; what it does for runs has their clients' names."""
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_KUBERNETES = ("kube-", "kwok")


@dataclass(frozen=True, slots=True)
class Request:
    """One that was answered; `resource` is with its subresource, as in `pods/status`. `time` is of the answer."""

    verb: str
    resource: str
    namespace: str
    name: str
    user: str
    agent: str
    uri: str
    time: datetime

    @property
    def is_write(self) -> bool:
        """Whether it changed something, had it been allowed; a dry run does not."""
        return self.verb in WRITES and "dryRun=All" not in self.uri

    @property
    def by_kubernetes(self) -> bool:
        return self.agent.startswith(_KUBERNETES)


class AuditLog:
    """The audit log from now on."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = log.stat().st_size

    def requests(self, wanted: Callable[[Request], bool] = lambda _: True) -> list[Request]:
        """Those so far that are wanted; a watch is there as soon as it has begun."""
        return [request for request in self._all() if wanted(request)]

    def _all(self) -> Iterator[Request]:
        with self._log.open("rb") as log:
            log.seek(self._offset)
            for line in log:
                if line.endswith(b"\n"):
                    event = json.loads(line)
                    if event["stage"] == ("ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"):
                        yield _request(event)


def _request(event: dict[str, Any]) -> Request:
    about = event.get("objectRef") or {}
    parts = (about.get("resource", ""), about.get("subresource", ""))
    return Request(
        verb=event["verb"],
        resource="/".join(filter(None, parts)),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        user=event["user"]["username"],
        agent=event.get("userAgent", ""),
        uri=event["requestURI"],
        time=datetime.fromisoformat(event["stageTimestamp"]),
    )
