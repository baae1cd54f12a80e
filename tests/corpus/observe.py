"""Runs a case with any executor, and collects everything that can be seen of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

from runner.config.watches import Content
from runner.errors import RunError
from runner.execute.executor import Executor
from runner.execute.outcome import Outcome
from runner.execute.run import Event, Run
from runner.execute.rundir import DISCOVERY
from tests.corpus.case import Case
from tests.corpus.chance import Chance, chance_of
from tests.corpus.compare import Observation
from tests.corpus.executors import OWN_ARTIFACTS, served_by
from tests.corpus.files import tree, without_content
from tests.corpus.normal import Normal
from tests.corpus.stage import KEY, Stage

IDENT = "1"
DEADLINE = 120.0
KUBECTL_CACHE = ".kube/cache/http/*"  # answers of the API server, with their dates
API_DISCOVERY = f"*/{DISCOVERY}"  # what the API served when a run first asked; other tests define and remove kinds
_CUT = 150
"""Characters of a line of the tail that are looked at: it is cut before names of any length are made the same."""


async def observe(
    case: Case,
    executor: Executor,
    stage: Stage,
    *,
    kubeconfig: str = "",
    replaced: Mapping[str, str] | None = None,
) -> Observation:
    """Run `case`, which is laid out on `stage`, and look at all that it did.

    `replaced` maps texts that this run alone has (its namespace) to what stands for them.
    """
    events: list[Event] = []
    normal = Normal(replaced, case.volatile, numbered=not case.unordered)
    try:
        outcome = await executor.run(a_run(case, stage, kubeconfig), lambda _, event: events.append(dict(event)))
    except RunError as error:
        return Observation({}, [], {}, _files(stage, normal), error=normal.text(str(error)))
    artifacts = stage.rundir / "artifacts" / IDENT
    chance = chance_of(case, events)
    seen = [normal.event(event) for event in chance.kept(events)]
    return Observation(
        outcome=_outcome(outcome, normal, chance),
        events=chance.arranged(seen),
        artifacts=_artifacts(artifacts, seen, normal, chance),
        files=_files(stage, normal),
        served=served_by(artifacts),
    )


def a_run(case: Case, stage: Stage, kubeconfig: str = "") -> Run:
    """The run that `case` asks for."""
    return Run(
        ident=IDENT,
        key=KEY,
        uid="uid",
        content=Content(stage.project / case.content, is_role=case.is_role),
        extra_vars={"work": str(stage.work), "project": str(stage.project), **case.extra_vars},
        kubeconfig=kubeconfig or "kubeconfig text",
        verbosity=case.verbosity,
        deadline=DEADLINE,
        gather_facts=case.gather_facts,
        ansible_args=case.arguments,
    )


def _outcome(outcome: Outcome, normal: Normal, chance: Chance) -> dict[str, Any]:
    seen = asdict(outcome)
    for own in ("engine", "why_cold"):
        del seen[own]
    seen["tail"] = chance.without_polls(seen["tail"])
    if chance.unordered:
        seen["messages"] = sorted(seen["messages"])
        del seen["tail"]
    plain: dict[str, Any] = normal.value(seen)
    lines = str(plain.get("tail", "")).split("\n")
    return plain | {"tail": "\n".join(line[:_CUT] for line in lines)}


def _artifacts(directory: Path, told: list[Any], normal: Normal, chance: Chance) -> dict[str, Any]:
    """Every file. Of an event's, in the order of their numbers, only that it holds what the sink was told."""
    found = {path: entry for path, entry in tree(directory).items() if path not in OWN_ARTIFACTS}
    found["stdout"]["text"] = chance.without_polls(found["stdout"]["text"])
    of_events = sorted((path for path in found if path.startswith("job_events/")), key=_counter)
    entries = {path: found.pop(path) for path in of_events}
    stored: list[Any] = []
    for path, event in zip_longest(filter(chance.keeps_file, of_events), told):
        entry = entries.get(path or "", {})
        content = normal.event(json.loads(entry.pop("text", "null")) or {})
        as_told = {"content": "as told"} if content == event else {"content": content}
        stored.append({"path": normal.text(path or "none"), **normal.value(entry), **as_told})
    seen = {normal.text(path): _decoded(path, entry, normal) for path, entry in found.items()}
    if chance.unordered:
        seen["stdout"]["text"] = "\n".join(sorted(seen["stdout"]["text"].split("\n")))
    return {**seen, "job_events/": chance.arranged(stored)}


def _counter(path: str) -> tuple[int, str]:
    number = Path(path).name.partition("-")[0]
    return (int(number) if number.isdigit() else 0, path)


def _decoded(path: str, entry: Mapping[str, Any], normal: Normal) -> Any:
    if path == "command" or path.startswith("fact_cache/"):
        try:
            return normal.value({**entry, "text": json.loads(entry["text"])})
        except (KeyError, ValueError):
            pass
    return normal.value(entry)


def _files(stage: Stage, normal: Normal) -> dict[str, Any]:
    """Everything outside of the artifacts that the run may have left."""
    own = ("artifacts", "latest")
    kept = {name: tree(getattr(stage, name)) for name in ("work", "home", "project", "rundir")}
    kept["rundir"] = {path: entry for path, entry in kept["rundir"].items() if path.split("/")[0] not in own}
    kept["home"] = without_content(kept["home"], KUBECTL_CACHE)
    kept["tmp"] = without_content(tree(stage.runner / ".tmp"), API_DISCOVERY)
    seen: dict[str, Any] = normal.value(kept)
    return seen
