"""The owner put into a Kubernetes protobuf body, which newer kubectl sends for built-in kinds. Pure.

No schema is needed: every kind that can be owned has its ObjectMeta as field 1, and protobuf merges a message
that occurs twice. So an ObjectMeta that holds nothing but the owner is appended.
Field numbers: k8s.io/apimachinery, pkg/runtime/generated.proto and pkg/apis/meta/v1/generated.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runner.errors import BodyError

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
RAW, CONTENT_ENCODING = 2, 3
"""Fields of the envelope, runtime.Unknown."""
METADATA = 1
NAME, ANNOTATIONS, OWNER_REFERENCES = 1, 12, 13
"""Fields of ObjectMeta."""
REFERENCE_FIELDS = {"kind": 1, "name": 3, "uid": 4, "apiVersion": 5}
VARINT, BYTES = 0, 2
"""Wire types: of numbers, and of strings and messages."""
FIXED = {1: 8, 5: 4}
"""The other wire types, and how many bytes they have."""
LONGEST_VARINT = 70
"""Bits: ten bytes of seven."""


def with_reference(body: bytes, reference: Mapping[str, str]) -> bytes | None:
    """The body with one more owner reference, unless its uid is named already; None if it is no such body.

    Raises BodyError for one that the API server might read although it is no plain envelope.
    """
    if reference["uid"].encode() in body and _names(body, reference["uid"].encode()):
        return body
    encoded = b"".join(_field(REFERENCE_FIELDS[key], value.encode()) for key, value in reference.items())
    return _with_metadata(body, _field(OWNER_REFERENCES, encoded))


def with_annotations(body: bytes, annotations: Mapping[str, str]) -> bytes | None:
    """The body with these annotations, which replace those of the same name; None if it is no such body.

    Raises BodyError as `with_reference` does.
    """
    entries = (_field(1, key.encode()) + _field(2, value.encode()) for key, value in annotations.items())
    return _with_metadata(body, b"".join(_field(ANNOTATIONS, entry) for entry in entries))


def name_of(body: bytes) -> str:
    """The object's name; empty where it has none, or this is no such body."""
    names = _values(body, (RAW, METADATA, NAME))
    return names[-1].decode(errors="replace") if names else ""  # protobuf takes the last of a field


def _with_metadata(body: bytes, metadata: bytes) -> bytes | None:
    if not body.startswith(MAGIC):
        return None
    fields = _envelope(body)
    added = _field(METADATA, metadata)
    return MAGIC + b"".join(
        _field(number, content + added if number == RAW else content) for number, content in fields
    )


def _envelope(body: bytes) -> list[tuple[int, bytes]]:
    """The fields of runtime.Unknown, which are strings and messages all."""
    try:
        fields = list(_fields(body[len(MAGIC) :]))
    except (IndexError, ValueError):
        raise BodyError(
            "this protobuf cannot be read: send JSON, or a runtime.Unknown with nothing else in it"
        ) from None
    if any(wire != BYTES or (number == CONTENT_ENCODING and content) for number, wire, content in fields):
        raise BodyError("this protobuf is encoded, or no runtime.Unknown: send it plain, or JSON")
    return [(number, content) for number, _, content in fields]


def _names(body: bytes, uid: bytes) -> bool:
    """Whether one of the owner references has this uid."""
    return uid in _values(body, (RAW, METADATA, OWNER_REFERENCES, REFERENCE_FIELDS["uid"]))


def _values(body: bytes, path: tuple[int, ...]) -> list[bytes]:
    """The contents of every field at this path of field numbers; nothing for what is no such body."""
    contents = [body[len(MAGIC) :]] if body.startswith(MAGIC) else []
    try:
        for level in path:
            contents = [content for each in contents for number, _, content in _fields(each) if number == level]
    except (IndexError, ValueError):
        return []
    return contents


def _fields(message: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, wire type and content of each field. Raises ValueError or IndexError for what is no message."""
    at = 0
    while at < len(message):
        tag, start = _varint(message, at)
        wire = tag & 7
        if wire == BYTES:
            size, start = _varint(message, start)
            at = start + size
        elif wire in FIXED:
            at = start + FIXED[wire]
        else:
            _, at = _varint(message, start)
        if wire not in (VARINT, BYTES, *FIXED) or at > len(message):
            raise ValueError("no message")
        yield tag >> 3, wire, message[start:at]


def _field(number: int, content: bytes) -> bytes:
    return _encoded(number << 3 | BYTES) + _encoded(len(content)) + content


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a position, and the position after it."""
    value = shift = 0
    while shift < LONGEST_VARINT:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("no number")


def _encoded(number: int) -> bytes:
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)
