"""Reads and answers a ConversionReview object by object: never more than one of a list is decoded. Pure.

One object breaks no other: one that is nested too deeply to be decoded is answered by its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from runner.config.watches import Watch
from runner.errors import ReviewError
from runner.kube.answers import shallow
from runner.objects import LEVELS, GroupVersionKind, ObjectKey
from runner.serve.admission.conversion import Json, convert
from runner.serve.admission.jsontext import Span, Text, decoded, find, items, value_at
from runner.serve.admission.review import LONGEST_UID

API_VERSION, KIND = "apiextensions.k8s.io/v1", "ConversionReview"
LEVELS_OF_GO = 9_990
"""Levels of an object in an answer: the API server reads 10,000, three of which are the answer's own."""


class Request(NamedTuple):
    """A request to convert the array of objects that begins at `objects` in `text`."""

    uid: str
    api_version: str
    text: Text
    objects: int


class Answered(NamedTuple):
    """The text of one object in the version of the request; `why` says why its spec is not converted."""

    text: bytes
    key: ObjectKey
    why: str


def parse(text: Text) -> Request:
    """Raises ReviewError for a text that is no ConversionReview."""
    try:
        kind = (decoded(text, find(text, 0, "apiVersion")), decoded(text, find(text, 0, "kind")))
        uid = decoded(text, find(text, 0, "request", "uid"))
        api_version = decoded(text, find(text, 0, "request", "desiredAPIVersion"))
        objects = find(text, 0, "request", "objects")
    except (ValueError, RecursionError) as error:
        raise ReviewError(f"not JSON: {error}") from error
    if kind != (API_VERSION, KIND):
        raise ReviewError(f"the review is {KIND} of {API_VERSION}, not {str(kind[1])[:80]} of {str(kind[0])[:80]}")
    if not isinstance(uid, str) or not 0 < len(uid) <= LONGEST_UID:
        raise ReviewError("the request has no uid")
    if not isinstance(api_version, str) or objects is None or text[objects : objects + 1] != b"[":
        raise ReviewError("the request has no desiredAPIVersion, or no objects")
    return Request(uid, api_version, text, objects)


def converted(request: Request, watches: Mapping[tuple[str, str], Watch]) -> Iterator[Answered]:
    """Each object of the request in turn; `watches` by group and kind.

    Raises ReviewError for a kind or version that watches.yaml does not convert, and for text that is no object.
    """
    try:
        for span in items(request.text, request.objects):
            yield _converted(request.text, span, request.api_version, watches)
    except ValueError as error:
        raise ReviewError(f"not JSON: {error}") from error


def opening(request: Request) -> bytes:
    """The answer up to its first object; a comma goes between two."""
    head = {"apiVersion": API_VERSION, "kind": KIND, "response": {"uid": request.uid, "convertedObjects": []}}
    return json.dumps(head).encode().removesuffix(b"]}}")


def closing(failure: str = "") -> bytes:
    """The rest of the answer; with a failure the API server ignores all objects before it."""
    result = {"status": "Failed", "message": failure} if failure else {"status": "Success"}
    return b'], "result": ' + json.dumps(result).encode() + b"}}"


def _converted(text: Text, span: Span, wanted: str, watches: Mapping[tuple[str, str], Watch]) -> Answered:
    body, why = _decoded(text, span)
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        raise ReviewError("an object to convert is a map with metadata")
    gvk = GroupVersionKind.of(str(body.get("apiVersion") or ""), str(body.get("kind") or ""))
    group, _, version = wanted.rpartition("/")
    watch = watches.get((gvk.group, gvk.kind))
    if watch is None or group != gvk.group:
        raise ReviewError(f"{gvk} is not converted here to {wanted}")
    result = convert(body, watch, version)  # of a head, too: its version has to be in watches.yaml
    key = ObjectKey(gvk, *(str(body["metadata"].get(name) or "") for name in ("namespace", "name")))
    if not why:
        try:
            return Answered(json.dumps(result.body, allow_nan=False).encode(), key, result.why)
        except (ValueError, RecursionError) as error:
            why = f"{type(error).__name__}: {error}"
    return Answered(_relabelled(text, span, wanted), key, why)


def _decoded(text: Text, span: Span) -> tuple[object, str]:
    """The object; or only its head, and why it could not be decoded. Raises ValueError."""
    if span.depth <= LEVELS:
        try:
            return json.loads(text[span.start : span.end]), ""
        except (ValueError, RecursionError) as error:
            why = f"{type(error).__name__}: {error}"
    else:
        why = f"nested deeper than {LEVELS} levels"
    head: Json = {name: decoded(text, find(text, span.start, name)) for name in ("apiVersion", "kind")}
    metadata = {name: decoded(text, find(text, span.start, "metadata", name)) for name in ("namespace", "name")}
    return {**head, "metadata": metadata}, why


def _relabelled(text: Text, span: Span, api_version: str) -> bytes:
    """The text of the object with another apiVersion, and nothing else changed.

    Only what the API server could not read again, because it is nested too deeply for Go, is null.
    """
    start = find(text, span.start, "apiVersion")
    if start is None:
        raise ReviewError("an object to convert has an apiVersion")
    version = json.dumps(api_version).encode()
    whole = b"".join((text[span.start : start], version, text[value_at(text, start).end : span.end]))
    return shallow(whole, LEVELS_OF_GO)[0] if span.depth > LEVELS_OF_GO else whole
