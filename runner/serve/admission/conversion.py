"""Converts a custom resource to another version that its CRD serves, through the version of its watch. Pure.

A field that the maps of a watch cannot lead back is noted in an annotation, and restored on the way back unless
the field it came from was changed meanwhile: a round trip loses nothing, whatever the maps are.

A stored object never fails here, because the API server fails the whole list for one object. A spec that cannot
be converted is carried over unchanged, and an annotation names the version that it still has. Recursion is bounded
by the depth of objects, which the caller checks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from runner.config.expressions import search
from runner.config.watches import Watch
from runner.errors import ConversionError, ExpressionError, ReviewError
from runner.objects import LEVELS, PREFIX, Body, GroupVersionKind

LOST = f"{PREFIX}conversion"
"""By version, fields of its objects that others lack: a list of [path, value after the maps, value]."""
UNCONVERTED = f"{PREFIX}unconverted"
"""The version whose spec an object still has, because that could not be converted."""
LARGEST_ANNOTATIONS = 256 * 1024
"""Bytes of all annotations of an object: the API server refuses a conversion, and so its whole list, with more."""
_LARGEST_NUMBER = 1 << 1023
"""Go reads a number as a float at last, and refuses the whole answer for one that is larger."""
_LONGEST_REASON = 200

Json = dict[str, Any]
Rules = Mapping[str, str]
Lost = list[list[Any]]


class Converted(NamedTuple):
    """An object in another version; `why` says why its spec could not be converted ("" if it was)."""

    body: Body
    why: str = ""


def convert(body: Body, watch: Watch, version: str) -> Converted:
    """The object in that version. Raises ReviewError for a version that watches.yaml does not have."""
    for name in (GroupVersionKind.of(body["apiVersion"], "").version, version):
        if not _is_version(watch, name):
            known = ", ".join((watch.gvk.version, *watch.conversions))
            raise ReviewError(f"{watch.gvk.kind} has no version {name} in watches.yaml: there are {known}")
    real = _real_version(body, watch)
    source = _labelled(body, watch.gvk.group, real, "")
    try:
        return Converted(_steps(source, watch, real, version))
    except (ConversionError, ExpressionError) as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001  (one object must not fail the list of its kind)
        why = f"{type(error).__name__}: {error}"
    return Converted(_labelled(body, watch.gvk.group, version, real), why[:_LONGEST_REASON])


def _is_version(watch: Watch, name: str) -> bool:
    return name == watch.gvk.version or name in watch.conversions


def _real_version(body: Body, watch: Watch) -> str:
    """The version whose spec the object has."""
    noted = _annotations(body["metadata"]).get(UNCONVERTED)
    return (
        noted
        if isinstance(noted, str) and _is_version(watch, noted)
        else GroupVersionKind.of(body["apiVersion"], "").version
    )


def _labelled(body: Body, group: str, version: str, real: str) -> Json:
    """The object as one of `version` that has the spec of `real`, which is noted if it is another."""
    annotations = {name: text for name, text in _annotations(body["metadata"]).items() if name != UNCONVERTED}
    noted = {**annotations, UNCONVERTED: real}
    if real not in ("", version) and _size(noted) <= LARGEST_ANNOTATIONS:
        annotations = noted
    metadata = _with_annotations(body["metadata"], annotations)
    return {**body, "apiVersion": f"{group}/{version}" if group else version, "metadata": metadata}


def _steps(body: Body, watch: Watch, source: str, version: str) -> Body:
    hub = watch.gvk.version
    if source not in (hub, version):
        rules = watch.conversions[source]
        body = _step(body, watch.gvk.group, hub, rules.back, rules.to)
    if version not in (hub, source):
        rules = watch.conversions[version]
        body = _step(body, watch.gvk.group, version, rules.to, rules.back)
    return body


def _step(body: Body, group: str, version: str, forth: Rules, back: Rules) -> Body:
    source = GroupVersionKind.of(body["apiVersion"], "").version
    notes = _notes(body)
    made = _mapped(body, forth, back)
    for path, plain, real in notes.pop(version, []):
        if _same(_at(made.tree, path), plain):
            made.put(path, real)
    plain = _mapped({**_without_spec(body), **made.tree}, back, forth)
    lost = list(_differences(_at(plain.tree, ["spec"]), _at(body, ["spec"])))
    if lost:
        notes[source] = lost
    else:
        notes.pop(source, None)
    return {
        **_without_spec(body),
        "apiVersion": f"{group}/{version}" if group else version,
        "metadata": _with_notes(body["metadata"], notes),
        **made.tree,
    }


def _without_spec(body: Body) -> Json:
    return {name: value for name, value in body.items() if name != "spec"}


class _Draft:
    """A spec under change. It shares all values with its source, and copies a map before it changes it."""

    def __init__(self, body: Body) -> None:
        self.tree: Json = {"spec": body["spec"]} if "spec" in body else {}
        self._copies: dict[int, Json] = {}

    def put(self, path: list[str], value: list[Any]) -> None:
        """Set the value that `_at` gives, or remove it. Raises ConversionError for one that Go cannot read."""
        if not value:
            self.remove(path, prune=False)
            return
        _check(value[0], LEVELS - len(path))
        tree = self.tree
        for name in path[:-1]:
            tree = self._changeable(tree, name)
        tree[path[-1]] = value[0]

    def remove(self, path: list[str], *, prune: bool = True) -> None:
        """Remove the value, and maps below the spec that this leaves empty."""
        if not _at(self.tree, path):
            return
        chain = [self.tree]
        for name in path[:-1]:
            chain.append(self._changeable(chain[-1], name))
        del chain[-1][path[-1]]
        for depth in range(len(chain) - 1, 1, -1):
            if not prune or chain[depth]:
                return
            del chain[depth - 1][path[depth - 1]]

    def _changeable(self, parent: Json, name: str) -> Json:
        inner = parent.get(name)
        if not isinstance(inner, dict) or id(inner) not in self._copies:
            inner = dict(inner) if isinstance(inner, dict) else {}
            self._copies[id(inner)] = inner  # kept, so that no other map gets its id
            parent[name] = inner
        return inner


def _mapped(body: Body, rules: Rules, gone: Iterable[str]) -> _Draft:
    """The spec that the rules make of an object: without the fields that only the source has."""
    draft = _Draft(body)
    if isinstance(draft.tree.get("spec", {}), dict):
        values = {name: search(expression, body) for name, expression in rules.items()}
        for name in gone:
            draft.remove(["spec", *name.split(".")])
        for name, value in values.items():
            if value is not None:
                draft.put(["spec", *name.split(".")], [value])
    return draft


def _check(value: object, levels: int) -> None:
    """Raises ConversionError for a value that the API server could not read, or that is deeper than that."""
    level = [value]
    while level:
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict | list):
                inner += item.values() if isinstance(item, dict) else item
            elif isinstance(item, float) and not math.isfinite(item):
                raise ConversionError("the maps make a number of it that JSON does not have")
            elif isinstance(item, int) and abs(item) >= _LARGEST_NUMBER:
                raise ConversionError("the maps make a number of it that is too large")
        levels -= any(isinstance(item, dict | list) for item in level)
        if levels < 0:
            raise ConversionError(f"the maps make it deeper than {LEVELS} levels")
        level = inner


def _at(tree: object, path: Iterable[str]) -> list[Any]:
    """The value there as the one item of a list; none where there is none."""
    for name in path:
        if not isinstance(tree, dict) or name not in tree:
            return []
        tree = tree[name]
    return [tree]


def _differences(made: list[Any], real: list[Any]) -> Iterator[list[Any]]:
    """Path, value and real value, as `_at` gives them, of each field that the maps make another."""
    pending = [(made, real, ["spec"])]
    while pending:
        made, real, path = pending.pop()
        if not (made and real and isinstance(made[0], dict) and isinstance(real[0], dict)):
            if not _same(made, real):
                yield [path, made, real]
            continue
        if len(path) >= LEVELS:
            raise ConversionError(f"the maps lose a field below more than {LEVELS} names")
        one, other = made[0], real[0]
        names = sorted({*one, *other}, reverse=True)
        differing = [name for name in names if name not in one or one[name] is not other.get(name, _NOTHING)]
        pending += [(_at(one, [name]), _at(other, [name]), [*path, name]) for name in differing]


_NOTHING = object()


def _same(one: object, other: object) -> bool:
    """Whether both are the same JSON; of one type as well, since for Python 1 is True and 1.0."""
    pending = [(one, other)]
    while pending:
        left, right = pending.pop()
        if left is right:
            continue
        if type(left) is not type(right):
            return False
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            pending += [(value, right[name]) for name, value in left.items()]
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pending += zip(left, right, strict=True)
        elif left != right:
            return False
    return True


def _notes(body: Body) -> dict[str, Lost]:
    """The notes of the annotation; whoever may write the object may write anything there."""
    text = _annotations(body["metadata"]).get(LOST, "")
    with suppress(ValueError, TypeError, RecursionError):
        notes = json.loads(text)
        if isinstance(notes, dict):
            return {name: [entry for entry in lost if _is_entry(entry)] for name, lost in notes.items()}
    return {}


def _annotations(metadata: Body) -> Body:
    annotations = metadata.get("annotations")
    return annotations if isinstance(annotations, dict) else {}


def _is_entry(entry: object) -> bool:
    """A path below the spec, of bounded length, and two lists of at most one value that JSON has."""
    if not isinstance(entry, list) or len(entry) != 3 or not all(isinstance(part, list) for part in entry):
        return False
    path, *values = entry
    names = len(path) <= LEVELS and all(isinstance(name, str) for name in path)
    if not names or path[:1] != ["spec"] or any(len(value) > 1 for value in values):
        return False
    try:
        _check(values, LEVELS - len(path) + 2)
    except ConversionError:
        return False
    return True


def _with_notes(metadata: Body, notes: Mapping[str, Lost]) -> Json:
    annotations = {name: text for name, text in _annotations(metadata).items() if name != LOST}
    if notes:
        annotations[LOST] = json.dumps(notes, separators=(",", ":"), allow_nan=False)
        if _size(annotations) > LARGEST_ANNOTATIONS:
            raise ConversionError(
                f"the maps lose more than an annotation can keep: {len(annotations[LOST]) // 1024} KiB"
            )
    return _with_annotations(metadata, annotations)


def _with_annotations(metadata: Body, annotations: Body) -> Json:
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**rest, "annotations": annotations} if annotations else rest


def _size(annotations: Body) -> int:
    """In bytes, as the API server counts them."""
    return sum(len(part.encode(errors="surrogatepass")) for pair in annotations.items() for part in map(str, pair))
