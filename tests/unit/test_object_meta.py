"""What is remembered of an object: enough to tell whether a change matters, and not more."""

from __future__ import annotations

from typing import Any

from runner.objects import OwnerRef, parse_meta


def entry(manager: str, time: str = "2026-01-01T00:00:00Z", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {"f:spec": {}}, **more}


def body(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", **metadata}}


def test_every_field_is_read() -> None:
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
    assert (meta.labels, meta.annotations) == ((("a", "1"), ("b", "2")), (("note", "hi"),))
    assert (meta.finalizers, meta.owners) == (("x/y",), (OwnerRef("v1", "Pod", "p", "q"),))


def test_what_is_missing_is_empty() -> None:
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


def test_a_long_annotation_is_kept_as_something_to_compare() -> None:
    one, same, other = (
        parse_meta(body(annotations={"last": text * 1000})).annotations for text in ("ab", "ab", "ba")
    )
    assert one == same != other
    assert len(one[0][1]) < 64


def test_objects_that_say_the_same_share_it() -> None:
    refs = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "q"}]
    one, two = (
        parse_meta(body(labels={"app": "memcached"}, finalizers=["x"], ownerReferences=list(refs)))
        for _ in range(2)
    )
    assert one.labels[0] is two.labels[0]
    assert one.owners[0] is two.owners[0]
    assert one.finalizers is two.finalizers
