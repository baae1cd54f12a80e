"""The owner put into a Kubernetes protobuf body, which newer kubectl sends for built-in kinds. Pure.

No schema is needed: every kind that can be owned has its ObjectMeta as field 1, and protobuf merges a message
that occurs twice. So an ObjectMeta that holds nothing but the owner is appended.
Field numbers: k8s.io/apimachinery, pkg/runtime/generated.proto and pkg/apis/meta/v1/generated.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
RAW, CONTENT_ENCODING = 2, 3
"""Fields of the envelope, runtime.Unknown."""
METADATA = 1
ANNOTATIONS, OWNER_REFERENCES = 12, 13
"""Fields of ObjectMeta."""
REFERENCE_FIELDS = {"kind": 1, "name": 3, "uid": 4, "apiVersion": 5}
BYTES = 2
"""The wire type of strings and messages."""


def with_reference(body: bytes, reference: Mapping[str, str]) -> bytes | None:
    """The body with one more owner reference, unless its uid is named already; None if it is no such body."""
    if _field(REFERENCE_FIELDS["uid"], reference["uid"].encode()) in body:
        return body
    encoded = b"".join(_field(REFERENCE_FIELDS[key], value.encode()) for key, value in reference.items())
    return _with_metadata(body, _field(OWNER_REFERENCES, encoded))


def with_annotations(body: bytes, annotations: Mapping[str, str]) -> bytes | None:
    """The body with these annotations, which replace those of the same name; None if it is no such body."""
    entries = (_field(1, key.encode()) + _field(2, value.encode()) for key, value in annotations.items())
    return _with_metadata(body, b"".join(_field(ANNOTATIONS, entry) for entry in entries))


def _with_metadata(body: bytes, metadata: bytes) -> bytes | None:
    if not body.startswith(MAGIC):
        return None
    try:
        fields = list(_fields(body[len(MAGIC) :]))
    except (IndexError, ValueError):
        return None
    if any(number == CONTENT_ENCODING and content for number, content in fields):
        return None
    added = _field(METADATA, metadata)
    return MAGIC + b"".join(
        _field(number, content + added if number == RAW else content) for number, content in fields
    )


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that has only strings and messages. Raises ValueError or IndexError for another."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        size, at = _varint(message, at)
        if tag & 7 != BYTES or at + size > len(message):
            raise ValueError("not an envelope")
        yield tag >> 3, message[at : at + size]
        at += size


def _field(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | BYTES) + _encoded(len(content)) + content


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _encoded(number: int) -> bytes:
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)
