"""Which changes reconcile which custom resource."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Finalizer, Requirement, Selector, Watch
from runner.control.changes import OwnerWatch, is_own, of_dependent, of_resource
from runner.control.pause import PAUSED, RECONCILE
from runner.control.request import Priority, Trigger
from runner.kube.listwatch import Change, What
from runner.objects import PRIMARY, PRIMARY_TYPE, GroupVersionKind, ObjectKey, ObjectMeta, OwnerRef

APPLE = GroupVersionKind("fruit.example.com", "v1", "Apple")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
SECRET = GroupVersionKind("", "v1", "Secret")
WATCH = Watch(APPLE, Content(Path("/roles/apple"), is_role=True))
SELECTING = replace(WATCH, selector=Selector((Requirement("tree", "In", ("old",)),)))
FINALIZING = replace(WATCH, finalizer=Finalizer("example.com/f"))
META = ObjectMeta(
    namespace="orchard",
    name="a",
    uid="u1",
    resource_version="1",
    generation=1,
    creation="2026-01-01T00:00:00Z",
    deletion=None,
    labels=(),
    annotations=(),
    finalizers=(),
    owners=(),
    content_digest=1,
    status_digest=1,
)
KEY = ObjectKey(APPLE, "orchard", "a")
OLD_TREE = (("tree", "old"),)


def seen(
    old: ObjectMeta | None, new: ObjectMeta | None, gvk: GroupVersionKind = APPLE, *, listed: bool = False
) -> Change:
    what = What.UPDATED if old and new else What.ADDED if new else What.GONE
    return Change(what, gvk, old, new, listed=listed)


def edited(meta: ObjectMeta = META, **changes: Any) -> Change:
    new = replace(meta, **{"resource_version": "2", **changes})
    return seen(meta, new)


def trigger(change: Change, watch: Watch = WATCH) -> Trigger | None:
    enqueue = of_resource(change, watch)
    assert enqueue is None or enqueue.key == KEY
    return enqueue.trigger if enqueue else None


NO_GENERATION = replace(META, generation=0)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (seen(None, META), Trigger.CREATED),
        (seen(None, META, listed=True), Trigger.START),
        (seen(META, None), Trigger.GONE),
        (edited(generation=2), Trigger.CHANGED),
        (edited(uid="u2"), Trigger.CREATED),
        (edited(), None),
        (edited(status_digest=2), None),
        (edited(labels=OLD_TREE), None),
        (edited(annotations=(("a", "b"),)), None),
        (edited(deletion="2026-01-02T00:00:00Z", generation=2), None),
        (edited(NO_GENERATION, content_digest=2), Trigger.CHANGED),
        (edited(NO_GENERATION, status_digest=2), None),
        (edited(NO_GENERATION, status_digest=2, content_digest=2), Trigger.CHANGED),
        (edited(NO_GENERATION), Trigger.CHANGED),
        (edited(NO_GENERATION, resource_version="1"), None),
    ],
)
def test_a_custom_resource_is_reconciled_at_a_new_generation_but_not_at_a_status_update(
    change: Change, expected: Trigger | None
) -> None:
    assert trigger(change) is expected


def test_annotations_trigger_only_where_the_watch_asks_for_them() -> None:
    watch = replace(WATCH, watch_annotations=True)
    assert trigger(edited(annotations=(("a", "b"),)), watch) is Trigger.ANNOTATED


def test_a_run_is_asked_for_and_a_pause_is_noticed_whatever_the_watch_says_of_annotations() -> None:
    assert trigger(edited(annotations=((RECONCILE, "1"),))) is Trigger.REQUESTED
    assert trigger(edited(annotations=((RECONCILE, "1"),), generation=2)) is Trigger.REQUESTED
    assert trigger(edited(annotations=((PAUSED, "true"),))) is Trigger.ANNOTATED
    assert trigger(edited(replace(META, annotations=((PAUSED, "true"),)), annotations=())) is Trigger.ANNOTATED


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (seen(None, META), None),
        (seen(None, replace(META, labels=OLD_TREE)), Trigger.CREATED),
        (edited(labels=OLD_TREE), Trigger.SELECTED),
        (edited(replace(META, labels=OLD_TREE), labels=()), None),
        (edited(generation=2), None),
        (seen(META, None), Trigger.GONE),
    ],
)
def test_a_custom_resource_is_reconciled_only_while_the_selector_matches(
    change: Change, expected: Trigger | None
) -> None:
    assert trigger(change, SELECTING) is expected


OURS = replace(META, finalizers=("example.com/f",))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (edited(OURS, deletion="now", generation=2), Trigger.DELETING),
        (seen(None, replace(OURS, deletion="now"), listed=True), Trigger.DELETING),
        (edited(replace(OURS, deletion="now")), None),
        (edited(replace(OURS, deletion="now"), generation=2), Trigger.DELETING),
        (edited(META, deletion="now", generation=2), None),
    ],
)
def test_a_deletion_is_reconciled_only_with_our_finalizer(change: Change, expected: Trigger | None) -> None:
    assert trigger(change, FINALIZING) is expected


def test_an_object_that_is_being_deleted_is_resumed_too() -> None:
    dying = replace(OURS, deletion="now", annotations=((PAUSED, "true"),))
    assert trigger(edited(dying, annotations=()), FINALIZING) is Trigger.DELETING


def test_a_finalizer_is_honoured_though_the_selector_matches_no_more() -> None:
    watch = replace(SELECTING, finalizer=FINALIZING.finalizer)
    assert trigger(edited(OURS, deletion="now"), watch) is Trigger.DELETING


def test_a_deletion_goes_before_a_change_and_a_change_before_the_backlog() -> None:
    assert Trigger.DELETING.priority < Trigger.CHANGED.priority < Trigger.START.priority
    assert Trigger.DELETING.priority is Priority.FINALIZER


CHILD = replace(META, name="child", owners=(OwnerRef("fruit.example.com/v1", "Apple", "a", "u9"),))
BY_REFERENCE = OwnerWatch(APPLE, namespaced=True)
BY_ANNOTATION = OwnerWatch(APPLE, namespaced=True, by_reference=False, by_annotation=True)


def owners(change: Change, *following: OwnerWatch) -> list[ObjectKey]:
    return [enqueue.key for enqueue in of_dependent(change, following or (BY_REFERENCE,))]


PLAIN = replace(CHILD, generation=0)


@pytest.mark.parametrize(
    ("change", "reconciles"),
    [
        (seen(None, CHILD), False),
        (seen(None, CHILD, listed=True), False),
        (seen(CHILD, None), True),
        (edited(CHILD), False),
        (edited(CHILD, status_digest=2), False),
        (edited(CHILD, content_digest=2), False),
        (edited(CHILD, generation=2), True),
        (edited(CHILD, uid="u2"), True),
        (edited(CHILD, labels=OLD_TREE), True),
        (edited(CHILD, annotations=(("mine", "1"),)), True),
        (edited(CHILD, annotations=(("deployment.kubernetes.io/revision", "2"),)), False),
        (edited(CHILD, finalizers=("x",)), True),
        (edited(CHILD, deletion="now"), True),
        (edited(PLAIN), True),
        (edited(PLAIN, status_digest=2), False),
        (edited(PLAIN, content_digest=2), True),
    ],
)
def test_an_owner_is_reconciled_at_changes_of_its_dependent_but_not_of_its_status(
    change: Change, reconciles: bool
) -> None:
    assert owners(change) == ([KEY] if reconciles else [])


def test_the_version_in_an_owner_reference_does_not_matter() -> None:
    child = replace(CHILD, owners=(OwnerRef("fruit.example.com/v1alpha1", "Apple", "a", "u9"),))
    assert owners(edited(child, generation=2)) == [KEY]


@pytest.mark.parametrize("api_version", ["other.example.com/v1", "v1"])
def test_an_owner_of_another_group_is_not_ours(api_version: str) -> None:
    child = replace(CHILD, owners=(OwnerRef(api_version, "Apple", "a", "u9"),))
    assert owners(edited(child, generation=2)) == []


def test_a_cluster_scoped_owner_has_no_namespace() -> None:
    assert owners(edited(CHILD, generation=2), OwnerWatch(APPLE, namespaced=False)) == [ObjectKey(APPLE, "", "a")]


def test_both_the_owner_before_and_after_a_change_are_reconciled() -> None:
    taken = (OwnerRef("fruit.example.com/v1", "Apple", "b", "u8"),)
    assert owners(edited(CHILD, owners=taken)) == [KEY, ObjectKey(APPLE, "orchard", "b")]


def annotated(value: str, kind: str = "Apple.fruit.example.com") -> ObjectMeta:
    return replace(META, name="child", annotations=tuple(sorted({PRIMARY: value, PRIMARY_TYPE: kind}.items())))


@pytest.mark.parametrize(
    ("value", "namespaced", "expected"),
    [
        ("far/a", True, [ObjectKey(APPLE, "far", "a")]),
        ("far/a/b", True, []),
        ("far/..", True, []),
        ("../a", True, []),
        ("far/%2e%2e", True, []),
        ("far/" + "a" * 254, True, []),
        ("a", False, [ObjectKey(APPLE, "", "a")]),
        ("a", True, []),
        ("far/a", False, []),
        ("", True, []),
        (" ", False, []),
    ],
)
def test_an_annotation_names_the_owner(value: str, namespaced: bool, expected: list[ObjectKey]) -> None:
    following = replace(BY_ANNOTATION, namespaced=namespaced)
    assert owners(seen(annotated(value), None), following) == expected


def test_the_annotation_type_of_a_core_kind_has_no_group() -> None:
    following = replace(BY_ANNOTATION, owner=SECRET)
    assert owners(seen(annotated("far/a", "Secret"), None), following) == [ObjectKey(SECRET, "far", "a")]


def test_an_annotation_that_names_another_kind_is_not_ours() -> None:
    assert owners(seen(annotated("far/a", "Pear.fruit.example.com"), None), BY_ANNOTATION) == []


def test_what_a_run_itself_wrote_or_deleted_needs_no_other_run() -> None:
    written = {("u1", "2"), ("u1", "")}

    def own_write(uid: str, version: str) -> bool:
        return (uid, version) in written

    for change in (
        edited(CHILD, generation=2),
        seen(None, replace(CHILD, resource_version="2")),
        seen(CHILD, None),
    ):
        assert is_own(change, own_write)
    for change in (edited(CHILD, generation=2, resource_version="3"), seen(replace(CHILD, uid="u0"), CHILD)):
        assert not is_own(change, own_write)
