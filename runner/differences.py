"""What a dry run says would become of an object: as it is, as it would be, and the fields that differ. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.objects import LEVELS, Body, Json

_OF_THE_SERVER = frozenset(
    {
        "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
        "resourceVersion", "selfLink", "uid",
    }
)  # fmt: skip
"""Of the metadata: what nobody but the API server decides."""
_SECRET = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation that holds the whole object once more."""
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
MASK = "***"


@dataclass(frozen=True, slots=True)
class Difference:
    """One object that a run would create (`before` is None), delete (`after` is None) or change.

    The bodies are as the API server answered, but for what only the server decides. `paths` are the fields that
    differ; there are none where the object would be created or deleted.
    """

    kind: str
    namespace: str
    name: str
    before: Json | None = field(repr=False)
    after: Json | None = field(repr=False)
    paths: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def difference(kind: str, live: Body | None, dry: Body | None) -> Difference | None:
    """What the dry run of one write would change; None where it would change nothing that counts."""
    known = dry or live or {}
    meta = known.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    before, after = (stored(body) if body is not None else None for body in (live, dry))
    found = paths(before, after) if before is not None and after is not None else ()
    if before == after or (before is not None and after is not None and not found):
        return None
    return Difference(kind, str(meta.get("namespace") or ""), str(meta.get("name") or ""), before, after, found)


def stored(body: Body) -> Json:
    """The object without its status and what only the API server decides."""
    meta = body.get("metadata")
    kept = {key: value for key, value in body.items() if key not in ("status", "metadata")}
    if isinstance(meta, Mapping):
        kept["metadata"] = {key: value for key, value in meta.items() if key not in _OF_THE_SERVER}
    return kept


def paths(before: object, after: object) -> tuple[str, ...]:
    """The fields in which they differ, such as `spec.template.spec.containers[0].image`, sorted by name.

    Lists of different lengths differ as a whole.
    """
    return tuple(_differing(before, after, "", LEVELS))


def _differing(before: object, after: object, path: str, levels: int) -> Iterator[str]:
    if before == after:
        return
    if levels and isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            yield from _differing(before.get(key), after.get(key), _below(path, str(key)), levels - 1)
    elif levels and isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from _differing(*pair, f"{path}[{place}]", levels - 1)
    else:
        yield path


def _below(path: str, key: str) -> str:
    if not set(key) <= _PLAIN:
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def masked(found: Difference) -> tuple[Json | None, Json | None]:
    """Both bodies as people may see them: without a Secret's values, which only show whether they differ."""
    before, after = found.before, found.after
    if (before or after or {}).get("kind") != "Secret":
        return before, after
    return _masked(before, after, "before"), _masked(after, before, "after")


def _masked(body: Json | None, other: Json | None, when: str) -> Json | None:
    if body is None:
        return None
    hidden = {name: _hidden(body[name], (other or {}).get(name), when) for name in _SECRET if name in body}
    meta = dict(body.get("metadata") or {})
    annotations = meta.get("annotations")
    if isinstance(annotations, Mapping) and _LAST_APPLIED in annotations:
        theirs = ((other or {}).get("metadata") or {}).get("annotations") or {}
        part = {_LAST_APPLIED: annotations[_LAST_APPLIED]}
        meta["annotations"] = {**annotations, **_hidden(part, theirs, when)}
    return {**body, **hidden, "metadata": meta}


def _hidden(values: object, others: object, when: str) -> Any:  # noqa: ANN401  (a map, or the mask)
    if not isinstance(values, Mapping):
        return MASK
    others = others if isinstance(others, Mapping) else {}
    return {
        key: f"{MASK} ({when})" if key in others and others[key] != value else MASK
        for key, value in values.items()
    }


def summary(differences: Iterable[Difference], *, objects: int = 5, fields: int = 3) -> str:
    """The objects and their first differing fields, in one sentence; never a value."""
    said = [_said(each, fields) for each in differences]
    more = f"; and {len(said) - objects} more" if len(said) > objects else ""
    return "; ".join(said[:objects]) + more


def _said(found: Difference, fields: int) -> str:
    if found.before is None:
        return f"{found} would be created"
    if found.after is None:
        return f"{found} would be deleted"
    more = f" and {len(found.paths) - fields} more" if len(found.paths) > fields else ""
    return f"{found}: {', '.join(found.paths[:fields])}{more}"
