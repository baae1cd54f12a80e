"""What was started in a directory: written down for whoever comes next."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from runner.dev.plane.components import AuditLevel, Options
from runner.dev.plane.layout import Ports


@dataclass(frozen=True)
class State:
    """The ports and options of a start; `ready` once it has gone through to its end."""

    ports: Ports
    options: Options
    ready: bool


def read(file: Path) -> State | None:
    """The state in `file`; None where there is none, or none that makes sense."""
    try:
        content = json.loads(file.read_text())
        audit = content["options"]["audit"]
        options = Options(
            keep=bool(content["options"]["keep"]), audit=AuditLevel(audit) if audit is not None else None
        )
        return State(Ports(**content["ports"]), options, bool(content["ready"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(file: Path, state: State) -> None:
    """Replace `file` as a whole."""
    partial = file.with_name(file.name + ".partial")
    partial.write_text(json.dumps(asdict(state), indent=2) + "\n")
    partial.rename(file)
