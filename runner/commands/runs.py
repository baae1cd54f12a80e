"""`runs`: the runs that have left their files, and what one of them did; without the API server."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.config.flags import RUN_FLAGS
from runner.errors import UsageError
from runner.execute.failure import shown_place
from runner.execute.history import INTERRUPTED, RUNNING, History, PastRun, events_of, places, shortest
from runner.execute.taskresults import UNENDED, TaskResult, task_results
from runner.objects import GroupVersionKind

SHOW = "show"
_TITLES = ("ID", "STARTED", "OBJECT", "TOOK", "HOW", "RESULT", "BECAUSE", "CHANGED")
_BECAUSE = 6
_LEAST = 24
"""Columns of a terminal that BECAUSE keeps at least."""
_MOST_PROBLEMS = 3
_MOST_LISTED = 10
_STAMP = "%Y-%m-%dT%H:%M:%SZ"
_RUNNER_DIR = next(flag for flag in RUN_FLAGS if flag.name == "runner-dir")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "%(prog)s [KIND [NAME]] [-n NAMESPACE] [-o json] [--all] [--runner-dir VALUE]\n"
        "       %(prog)s show ID [-o json] [--runner-dir VALUE]"
    )
    parser.add_argument("kind", nargs="?", default="", metavar="KIND", help="of the custom resource, or: show")
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="of it, or the beginning of an ID")
    parser.add_argument("-n", "--namespace", default="", metavar="VALUE", help="(default: all of them)")
    parser.add_argument(
        "-o", "--output", choices=("json",), metavar="json", help="all that is known, for programs"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also those of other projects, and those that a terminal has no room for",
    )
    usual = f"that of operators that run here, else {_RUNNER_DIR.default}"
    parser.add_argument("--runner-dir", metavar="VALUE", help=f"{_RUNNER_DIR.help} (default: {usual})")


def main(parsed: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print them; the exit code. Raises UsageError."""
    history = History(_roots(parsed.runner_dir))
    if parsed.kind == SHOW:
        _show(history, parsed.name, as_json=bool(parsed.output))
    else:
        _list(history, parsed)
    return 0


def _roots(given: str | None) -> list[Path]:
    if given is None:
        return places(Path(_RUNNER_DIR.default))
    if not Path(given).is_dir():
        raise UsageError(f"--runner-dir: there is no directory {given}")
    return [Path(given)]


def _list(history: History, parsed: argparse.Namespace) -> None:
    found = history.runs(parsed.name, parsed.namespace)
    own = found if parsed.all or parsed.runner_dir else of_project(Path.cwd(), found)
    runs = of_kind(parsed.kind, own)
    _tell_problems(history.problems)
    if parsed.output:
        sys.stdout.write(json.dumps([described(run) for run in runs], indent=2) + "\n")
    elif not runs:
        where = ", ".join(map(str, history.roots)) or f"{_RUNNER_DIR.default} (--runner-dir says where else)"
        _note(f"No such run is in {where}")
    else:
        _print(runs, whole=parsed.all)
    if len(own) < len(found):
        _note(f"Runs of other projects are left out, {len(found) - len(own)} of them: --all")


def _print(runs: list[PastRun], *, whole: bool) -> None:
    """The list; all of it on a terminal, too, if it is to be `whole`."""
    shown, width = runs, None
    if sys.stdout.isatty():
        width, height = shutil.get_terminal_size()
        shown = runs if whole else runs[: max(1, height - 4)]
    for line in table(shown, width, datetime.now(UTC)):
        sys.stdout.write(f"{line}\n")
    if len(shown) < len(runs):
        _note(f"... and {len(runs) - len(shown)} older ones: --all")
    for line in no_longer_there(runs):
        _note(line)


def of_project(directory: Path, runs: Sequence[PastRun]) -> list[PastRun]:
    """Those of the project in a directory; all of them where it holds none."""
    is_project = (directory / "watches.yaml").is_file()
    return [run for run in runs if not is_project or run.is_of(directory)]


