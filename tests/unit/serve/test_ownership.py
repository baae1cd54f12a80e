"""How an object is made to name its owner."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import BodyError, MediaTypeError
from runner.kube.discovery import Resource
from runner.marks import MARK, Marks, ObjectName
from runner.objects import PRIMARY, GroupVersionKind, Owner
from runner.serve import ownership, protobuf
from runner.serve.forward import Target, parse_target
from runner.serve.ownership import Creation, Mechanism, injected

DATABASE = GroupVersionKind("app.example.com", "v1", "Database")
NAMESPACED = Owner(DATABASE, "shop", "orders", "uid-1")
CLUSTER = Owner(DATABASE, "", "orders", "uid-1")
REFERENCE = {"apiVersion": "app.example.com/v1", "kind": "Database", "name": "orders", "uid": "uid-1"}


@pytest.mark.parametrize(
    ("owner", "namespace", "mechanism"),
    [
        (NAMESPACED, "shop", Mechanism.OWNER_REFERENCE),
        (NAMESPACED, "other", Mechanism.ANNOTATION),
        (NAMESPACED, "", Mechanism.ANNOTATION),
        (CLUSTER, "shop", Mechanism.OWNER_REFERENCE),
        (CLUSTER, "", Mechanism.OWNER_REFERENCE),
    ],
)
def test_an_owner_reference_is_used_wherever_kubernetes_allows_one(
    owner: Owner, namespace: str, mechanism: Mechanism
) -> None:
    assert ownership.mechanism_for(owner, namespace) is mechanism


@pytest.mark.parametrize(
    ("target", "body", "namespaced", "namespace"),
    [
        (Target("", "v1", "pods", "url"), {"metadata": {"namespace": "body"}}, True, "url"),
        (Target("", "v1", "pods"), {"metadata": {"namespace": "body"}}, True, "body"),
        (Target("", "v1", "pods"), {"metadata": None}, True, ""),
        (Target("", "v1", "nodes"), {"metadata": {"namespace": "wrong"}}, False, ""),
    ],
)
def test_the_paths_namespace_counts_before_the_bodys(
    target: Target, body: dict[str, Any], namespaced: bool, namespace: str
) -> None:
    assert ownership.dependent_namespace(target, body, namespaced=namespaced) == namespace


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/api/v1/namespaces/shop/pods", True),
        ("POST", "/apis/apps/v1/namespaces/shop/deployments?fieldManager=x", True),
        ("PUT", "/api/v1/namespaces/shop/pods/p", False),
        ("PATCH", "/api/v1/namespaces/shop/pods/p", False),
        ("DELETE", "/api/v1/namespaces/shop/pods/p", False),
        ("POST", "/api/v1/namespaces/shop/pods/p/eviction", False),
        ("POST", "/apis", False),
    ],
)
def test_only_a_creation_is_given_its_owner(method: str, path: str, expected: bool) -> None:
    assert ownership.may_inject(method, parse_target(path)) is expected


@pytest.mark.parametrize(
    "metadata", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"ownerReferences": None}}]
)
def test_an_owner_reference_says_neither_controller_nor_blocking(metadata: dict[str, Any]) -> None:
    """No controller flag and no blockOwnerDeletion: other controllers may still adopt the object."""
    named = ownership.inject(metadata, NAMESPACED, Mechanism.OWNER_REFERENCE)
    assert named["metadata"]["ownerReferences"] == [REFERENCE]


def test_owners_that_an_object_has_already_stay() -> None:
    other = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "uid-2", "controller": True}
    named = ownership.inject({"metadata": {"ownerReferences": [other]}}, NAMESPACED, Mechanism.OWNER_REFERENCE)
    assert named["metadata"]["ownerReferences"] == [other, REFERENCE]


def test_an_owner_that_is_there_already_is_not_doubled() -> None:
    mine = {**REFERENCE, "controller": True}
    named = ownership.inject({"metadata": {"ownerReferences": [mine]}}, NAMESPACED, Mechanism.OWNER_REFERENCE)
    assert named["metadata"]["ownerReferences"] == [mine]


@pytest.mark.parametrize(
    ("owner", "where", "kind"),
    [
        (NAMESPACED, "shop/orders", "Database.app.example.com"),
        (Owner(GroupVersionKind("", "v1", "Secret"), "shop", "s", "u"), "shop/s", "Secret"),
    ],
)
def test_annotations_of_the_owner_are_overwritten_and_others_stay(owner: Owner, where: str, kind: str) -> None:
    body = {"metadata": {"annotations": {"a": "b", PRIMARY: "old"}}}
    named = ownership.inject(body, owner, Mechanism.ANNOTATION)
    assert named["metadata"]["annotations"] == {
        "a": "b",
        "operator-sdk/primary-resource": where,
        "operator-sdk/primary-resource-type": kind,
    }


def test_the_object_that_was_given_is_not_changed() -> None:
    body: dict[str, Any] = {"metadata": {"ownerReferences": [], "annotations": {}}}
    for mechanism in Mechanism:
        ownership.inject(body, NAMESPACED, mechanism)
    assert body == {"metadata": {"ownerReferences": [], "annotations": {}}}


@pytest.mark.parametrize(
    ("raw", "content_type", "body"),
    [
        (b'{"kind": "A"}', "application/json", {"kind": "A"}),
        (b'{"kind": "A"}', "", {"kind": "A"}),
        (b"kind: A\nday: 2026-01-01", "application/yaml", {"kind": "A", "day": "2026-01-01"}),
        (b"at: 12:30:45\nhex: 0x1f", "application/yaml", {"at": "12:30:45", "hex": 31}),
        (b"a: &a [b]\nc: *a", "application/yaml", {"a": ["b"], "c": ["b"]}),
        (b"[a]", "application/yaml", None),
        (b'{"a": "\xff"}', "application/json", {"a": "\ufffd"}),
        (b"\xff", "application/json", None),
        (b"[1]", "application/json", None),
        (b'{"metadata": []}', "application/json", {"metadata": []}),
        (b'{"metadata": [1]}', "application/json", None),
        (b'{"metadata": {"annotations": "x"}}', "application/json", None),
        (b"k8s\x00", "application/vnd.kubernetes.protobuf", None),
    ],
)
def test_a_body_is_an_object_or_passes_untouched(
    raw: bytes, content_type: str, body: dict[str, Any] | None
) -> None:
    assert ownership.decode(raw, content_type) == body


@pytest.mark.parametrize(
    ("raw", "content_type"),
    [
        (b'{"a": ' + b"[" * 100_000, "application/json"),
        (b"a: " + b"[" * 2_000, "application/yaml"),
        (b"kind: A\n---\nkind: B", "application/yaml"),
        (b"a: [", "application/yaml"),
        (b"a: !other b", "application/yaml"),
        (b"? [a]\n: b", "application/yaml"),
        (b"? {a: b}\n: b", "application/yaml"),
        (b"\x00", "application/yaml"),
        (b"\xff", "application/yaml"),
        (b"a: !!int x", "application/yaml"),
        (b"a: &a [*a]", "application/yaml"),
    ],
)
def test_a_body_that_only_the_api_server_may_be_able_to_read_is_refused(raw: bytes, content_type: str) -> None:
    with pytest.raises(BodyError):
        ownership.decode(raw, content_type)


def bomb(key: str) -> bytes:
    """Ten aliases of ten aliases of ...: some hundred bytes that stand for a thousand million."""
    lines = ["a0: &a0 [text, text, text, text, text]"] if not key else ["a0: &a0 {a: text, b: text}"]
    for level in range(1, 9):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} " + (f"{{{key}: [{aliases}]}}" if key else f"[{aliases}]"))
    return "\n".join(lines).encode()


@pytest.mark.parametrize("key", ["", "b", "<<"], ids=["lists", "maps", "merged maps"])
def test_aliases_that_stand_for_too_much_are_refused_at_once(key: str) -> None:
    tracemalloc.start()
    with pytest.raises(BodyError, match="stand for more than 4 MiB"):
        ownership.decode(bomb(key), "application/yaml")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_many_aliases_of_one_long_text_are_refused() -> None:
    raw = b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a, " * 100 + b"]"
    with pytest.raises(BodyError, match="stand for more than 4 MiB"):
        ownership.decode(raw, "application/yaml")


def test_an_object_of_too_many_levels_is_refused_where_it_is_written_out() -> None:
    body: dict[str, Any] = {}
    for _ in range(100_000):
        body = {"a": body}
    with pytest.raises(BodyError, match="too many levels"):
        ownership.encode(body)


def test_numbers_that_json_lacks_are_not_made_up() -> None:
    body = ownership.decode(b'{"data": 1e999}', "")
    assert body is not None
    with pytest.raises(ValueError, match="JSON compliant"):
        ownership.encode(body)


PODS = Resource(
    GroupVersionKind("", "v1", "Pod"), "pods", namespaced=True, verbs=frozenset(), subresources=frozenset()
)
KEYS = st.sampled_from(["metadata", "annotations", "ownerReferences", "uid", "namespace", "kind"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS | st.text(), inner),
    max_leaves=20,
)
BODIES = st.binary() | st.text().map(str.encode) | JSON.map(json.dumps).map(str.encode)
TYPES = st.sampled_from(["", "application/json", "application/yaml", protobuf.MEDIA_TYPE, "text/plain"])


@given(BODIES | BODIES.map(lambda body: b"k8s\x00\x12" + body), TYPES, st.booleans())
def test_any_body_is_given_its_owner_or_left_alone_or_refused(raw: bytes, content_type: str, here: bool) -> None:
    target = Target("", "v1", "pods", "shop" if here else "other")
    try:
        made = injected(raw, content_type, Creation(target, PODS, NAMESPACED))
    except BodyError:
        return
    if made is not None and made.content_type == "application/json":
        meta = json.loads(made.body)["metadata"]
        owners = [ref["uid"] for ref in meta.get("ownerReferences", ()) if "uid" in ref]
        assert NAMESPACED.uid in owners or PRIMARY in meta["annotations"]


MARKS = Marks(b"k" * 32)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (Target("", "v1", "pods", "shop"), ObjectName("", "Pod", "shop", "web")),
        (Target("", "v1", "pods", "other"), ObjectName("", "Pod", "other", "web")),
    ],
)
def test_a_created_object_is_marked_next_to_its_own_annotations(target: Target, name: ObjectName) -> None:
    raw = json.dumps({"metadata": {"name": "web", "annotations": {"a": "b", MARK: "copied"}}}).encode()
    made = injected(raw, "application/json", Creation(target, PODS, NAMESPACED, MARKS))
    assert made is not None
    annotations = json.loads(made.body)["metadata"]["annotations"]
    assert MARKS.creator(annotations, name) == NAMESPACED.uid
    assert annotations["a"] == "b"


def test_an_object_that_the_api_server_will_name_is_not_marked_yet() -> None:
    raw = b'{"metadata": {"generateName": "web-"}}'
    made = injected(raw, "", Creation(Target("", "v1", "pods", "shop"), PODS, NAMESPACED, MARKS))
    assert made is not None
    assert MARK.encode() not in made.body


@pytest.mark.parametrize("content_type", ["application/cbor", "application/cbor-seq", "text/plain"])
def test_a_body_in_a_format_that_is_not_understood_is_refused(content_type: str) -> None:
    creation = Creation(Target("", "v1", "pods", "shop"), PODS, NAMESPACED)
    with pytest.raises(MediaTypeError, match="application/json"):
        injected(b"\xa1\x64kindcPod", content_type, creation)


@given(JSON)
def test_the_owner_in_any_answer_is_read_or_there_is_none(body: Any) -> None:
    ownership.named_by({"metadata": body}, NAMESPACED)
