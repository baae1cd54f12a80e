"""A custom resource in another version that its CRD serves, through the version of its watch. Pure.

What the maps of a watch cannot lead back is noted in an annotation, and restored on the way back, unless the
field it came from was changed meanwhile: so a round trip loses nothing, whatever the maps are.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from runner.config.expressions import search
from runner.config.watches import Watch
from runner.errors import ExpressionError, ReviewError
from runner.objects import PREFIX, Body, GroupVersionKind
from runner.serve.admission.review import request_of

API_VERSION, KIND = "apiextensions.k8s.io/v1", "ConversionReview"
LOST = f"{PREFIX}conversion"
"""By version, what its objects had that others do not: a list of [path, what the maps make of it, what it is]."""

Json = dict[str, Any]
Rules = Mapping[str, str]
Lost = list[list[Any]]


def answer(raw: bytes, watches: Mapping[tuple[str, str], Watch]) -> Json:
    """The ConversionReview to answer with; `watches` by group and kind. Raises ReviewError for what is none."""
    request = request_of(raw, API_VERSION, KIND)
    wanted, objects = request.get("desiredAPIVersion"), request.get("objects")
    if not isinstance(wanted, str) or not isinstance(objects, list):
        raise ReviewError("the request has no desiredAPIVersion, or no objects")
    response: Json = {"uid": request["uid"]}
    try:
        response["convertedObjects"] = [_converted(body, wanted, watches) for body in objects]
        response["result"] = {"status": "Success"}
    except (ReviewError, ExpressionError) as error:
        response["result"] = {"status": "Failed", "message": str(error)}
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def _converted(body: object, wanted: str, watches: Mapping[tuple[str, str], Watch]) -> Body:
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        raise ReviewError("an object to convert is a map with metadata")
    gvk = GroupVersionKind.of(str(body.get("apiVersion") or ""), str(body.get("kind") or ""))
    group, _, version = wanted.rpartition("/")
    watch = watches.get((gvk.group, gvk.kind))
    if watch is None or group != gvk.group:
        raise ReviewError(f"{gvk} is not converted here to {wanted}")
    return convert(body, watch, version)


def convert(body: Body, watch: Watch, version: str) -> Body:
    """The object in that version. Raises ReviewError for a version that is not known, ExpressionError."""
    hub, source = watch.gvk.version, GroupVersionKind.of(body["apiVersion"], "").version
    for name in (source, version):
        if name != hub and name not in watch.conversions:
            known = ", ".join((hub, *watch.conversions))
            raise ReviewError(f"{watch.gvk.kind} has no version {name} in watches.yaml: there are {known}")
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
        if _same(_at(made, path), plain):
            _put(made, path, real)
    plain = _mapped({**_without_spec(body), **made}, back, forth)
    lost = list(_differences(_at(plain, ["spec"]), _at(body, ["spec"]), ["spec"]))
    if lost:
        notes[source] = lost
    else:
        notes.pop(source, None)
    metadata = _with_notes(body["metadata"], notes)
    return {
        **_without_spec(body),
        "apiVersion": f"{group}/{version}" if group else version,
        "metadata": metadata,
        **made,
    }


def _without_spec(body: Body) -> Json:
    return {name: value for name, value in body.items() if name != "spec"}


def _spec_of(body: Body) -> Json:
    return {"spec": body["spec"]} if "spec" in body else {}


def _mapped(body: Body, rules: Rules, gone: Iterable[str]) -> Json:
    """The spec that the rules make of an object: without the fields that only the source has."""
    made: Json = copy.deepcopy(_spec_of(body))
    values = {name: search(expression, body) for name, expression in rules.items()}
    if isinstance(made.get("spec", {}), dict):
        for name in gone:
            _remove(made, ["spec", *name.split(".")])
        for name, value in values.items():
            if value is not None:
                _put(made, ["spec", *name.split(".")], [copy.deepcopy(value)])
    return made


def _at(tree: object, path: Iterable[str]) -> list[Any]:
    """The value there as the one item of a list; none where there is none."""
    for name in path:
        if not isinstance(tree, dict) or name not in tree:
            return []
        tree = tree[name]
    return [tree]


def _put(tree: Json, path: list[str], value: list[Any]) -> None:
    """Set what `_at` gives, or remove it."""
    if not value:
        _remove(tree, path, prune=False)
        return
    for name in path[:-1]:
        if not isinstance(tree.get(name), dict):
            tree[name] = {}
        tree = tree[name]
    tree[path[-1]] = value[0]


def _remove(tree: Json, path: list[str], *, prune: bool = True) -> None:
    """With the maps around it that this leaves empty, but for the spec."""
    inner = tree.get(path[0])
    if len(path) == 1:
        tree.pop(path[0], None)
    elif isinstance(inner, dict):
        had = bool(inner)
        _remove(inner, path[1:], prune=prune)
        if prune and had and not inner and path[0] != "spec":
            del tree[path[0]]


def _differences(made: list[Any], real: list[Any], path: list[str]) -> Iterator[list[Any]]:
    """Where what the maps make differs from what was: path, the one, the other; both as `_at` gives them."""
    if _same(made, real):
        return
    if made and real and isinstance(made[0], dict) and isinstance(real[0], dict):
        for name in sorted({*made[0], *real[0]}):
            yield from _differences(_at(made[0], [name]), _at(real[0], [name]), [*path, name])
        return
    yield [path, made, real]


def _same(one: object, other: object) -> bool:
    """Also of one type: for Python, 1 is True and 1.0."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _notes(body: Body) -> dict[str, Lost]:
    """What the annotation says; whoever may write the object may write anything there."""
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
    """A path below the spec, and two lists of at most one value."""
    if not isinstance(entry, list) or len(entry) != 3 or not all(isinstance(part, list) for part in entry):
        return False
    path, *values = entry
    names = all(isinstance(name, str) for name in path)
    return names and path[:1] == ["spec"] and all(len(value) <= 1 for value in values)


def _with_notes(metadata: Body, notes: Mapping[str, Lost]) -> Json:
    annotations = {name: text for name, text in _annotations(metadata).items() if name != LOST}
    if notes:
        annotations[LOST] = json.dumps(notes, separators=(",", ":"))
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**rest, "annotations": annotations} if annotations else rest
