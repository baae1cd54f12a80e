"""What a run leaves behind: the files of `artifacts/<ident>/`, as `ansible-runner run` writes them.

`latest` is a link to the run that ended last; rotation counts runs, not the link. The event files have the
names and content of ansible-runner's `Runner.event_callback`, with a third of its file operations (one open and
one rename an event), which are most of what a run costs the operator.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from runner.execute.outcome import Outcome, result_of
from runner.execute.output import EventDict
from runner.execute.run import Run
from runner.execute.rundir import private_directory, remove_tree, write_private

LATEST = "latest"
ABOUT = "run.json"
HIDDEN = "(hidden)"
_KNOWN = re.compile(
    r"(ANSIBLE|AWX|RUNNER|K8S_AUTH|KUBE|KUBERNETES|LC|PYTHON|XDG|OPERATOR|POD|WATCH|MAX)_?[A-Z0-9_]*"
    r"|PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|PWD|SHLVL|SHELL|TERM|HOSTNAME|VIRTUAL_ENV|_"
    r"|(NO|HTTP|HTTPS|ALL)_PROXY|(no|http|https|all)_proxy|ORIGINAL_STDOUT_CALLBACK"
)
_SECRET = re.compile(r"PASS|SECRET|TOKEN|KEY(?!_CHECKING)|CRED|API_?AUTH|PRIVATE")
_CREDENTIALS = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_MOST_FAILURES = 10
_BLOCK = 4096
Take = Callable[[int], bool]
About = dict[str, Any]
"""What `run.json` holds."""
_log = structlog.get_logger(__name__)


def _anything(_size: int) -> bool:
    return True


def allocated(size: int) -> int:
    """The bytes of the blocks that a file of so many bytes takes."""
    return -(-size // _BLOCK) * _BLOCK


def begin(artifacts: Path, command: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
    """Write what is known before the run: its command, and the empty files and directories it fills."""
    private_directory(artifacts)
    private_directory(artifacts / "job_events")
    described = {"command": list(command), "cwd": cwd, "env": described_environment(env)}
    write_private(artifacts / "command", json.dumps(described))
    write_private(artifacts / "stdout", "")
    write_private(artifacts / "stderr", "")  # stays empty: both streams are one, as on a terminal


def described_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of a run as its artifacts show them: what may be a secret of the operator's stays hidden."""
    return {name: value if _shown(name, value) else HIDDEN for name, value in env.items()}


def _shown(name: str, value: str) -> bool:
    return bool(_KNOWN.fullmatch(name)) and not _SECRET.search(name) and not _CREDENTIALS.search(value)


def started(artifacts: Path, run: Run, engine: str, why_cold: str) -> About:
    """Write why the run was started, how, and why that way, and return it; ansible-runner has no such files."""
    found = about(run, engine, why_cold, datetime.now(UTC))
    with contextlib.suppress(OSError):  # for people; the run is under way
        write_private(artifacts / "engine", f"{engine}: {why_cold}" if why_cold else engine)
        tell(artifacts, found)
    return found


def tell(artifacts: Path, found: About) -> None:
    """Write `run.json`; whoever reads it finds all of it or what was there before. Raises OSError."""
    unfinished = artifacts / f".{ABOUT}"
    write_private(unfinished, json.dumps(found))
    unfinished.replace(artifacts / ABOUT)


def about(run: Run, engine: str, why_cold: str, now: datetime) -> About:
    """What `run.json` says of a run that was started `now`; what is not known is left out."""
    found = {
        "id": run.ident,
        "apiVersion": run.key.gvk.api_version,
        "kind": run.key.gvk.kind,
        "namespace": run.key.namespace,
        "name": run.key.name,
        "uid": run.uid,
        "generation": run.generation,
        "content": str(run.content.path),
        "watches": run.watches,
        "check": "--check" in run.ansible_args.split(),
        "kept": max(0, run.max_artifacts),
        "engine": engine,
        "whyCold": why_cold,
        "started": _stamp(now),
        **run.why,
    }
    return {name: value for name, value in found.items() if value}


def over(found: About, outcome: Outcome, now: datetime, calls: Iterable[tuple[str, ...]] = ()) -> About:
    """The same of a run that ended `now`, with what came of it, and the API calls that it made."""
    stats = outcome.stats
    counts = {name: getattr(stats, name) for name in ("ok", "changed", "skipped", "failures")} if stats else {}
    came = {
        "seconds": round((now - datetime.fromisoformat(found["started"])).total_seconds(), 3),
        "tasks": counts,
        "changed": list(outcome.changed),
        "failures": [failure.told for failure in outcome.failures[:_MOST_FAILURES]],
        "calls": sorted(calls),
    }
    return {**found, "ended": _stamp(now), "result": result_of(outcome)} | {k: v for k, v in came.items() if v}


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def finish(artifacts: Path, status: str, return_code: int) -> None:
    """Write how the run ended, and make `latest` point to it."""
    write_private(artifacts / "status", status)
    write_private(artifacts / "rc", str(return_code))
    link = artifacts.with_name(f".{LATEST}-{artifacts.name}")
    link.unlink(missing_ok=True)
    link.symlink_to(artifacts)
    link.replace(artifacts.with_name(LATEST))


def rotate(directory: Path, keep: int, newest: str) -> list[str]:
    """Remove all but the `keep` newest runs, of which `newest` is one; below 1, none. Return those removed."""
    if keep < 1:
        return []
    runs = [entry for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)]
    runs.sort(key=lambda run: (run.name != newest, -run.stat(follow_symlinks=False).st_mtime_ns))
    for run in runs[keep:]:
        remove_tree(Path(run.path))
    return [run.name for run in runs[keep:]]


class StdoutFile:
    """The run's `stdout`. A disk that is full ends the file, with one log record, but not the run.

    `take` asks whether so many bytes may be written, and is asked no more once they may not.
    """

    def __init__(self, artifacts: Path, take: Take = _anything) -> None:
        self._take = take
        self._left_out = 0
        self._path = artifacts / "stdout"
        self._file = self._path.open("w", encoding="utf-8", errors="replace", newline="")
        self._broken = False

    def write(self, text: str) -> None:
        if self._left_out or not self._take(len(text) if text.isascii() else len(text.encode(errors="replace"))):
            self._left_out += len(text)
        elif not self._broken:
            self._attempt(lambda: self._file.write(text))

    def flush(self) -> None:
        if not self._broken:
            self._attempt(self._file.flush)

    def close(self) -> None:
        if self._left_out and not self._broken:
            note = f"({self._left_out} more characters were left out: the artifacts of this run became too large)"
            self._attempt(lambda: self._file.write(f"\n{note}\n"))
        self._attempt(self._file.close)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self._broken = True
            _log.warning(
                "cannot write the output of a run; the run goes on", path=str(self._path), error=str(error)
            )


class EventFiles:
    """The events of one run on disk. The uuids are those that `OutputReader` takes for one: never a path.

    `take` asks whether a file of so many bytes may be written.
    """

    def __init__(self, artifacts: Path, take: Take = _anything) -> None:
        self._take = take
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
        data = json.dumps(event).encode()
        if not self._take(allocated(len(data))):
            Path(partial).unlink(missing_ok=True)
            return
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)  # truncating costs more
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(data)
        os.rename(partial, f"{self._directory}/{event['counter']}-{event['uuid']}.json")  # noqa: PTH104  (half as long)

    def _partial(self, uuid: str) -> str:
        return f"{self._directory}/{uuid}-partial.json"