def of_kind(word: str, runs: Sequence[PastRun]) -> list[PastRun]:
    """Those of objects whose kind kubectl would take `word` for; all for none. Raises UsageError."""
    found = [run for run in runs if not word or _gvk(run).is_meant(word, _names(run))]
    kinds = sorted({f"{_gvk(run).kind}.{_gvk(run).group}".rstrip(".") for run in found or runs})
    if word and runs and not found:
        raise UsageError(f"no such run is of a kind {word!r}: there are runs of {', '.join(kinds)}")
    return found


def _gvk(run: PastRun) -> GroupVersionKind:
    return GroupVersionKind.of(run.text("apiVersion"), run.text("kind"))


def _names(run: PastRun) -> list[str]:
    return [run.text("kind").lower(), *run.texts("names")]


def table(runs: Iterable[PastRun], width: int | None, now: datetime) -> Iterator[str]:
    """A line a run below their titles; on a terminal none wider than `width`, with their age for their start."""
    runs = list(runs)
    short = shortest(run.ident for run in runs)
    titles = tuple("AGE" if width and title == "STARTED" else title for title in _TITLES)
    rows = [titles, *((short(run.ident), _when(run, now, terminal=width is not None), *_row(run)) for run in runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES) - 1)]
    if width is not None:
        left = width - sum(widths[:_BECAUSE]) - 2 * len(_TITLES)
        widths[_BECAUSE] = min(widths[_BECAUSE], max(_LEAST, left * 3 // 5))
    for row in rows:
        cells = [_cut(cell, wide).ljust(wide) for cell, wide in zip(row, widths, strict=False)]
        line = "  ".join((*cells, row[-1])).rstrip()
        yield line if width is None else _cut(line, width)


def _when(run: PastRun, now: datetime, *, terminal: bool) -> str:
    return age((now - run.started).total_seconds()) if terminal else f"{run.started:{_STAMP}}"


def age(seconds: float) -> str:
    """In the largest unit that leaves two or more of it."""
    for unit, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * unit:
            return f"{seconds // unit:.0f}{letter}"
    return f"{max(0.0, seconds):.0f}s"


def _row(run: PastRun) -> tuple[str, ...]:
    took = "" if run.seconds is None else f"{run.seconds:.1f}s"
    check = " (check)" if run.about.get("check") else ""
    engine = f"{run.text('engine')}{check}"
    return run.object, took, engine, run.result, because(run), came_of(run)


def because(run: PastRun) -> str:
    """Why it took place, on a line."""
    return "; ".join(run.texts("because"))


def came_of(run: PastRun) -> str:
    """What it changed, or why it failed."""
    if run.result in (RUNNING, INTERRUPTED):
        return ""
    if failures := run.texts("failures"):
        return "; ".join(failures)
    names = run.texts("changed")
    more = run.count("changed") - len(names)
    return ", ".join((*names, *([f"and {more} more"] if names and more > 0 else []))) or "nothing"


def no_longer_there(runs: Iterable[PastRun]) -> Iterator[str]:
    """What the list cannot hold: of how many objects older runs have been removed."""
    kept: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        kept.setdefault((run.text("apiVersion"), run.object), []).append(run.kept)
    full = {most[0] for most in kept.values() if 0 < most[0] <= len(most)}
    if full:
        number = " or ".join(map(str, sorted(full)))
        yield f"Older runs are gone: the newest {number} of a custom resource are kept (maxRunnerArtifacts)"


def described(run: PastRun) -> dict[str, Any]:
    """For programs: `run.json`, with the result and the place of its artifacts."""
    return {**run.about, "result": run.result, "artifacts": str(run.artifacts)}


def _show(history: History, ident: str, *, as_json: bool) -> None:
    run = _chosen(history, ident)
    problems: list[str] = []
    results = task_results(events_of(run.artifacts, problems))
    _tell_problems(problems)
    if as_json:
        shown = {**described(run), "results": [asdict(task) for task in results]}
        sys.stdout.write(json.dumps(shown, indent=2) + "\n")
        return
    for line in (*about(run), "", *tasks(run, results)):
        sys.stdout.write(f"{line}\n")


def _chosen(history: History, ident: str) -> PastRun:
    if not ident:
        raise UsageError("of which run? Its ID, or the beginning of it, is in the first column of `runs`")
    found = history.identified(ident)
    if len(found) == 1:
        return found[0]
    _tell_problems(history.problems)
    if not found:
        raise UsageError(
            f"no run has an ID that begins with {ident}: of each custom resource the newest runs are kept, 20 "
            "where nothing else is asked for (maxRunnerArtifacts), and none of one that is gone"
        )
    listed = [f"{run.ident}  {run.object}" for run in found[:_MOST_LISTED]]
    listed += ["..."] if len(found) > len(listed) else []
    raise UsageError("\n  ".join([f"{len(found)} runs have an ID that begins with {ident}:", *listed]))


def about(run: PastRun) -> Iterator[str]:
    """What is known of a run beside its tasks."""
    generation = f", generation {run.text('generation')}" if run.text("generation") else ""
    yield f"Run {run.ident} of {run.object}{generation}"
    rows = [("because", reason) for reason in run.texts("because")]
    rows += [("started", _started(run)), ("result", _result(run))]
    rows += [("", failure) for failure in run.texts("failures")]
    rows += [("content", shown_place(run.text("content")))]
    rows += [("watches", run.text("watches"))] if run.text("watches") else []
    rows += [("output", str(run.artifacts / "stdout"))]
    before = ""
    for name, text in rows:
        yield f"  {name if name != before else '':8} {text}"
        before = name


def _started(run: PastRun) -> str:
    how = f"{run.text('engine')} ({run.text('whyCold')})" if run.text("whyCold") else run.text("engine")
    parts = [run.text("started"), how, "check mode" if run.about.get("check") else ""]
    parts += [f"attempt {run.text('attempt')}" if run.about.get("attempt") else ""]
    parts += [f"the run before {run.text('previous')}" if run.text("previous") else ""]
    return ", ".join(filter(None, parts))


def _result(run: PastRun) -> str:
    took = f" in {run.seconds:.1f}s" if run.seconds is not None else ""
    counts = [
        f"{run.count(name)} {word}"
        for name, word in (("ok", "ok"), ("changed", "changed"), ("skipped", "skipped"), ("failures", "failed"))
    ]
    unended = ", nobody knows when: the operator ended first" if run.result == INTERRUPTED and not took else ""
    return f"{run.result}{took}{unended}" + (f": {', '.join(counts)}" if run.about.get("tasks") else "")


def tasks(run: PastRun, results: Sequence[TaskResult]) -> Iterator[str]:
    """A line a task; below one that failed its message, unless the run's own failures tell it."""
    if not results:
        yield "  No task has begun."
    told = "\n".join(run.texts("failures"))
    words = [RUNNING if task.result == UNENDED and run.result == RUNNING else task.result for task in results]
    wide = max((len(task.name) for task in results), default=0)
    for word, task in zip(words, results, strict=True):
        took = "" if task.seconds is None else f"{task.seconds:.1f}s"
        yield f"  {word:11} {took:>7}  {task.name:{wide}}  {task.place}".rstrip()
        if task.message and not (task.place and task.place in told):
            yield from (f"{'':23}{line}" for line in task.message.splitlines())


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def _tell_problems(problems: Sequence[str]) -> None:
    for problem in problems[:_MOST_PROBLEMS]:
        _note(f"Left out: {problem}")
    if more := len(problems) - _MOST_PROBLEMS:
        _note(f"Left out: {more} more") if more > 0 else None


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
