"""What is remembered of an object: enough to tell whether a change matters, and not more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.control.changes import OwnerWatch, of_dependent, of_resource
from runner.kube.listwatch import Change, What
from runner.objects import (
    PREFIX,
    PRIMARY,
    PRIMARY_TYPE,
    GroupVersionKind,
    ObjectMeta,
    OwnerRef,
    generation_of,
    is_name,
    nested_deeper,
    parse_meta,
)
from tests.unit.control.test_triggers import WATCH


def entry(manager: str, time: str = "2026-01-01T00:00:00Z", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {"f:spec": {}}, **more}


def body(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", **metadata}}


def test_every_field_of_the_metadata_is_read() -> None:
    meta = parse_meta(
        body(
            namespace="ns",
            uid="u",
            resourceVersion="7",
            generation=3,
            creationTimestamp="2026-01-01T00:00:00Z",
            deletionTimestamp="2026-01-02T00:00:00Z",
            labels={"b": "2", "a": "1"},
            annotations={"note": "hi"},
            finalizers=["x/y"],
            ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "q", "controller": True}],
        )
    )
    assert (meta.namespace, meta.name, meta.uid, meta.resource_version, meta.generation) == (
        "ns",
        "a",
        "u",
        "7",
        3,
    )
    assert (meta.creation, meta.deletion) == ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    assert meta.labels == (("a", "1"), ("b", "2"))
    assert [name for name, _ in meta.annotations] == ["note"]
    assert (meta.finalizers, meta.owners) == (("x/y",), (OwnerRef("v1", "Pod", "p", "q"),))


def test_a_field_that_the_metadata_lacks_is_empty() -> None:
    meta = parse_meta({"metadata": {"labels": None, "managedFields": None}})
    assert (meta.namespace, meta.generation, meta.deletion, meta.labels, meta.owners) == ("", 0, None, (), ())
    assert (meta.content_digest, meta.status_digest) == (0, 0)


def test_an_edit_changes_the_content_digest_only() -> None:
    status = entry("operator", subresource="status")
    before = parse_meta(body(managedFields=[entry("kubectl"), status]))
    after = parse_meta(body(managedFields=[entry("kubectl", "2026-01-01T00:00:01Z"), status]))
    assert before.content_digest != after.content_digest
    assert before.status_digest == after.status_digest


def test_a_status_update_changes_the_status_digest_only() -> None:
    before = parse_meta(body(managedFields=[entry("kubectl"), entry("op", subresource="status")]))
    after = parse_meta(
        body(managedFields=[entry("kubectl"), entry("op", "2027-01-01T00:00:00Z", subresource="status")])
    )
    assert before.content_digest == after.content_digest
    assert before.status_digest != after.status_digest


@pytest.mark.parametrize("length", [1, 100_000])
def test_an_annotation_is_kept_as_something_to_compare(length: int) -> None:
    one, same, other = (
        parse_meta(body(annotations={"last": text * length})).annotations for text in ("ab", "ab", "ba")
    )
    assert one == same != other
    assert len(one[0][1]) < 64


@pytest.mark.parametrize("name", [PRIMARY, PRIMARY_TYPE, PREFIX + "paused"])
def test_an_annotation_that_is_meant_for_the_operator_can_be_read(name: str) -> None:
    assert parse_meta(body(annotations={name: "true"})).annotations == ((name, "true"),)


def test_nothing_that_a_secret_holds_is_remembered_of_it() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"data": {"password": "Y2FuYXJ5"}}'}
    assert "Y2FuYXJ5" not in repr(parse_meta(body(annotations=applied)))


def test_objects_share_equal_labels_finalizers_and_owners_in_memory() -> None:
    refs = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "q"}]
    one, two = (
        parse_meta(body(labels={"app": "memcached"}, finalizers=["x"], ownerReferences=list(refs)))
        for _ in range(2)
    )
    assert one.labels[0] is two.labels[0]
    assert one.owners[0] is two.owners[0]
    assert one.finalizers is two.finalizers


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"f:a": value}
    return value


def test_managed_fields_of_any_depth_are_compared() -> None:
    one, same, later = (
        parse_meta(body(managedFields=[entry("kubectl", time, fieldsV1=nested(50_000))]))
        for time in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
    )
    assert one.content_digest == same.content_digest != later.content_digest


def test_long_texts_are_not_remembered_after_their_object() -> None:
    long = "x" * 10_000
    refs = [{"apiVersion": "v1", "kind": "Pod", "name": long, "uid": "q"}]
    one, two = (parse_meta(body(finalizers=[long], ownerReferences=refs)) for _ in range(2))
    assert one == two
    assert one.owners[0] is not two.owners[0]
    assert one.finalizers is not two.finalizers


@pytest.mark.parametrize(
    ("levels", "deeper"), [(0, False), (199, False), (200, False), (201, True), (50_000, True)]
)
def test_the_depth_of_an_object_is_measured_however_deep(levels: int, deeper: bool) -> None:
    assert nested_deeper(nested(levels), 200) is deeper


@pytest.mark.parametrize("name", ["a", "with.dots", "system:node", "x" * 253, "Ärger"])
def test_a_name_that_kubernetes_allows_can_name_an_object(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize("name", ["", " ", ".", "..", "a/b", "../a", "%2e", "a\0", "x" * 254, "ä" * 200])
def test_a_name_that_leads_elsewhere_or_is_too_long_cannot_name_an_object(name: str) -> None:
    assert not is_name(name)


FIELDS = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
]
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)),
    max_leaves=10,
)
REFERENCE = st.dictionaries(st.sampled_from(["apiVersion", "kind", "name", "uid"]), JSON)
METADATA = st.dictionaries(st.sampled_from(FIELDS), st.one_of(JSON, st.lists(REFERENCE, max_size=3)))


@given(st.one_of(METADATA, JSON), st.one_of(METADATA, JSON))
def test_whatever_metadata_holds_it_is_read_and_every_event_about_it_is_handled(before: Any, after: Any) -> None:
    old, new = parse_meta({"metadata": before}), parse_meta({"metadata": after})
    assert generation_of({"metadata": after}) == new.generation
    assert _plain(new)
    following = OwnerWatch(GroupVersionKind("", "", ""), namespaced=False, by_annotation=True)
    for change in (Change(What.ADDED, WATCH.gvk, None, new), Change(What.UPDATED, WATCH.gvk, old, new)):
        enqueued = [*of_dependent(change, [following]), of_resource(change, WATCH)]
        assert all(is_name(enqueue.key.name) for enqueue in enqueued if enqueue is not None)


def _plain(meta: ObjectMeta) -> bool:
    texts = [meta.namespace, meta.name, meta.uid, meta.resource_version, meta.creation, meta.deletion or ""]
    pairs = [text for pair in (*meta.labels, *meta.annotations) for text in pair]
    owners = [text for ref in meta.owners for text in (ref.api_version, ref.kind, ref.name, ref.uid)]
    return all(isinstance(text, str) for text in (*texts, *pairs, *owners, *meta.finalizers))
