"""The owner in a protobuf body, byte by byte."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import BodyError
from runner.kube.discovery import Resource
from runner.marks import MARK, Marks, ObjectName
from runner.objects import GroupVersionKind, Owner
from runner.serve import protobuf
from runner.serve.forward import Target
from runner.serve.ownership import Creation, Mechanism, injected, reference_to

OWNER = Owner(GroupVersionKind("", "v1", "A"), "shop", "n", "u-1")
TYPE = b"\x0a\x05\x0a\x01v\x12\x00"  # typeMeta, as sent first
OBJECT = b"\x0a\x03\x0a\x01c"  # metadata {name: c}
BODY = b"k8s\x00" + TYPE + b"\x12\x05" + OBJECT + b"\x1a\x00\x22\x00"
REFERENCE = b"\x2a\x02v1" + b"\x0a\x01A" + b"\x1a\x01n" + b"\x22\x03u-1"  # apiVersion 5, kind 1, name 3, uid 4


def test_an_owner_reference_is_appended_to_protobuf_as_a_second_metadata() -> None:
    metadata = b"\x6a\x0f" + REFERENCE  # field 13
    raw = OBJECT + b"\x0a\x11" + metadata
    expected = b"k8s\x00" + TYPE + b"\x12" + bytes([len(raw)]) + raw + b"\x1a\x00\x22\x00"
    assert protobuf.with_reference(BODY, reference_to(OWNER)) == expected


def test_annotations_are_appended_to_protobuf_as_map_entries() -> None:
    raw = OBJECT + b"\x0a\x08" + b"\x62\x06\x0a\x01k\x12\x01v"  # field 12
    expected = b"k8s\x00" + TYPE + b"\x12" + bytes([len(raw)]) + raw + b"\x1a\x00\x22\x00"
    assert protobuf.with_annotations(BODY, {"k": "v"}) == expected


def test_an_owner_that_is_there_already_is_not_doubled() -> None:
    once = protobuf.with_reference(BODY, reference_to(OWNER))
    assert once is not None
    assert protobuf.with_reference(once, reference_to(OWNER)) == once


def test_a_long_object_keeps_its_bytes() -> None:
    long = OBJECT + b"\x12\xac\x02" + b"x" * 300
    body = b"k8s\x00\x12" + bytes([len(long) & 0x7F | 0x80, len(long) >> 7]) + long
    made = protobuf.with_reference(body, reference_to(OWNER))
    assert made is not None
    assert made.removeprefix(body[:4])[3:].startswith(long)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
    ],
)
def test_a_body_that_is_no_protobuf_is_left_alone(body: bytes) -> None:
    assert protobuf.with_reference(body, reference_to(OWNER)) is None


@pytest.mark.parametrize(
    "body",
    [
        b"k8s\x00\x12\x05ab",
        b"k8s\x00\x12",
        b"k8s\x00\x08\x01",
        b"k8s\x00\x12\xff",
        b"k8s\x00\x12" + b"\xff" * 1_000_000,
        b"k8s\x00\x13\x14",
        BODY + b"\x28\x01",
        BODY.replace(b"\x1a\x00", b"\x1a\x04gzip"),
    ],
)
def test_a_protobuf_body_that_is_no_plain_envelope_is_refused(body: bytes) -> None:
    with pytest.raises(BodyError):
        protobuf.with_reference(body, reference_to(OWNER))


def test_the_uid_elsewhere_in_an_object_is_no_owner() -> None:
    text = b'"\x03u-1'  # as the uid of a reference is written, but in the data
    raw = OBJECT + b"\x18\x01" + b"\x12" + bytes([len(text)]) + text
    made = protobuf.with_reference(b"k8s\x00\x12" + bytes([len(raw)]) + raw, reference_to(OWNER))
    assert made is not None
    assert made.endswith(b"\x6a\x0f" + REFERENCE)


@given(st.binary())
def test_any_bytes_are_an_envelope_or_refused(raw: bytes) -> None:
    for body in (raw, b"k8s\x00" + raw, b"k8s\x00\x12\x7f" + raw):
        with suppress(BodyError):
            protobuf.with_reference(body, reference_to(OWNER))
        with suppress(BodyError):
            protobuf.with_annotations(body, {"u-1": "v"})


@pytest.mark.parametrize(
    ("namespace", "mechanism"),
    [("shop", Mechanism.OWNER_REFERENCE), ("other", Mechanism.ANNOTATION), ("", Mechanism.ANNOTATION)],
)
def test_the_mechanism_for_protobuf_follows_the_path(namespace: str, mechanism: Mechanism) -> None:
    target = Target("", "v1", "configmaps", namespace)
    kind = GroupVersionKind("", "v1", "ConfigMap")
    maps = Resource(kind, "configmaps", bool(namespace), verbs=frozenset(), subresources=frozenset())
    made = injected(BODY, protobuf.MEDIA_TYPE, Creation(target, maps, OWNER))
    assert made is not None
    assert (made.mechanism, made.namespace, made.content_type) == (mechanism, namespace, protobuf.MEDIA_TYPE)


@pytest.mark.parametrize("namespace", ["shop", "other"])
def test_an_object_in_protobuf_is_marked(namespace: str) -> None:
    marks, kind = Marks(b"k" * 32), GroupVersionKind("", "v1", "ConfigMap")
    maps = Resource(kind, "configmaps", namespaced=True, verbs=frozenset(), subresources=frozenset())
    made = injected(
        BODY, protobuf.MEDIA_TYPE, Creation(Target("", "v1", "configmaps", namespace), maps, OWNER, marks)
    )
    assert made is not None
    mark = marks.mark(OWNER.uid, ObjectName("", "ConfigMap", namespace, "c")).encode()
    assert made.body.count(MARK.encode()) == 1
    assert mark in made.body


def test_the_name_in_protobuf_is_read_and_the_last_one_counts() -> None:
    twice = b"k8s\x00\x12\x0a" + OBJECT + b"\x0a\x03\x0a\x01d"
    assert (protobuf.name_of(BODY), protobuf.name_of(twice)) == ("c", "d")
    assert protobuf.name_of(b"no protobuf") == ""
