"""What a run has seen of objects: those of its own as they were answered, and all that it has dealt with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import structlog

from runner.marks import Marks, ObjectName
from runner.objects import GroupVersionKind, ObjectKey, ObjectMeta, Owner, parse_meta
from runner.serve.forward import Target

KEPT = 8 * 1024 * 1024
"""Bytes of a run's own objects that are kept, as they were answered."""
_SERVER_ERROR, _TOO_MANY = 500, 429
_SHOWN = 200
MOST_UNMARKED = 1000
"""Objects without a mark that are kept of one run."""
Name = tuple[str, str, str]
"""Of an object, whatever group and version it is asked for in: plural of its kind, namespace, name."""

log = structlog.get_logger(__name__)


class Children:
    """The objects of one run's own: which it wrote, or read and is named by as their owner."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._kept: dict[str, tuple[int, dict[str, Any]]] = {}
        self._size = 0

    def bodies(self) -> tuple[dict[str, Any], ...]:
        return tuple(body for _, body in self._kept.values())

    def saw(self, method: str, body: object, size: int) -> None:
        meta = body.get("metadata") if isinstance(body, dict) else None
        uid = meta.get("uid") if isinstance(meta, dict) else None
        if not isinstance(body, dict) or not isinstance(meta, dict) or not isinstance(uid, str):
            return
        if uid == self._owner.uid or (method == "GET" and not self._owns(meta)):
            return
        self._size -= self._kept.pop(uid, (0, {}))[0]
        if method == "DELETE":
            return
        if self._size + size > KEPT:
            log.warning("object of a run left out of `children`: there are too many", kept=len(self._kept))
            return
        rest = {name: value for name, value in meta.items() if name != "managedFields"}
        self._kept[uid] = size, {**body, "metadata": rest}
        self._size += size

    def _owns(self, meta: dict[str, Any]) -> bool:
        refs = meta.get("ownerReferences")
        return isinstance(refs, list) and any(
            isinstance(ref, dict) and ref.get("uid") == self._owner.uid for ref in refs
        )


@dataclass(frozen=True, slots=True)
class Unmarked:
    """An object that a run wrote and that has no valid mark; `created` if the run's own request created it."""

    key: ObjectKey
    meta: ObjectMeta
    created: bool


class Touched:
    """The objects that a run has dealt with, by name or in a list, whatever the answer was.

    What it was shown without anybody looking (a stream, an answer in another format or too large, a list that was
    refused) may be any object of that kind: such kinds are `unclear`. `unmarked` are objects that the run wrote
    and that have no valid mark, as last answered; none without `marks`. `unanswered` names the first request that
    the API server failed to answer: the run may have taken that for an empty answer.
    """

    def __init__(self, marks: Marks | None = None) -> None:
        self.names: set[Name] = set()
        self.written: set[Name] = set()
        self.unmarked: dict[Name, Unmarked] = {}
        self.unanswered = ""
        self._marks = marks
        self._open: Counter[str] = Counter()

    def asked(self, method: str, target: Target) -> None:
        """The run makes a request; of one that names no object, `shown` has to say which it was about."""
        if target.name:
            self._add(method, (target.plural, target.namespace, target.name))
        elif method == "GET" or (method == "POST" and not target.dry_run):
            self._open[target.plural] += 1

    def shown(self, method: str, target: Target, body: object) -> None:
        """The answer to a request that named no object, in full; None for a list that names no owner."""
        if method not in ("GET", "POST"):
            return  # `asked` doesn't count it
        items = body.get("items") if isinstance(body, dict) else ()
        found = items if method == "GET" else [body]
        if not isinstance(found, list | tuple):
            return  # a table, or whatever else aggregated API servers have for a list
        for item in found:
            meta = item.get("metadata") if isinstance(item, dict) else None
            if isinstance(meta, dict) and isinstance(meta.get("name"), str):
                namespace = meta.get("namespace") or target.namespace
                self._add(method, (target.plural, str(namespace or ""), meta["name"]))
            elif method == "POST":
                return
        self._open[target.plural] -= 1

    def wrote(self, method: str, target: Target, body: object) -> None:
        """Note the answer to a successful write of one object."""
        if self._marks is None or target.subresource or not isinstance(body, dict):
            return
        meta = parse_meta(body)
        name = (target.plural, meta.namespace, meta.name)
        self.unmarked.pop(name, None)
        gvk = GroupVersionKind.of(str(body.get("apiVersion") or ""), str(body.get("kind") or ""))
        marked = self._marks.creator(dict(meta.annotations), ObjectName.of(gvk, meta.namespace, meta.name))
        if method != "DELETE" and meta.uid and not marked and len(self.unmarked) < MOST_UNMARKED:
            key = ObjectKey(gvk, meta.namespace, meta.name)
            self.unmarked[name] = Unmarked(key, meta, created=method == "POST")

    def failed(self, method: str, path: str, status: int) -> None:
        """Note that a request was answered with an error of the API server's, or of the way to it."""
        if not self.unanswered and (status >= _SERVER_ERROR or status == _TOO_MANY):
            self.unanswered = f"{method} {path.partition('?')[0][:_SHOWN]} was answered with {status}"

    def unclear(self, plural: str) -> bool:
        """Whether the run may have been shown any object of the kind with this plural."""
        return self._open[plural] > 0

    def _add(self, method: str, name: Name) -> None:
        self.names.add(name)
        if method in ("POST", "PUT", "PATCH"):
            self.written.add(name)
