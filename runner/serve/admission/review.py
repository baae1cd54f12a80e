"""An AdmissionReview: what is asked, and how it is answered. Pure."""

from __future__ import annotations

import base64
import json
import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.errors import DeepReviewError, ReviewError
from runner.objects import LEVELS, PRUNE_PLACES, Body, GroupVersionKind, nested_deeper

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
LONGEST_MESSAGE = 4096
"""Characters: kubectl shows all of it."""
LONGEST_WARNING = 256
"""Characters that the API server passes on of one warning; it keeps 4096 of all."""
MOST_WARNINGS = 15
LONGEST_UID = 128
MOST_VALUES = 20_000
"""Fields and items of a spec: more could not be validated in time."""
LONGEST_KEY = 80
"""Characters of a key in a message."""
_OLD_FORMAT = 2
"""Of marshal: plain, and without marks for values that are the same object."""


@dataclass(frozen=True, slots=True)
class Review:
    """One request to create or change `body`; `user` and `old` as the API server has them.

    `scales`: it is made through the scale subresource, and `body` is a Scale of the object called `name`. `plural`
    is the name of the kind's resource.
    """

    uid: str
    operation: str
    gvk: GroupVersionKind
    namespace: str
    body: Body
    old: Body | None
    user: Body
    dry_run: bool
    name: str = ""
    scales: bool = False
    plural: str = ""

    @property
    def being_deleted(self) -> bool:
        """As the API server has it stored: a request may set or leave out the timestamp, to no effect."""
        return bool(_metadata(self.old).get("deletionTimestamp"))

    @property
    def changes_anything(self) -> bool:
        """Whether there is anything to review, as the match condition of `config/webhooks.py` says it in CEL."""
        if self.operation == "CREATE" or self.old is None:
            return True
        if not _equal(self.body.get("spec"), self.old.get("spec")):
            return True
        return not self.being_deleted and not _equal(_reviewed_metadata(self.body), _reviewed_metadata(self.old))

    @property
    def called(self) -> str:
        """The object's name, or how the name that it will be given begins."""
        metadata = _metadata(self.body)
        return self.name or _text(metadata.get("name")) or _text(metadata.get("generateName"))

    @property
    def too_deep(self) -> bool:
        """Whether Ansible could not read it."""
        return nested_deeper(self.body, LEVELS) or nested_deeper(self.old, LEVELS)

    @property
    def facts(self) -> dict[str, Any]:
        """What tasks find in `ansible_operator_admission`."""
        told = {"operation": self.operation, "user": self.user, "dry_run": self.dry_run}
        return told | ({"old_object": self.old} if self.old is not None else {})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a review.

    `result` is allowed, denied, busy, or, where nobody could say, failed or unreviewed (and let through).

    `patch` holds the operations of a JSON patch.
    """

    result: str = "allowed"
    message: str = ""
    warnings: Sequence[str] = ()
    patch: Sequence[Mapping[str, Any]] = ()

    @property
    def allowed(self) -> bool:
        return self.result in ("allowed", "unreviewed")


def overfull(spec: object, most: int = MOST_VALUES) -> str:
    """The path of the innermost field with more values than that, each field and item being one; else ""."""
    path = ""
    inner: list[tuple[str, Any]] = [("spec", spec)]
    while larger := next(((name, value) for name, value in inner if _exceeds(value, most)), None):
        path += larger[0]
        inner = _named(larger[1]) if len(larger[1]) <= most else []
    return path


def _exceeds(value: object, most: int) -> bool:
    """Whether there are more values below this one. Does not recurse."""
    number, level = 0, [value]
    while level:
        inner = [item for item in level if isinstance(item, dict | list)]
        number += sum(map(len, inner))
        if number > most:
            return True
        level = [child for item in inner for child in (item.values() if isinstance(item, dict) else item)]
    return False


def _named(value: dict[str, Any] | list[Any]) -> list[tuple[str, Any]]:
    """The values in it, each with its part of a path."""
    if isinstance(value, dict):
        return [(f".{key[:LONGEST_KEY]}", item) for key, item in value.items()]
    return [(f"[{index}]", item) for index, item in enumerate(value)]


_STATUS = {
    "denied": (422, "Invalid"),
    "failed": (500, "InternalError"),
    "busy": (429, "TooManyRequests"),
}


def parse(raw: bytes) -> Review:
    """Raises ReviewError for what is no AdmissionReview that can be answered."""
    request = request_of(raw, API_VERSION, KIND)
    body, old = request.get("object"), request.get("oldObject")
    operation = request.get("operation")
    if operation not in ("CREATE", "UPDATE"):
        raise ReviewError(f"the operation is CREATE or UPDATE, not {_shown(operation)}")
    if not isinstance(body, dict) or not (old is None or isinstance(old, dict)):
        raise ReviewError("object and oldObject are maps")
    gvk = GroupVersionKind.of(_text(body.get("apiVersion")), _text(body.get("kind")))
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        raise ReviewError("the object has no metadata")
    return Review(
        uid=request["uid"],
        operation=operation,
        gvk=gvk,
        namespace=_text(request.get("namespace")),
        body=body,
        old=old,
        user=_mapping(request.get("userInfo")),
        dry_run=request.get("dryRun") is True,
        name=_text(request.get("name")),
        scales=request.get("subResource") == "scale",
        plural=_text(_mapping(request.get("resource")).get("resource")),
    )


def request_of(raw: bytes, api_version: str, kind: str) -> dict[str, Any]:
    """The `request` of a review, with a uid. Raises ReviewError."""
    try:
        review = json.loads(raw)
    except RecursionError as error:
        raise DeepReviewError(f"not JSON that can be read: {error}") from error
    except ValueError as error:
        raise ReviewError(f"not JSON: {error}") from error
    if not isinstance(review, dict):
        raise ReviewError(f"a review is a map, not {type(review).__name__}")
    found = (review.get("apiVersion"), review.get("kind"))
    if found != (api_version, kind):
        raise ReviewError(f"the review is {kind} of {api_version}, not {_shown(found[1])} of {_shown(found[0])}")
    request = review.get("request")
    if not isinstance(request, dict):
        raise ReviewError("the review has no request")
    uid = request.get("uid")
    if not isinstance(uid, str) or not 0 < len(uid) <= LONGEST_UID:
        raise ReviewError("the request has no uid")
    return request


def answer(uid: str, verdict: Verdict) -> dict[str, Any]:
    """The AdmissionReview to answer with."""
    response: dict[str, Any] = {"uid": uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        code, reason = _STATUS[verdict.result]
        response["status"] = {"code": code, "reason": reason, "message": verdict.message[:LONGEST_MESSAGE]}
        if verdict.result == "busy":
            response["status"]["details"] = {"retryAfterSeconds": 1}
    elif verdict.patch:
        patch = json.dumps(verdict.patch, separators=(",", ":")).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    if verdict.warnings:
        kept = list(dict.fromkeys(verdict.warnings))[:MOST_WARNINGS]
        response["warnings"] = [" ".join(warning.split())[:LONGEST_WARNING] for warning in kept]
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def _reviewed_metadata(body: Body) -> list[object]:
    """Labels, and annotations without the one that the operator itself writes."""
    metadata = _metadata(body)
    annotations = {k: v for k, v in _mapping(metadata.get("annotations")).items() if k != PRUNE_PLACES}
    return [_mapping(metadata.get("labels")), annotations]


def _equal(one: Any, other: Any) -> bool:  # noqa: ANN401  (any JSON value)
    """Compare decoded JSON, for which `==` may recurse too deeply. The order of keys counts: they come sorted."""
    return marshal.dumps(one, _OLD_FORMAT) == marshal.dumps(other, _OLD_FORMAT)


def _metadata(body: Body | None) -> Body:
    return _mapping((body or {}).get("metadata"))


def _mapping(value: object) -> Body:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: object) -> str:
    return str(value)[:80]
