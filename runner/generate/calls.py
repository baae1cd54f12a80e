"""The API calls that runs were seen to make, as their artifacts tell, and what they say of a role's rules."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config.watches import Watch
from runner.errors import SettingsError
from runner.validate.clusterrole import Verbs

FILE = "run.json"
CALLS = "calls"
_OWNED = ("get", "list", "watch")
"""What the operator does with a kind that its runs create: it watches dependents, and reads what it asks for."""
_CREATING = frozenset({"create", "patch", "update"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call, and the run's custom resource: `Kind namespace/name`. The namespace is "" where it has none."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    kind: str
    by: str


def calls_below(path: Path) -> list[Call]:
    """What the runs below a directory, or one of them, have called. Raises SettingsError where there is none."""
    files = sorted(path.rglob(FILE)) if path.is_dir() else [path]
    found = [call for file in files for call in _of_file(file)]
    if not found:
        raise SettingsError(
            f"{path}: no run has left its calls there; name the --runner-dir of an operator that has run,"
            " or a copy of it"
        )
    return found


def _of_file(file: Path) -> Iterator[Call]:
    try:
        about: Any = json.loads(file.read_text(encoding="utf-8"))
        owner = "/".join(filter(None, (about.get("namespace"), about["name"])))
        for verb, group, resource, namespace, name in about.get(CALLS) or ():
            kind = str(about["kind"])
            yield Call(str(verb), str(group), str(resource), str(namespace), str(name), kind, f"{kind} {owner}")
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return  # half written, or somebody else's


def verbs_of(calls: Iterable[Call], watches: Collection[Watch]) -> Verbs:
    """What rules these calls need, and those of the operator that follow from them."""
    following = {watch.gvk.kind for watch in watches if watch.watch_dependents}
    found: Verbs = defaultdict(set)
    for call in calls:
        found[call.group, call.resource].add(call.verb)
        if call.verb in _CREATING and call.kind in following and "/" not in call.resource:
            found[call.group, call.resource].update(_OWNED)
    return found


def unused(content: Verbs, granted: Verbs) -> list[str]:
    """What files ask for and nothing grants: no run was seen to need it."""
    return [
        f"not granted, for no run has used it: {', '.join(sorted(lacking))} of {_shown(*resource)}"
        for resource, verbs in sorted(content.items())
        if (lacking := verbs - granted.get(resource, set()))
    ]


def untold(calls: Iterable[Call], known: Verbs) -> list[str]:
    """What runs have done and no file tells of, each with one that did it."""
    first: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for call in calls:
        if call.verb not in known.get((call.group, call.resource), set()):
            what = " ".join(filter(None, (call.namespace and f"in {call.namespace}", call.name)))
            first[call.group, call.resource].setdefault(call.verb, f"{call.by}{f' ({what})' if what else ''}")
    return [
        f"granted, though no file tells of it: {verb} of {_shown(*resource)}, by {by}"
        for resource, verbs in sorted(first.items())
        for verb, by in sorted(verbs.items())
    ]


def _shown(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


def elsewhere(calls: Iterable[Call], namespaces: Collection[str]) -> list[str]:
    """Calls that Roles in these namespaces do not allow: in another one, or a list of all."""
    return sorted(
        {
            f"not granted, for it is not in {', '.join(namespaces)}: {call.verb} of"
            f" {_shown(call.group, call.resource)} in {call.namespace}, by {call.by}"
            for call in calls
            if call.namespace and call.namespace not in namespaces
        }
    )
