"""Marks: the proof that a run of a custom resource created or adopted an object. Pure.

A mark is an annotation that holds the custom resource's UID and a keyed hash over that UID and the object's own
group, kind, namespace and name. A copy of the object under another name carries a mark that doesn't fit, and
without the key nobody can make one that does.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass

from runner.objects import PREFIX, GroupVersionKind

MARK = PREFIX + "prune-mark"
"""The annotation on an object: `<UID of the custom resource>.<hash>`."""
_BYTES = 24
"""Of a hash; more makes each object in memory larger, and nothing safer."""


@dataclass(frozen=True, slots=True)
class ObjectName:
    """An object for all time and in every version: what a mark is made for."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, gvk: GroupVersionKind, namespace: str, name: str) -> ObjectName:
        return cls(gvk.group, gvk.kind, namespace, name)


class Marks:
    """Makes marks with a secret key, and recognises them."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def mark(self, uid: str, name: ObjectName) -> str:
        """The mark of an object that a run of the custom resource with this UID creates."""
        return f"{uid}.{self._hash('object', uid, name.group, name.kind, name.namespace, name.name)}"

    def creator(self, annotations: Mapping[str, str], name: ObjectName) -> str:
        """The UID of the custom resource whose run created the object; empty where nothing proves one."""
        mark = annotations.get(MARK, "")
        uid = claimed_creator(annotations)
        return uid if uid and _equal(mark, self.mark(uid, name)) else ""

    def signed(self, uid: str, text: str) -> str:
        """A text of the custom resource with this UID, with a hash that shows later that nobody changed it."""
        return f"{text};{self._hash('text', uid, text)}"

    def unsigned(self, uid: str, signed: str) -> str:
        """The text of `signed`; empty where it wasn't signed for this UID, or was changed since."""
        text, _, _ = signed.rpartition(";")
        return text if _equal(signed, self.signed(uid, text)) else ""

    def _hash(self, *parts: str) -> str:
        message = json.dumps(parts).encode()  # unambiguous, whatever the parts hold
        return urlsafe_b64encode(hmac.digest(self._key, message, "sha256")[:_BYTES]).decode()


def claimed_creator(annotations: Mapping[str, str]) -> str:
    """The UID that an object's mark names, whether or not it is proven; empty without a mark."""
    return annotations.get(MARK, "").rpartition(".")[0]


def _equal(one: str, other: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))
