"""Which custom resources refer to which objects, and whom a change of such an object concerns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Reference, Requirement, Selector, Watch
from runner.control.reasons import told
from runner.control.references import MOST, References, names_of
from runner.control.request import Reason, Trigger
from runner.control.sources import Asked, Place
from runner.kube.listwatch import Change, What
from runner.objects import GroupVersionKind, ObjectKey, parse_meta

THING = GroupVersionKind("example.com", "v1", "Thing")
SECRET = GroupVersionKind("", "v1", "Secret")
BY_NAME = Reference(SECRET, names="spec.secrets")
BY_LABEL = Reference(SECRET, selector=Selector((Requirement("app", "In", ("ours",)),)))


def key(name: str, namespace: str = "one") -> ObjectKey:
    return ObjectKey(THING, namespace, name)


def meta(name: str = "creds", namespace: str = "one", version: int = 1, **more: Any) -> dict[str, Any]:
    managed = [{"manager": "kubectl", "operation": "Update", "time": str(version), "fieldsV1": {}}]
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid of {namespace}/{name}",
            "resourceVersion": str(version),
            "managedFields": managed,
            **more,
        }
    }


def change(old: dict[str, Any] | None, new: dict[str, Any] | None, *, listed: bool = False) -> Change:
    what = What.UPDATED if old and new else What.ADDED if new else What.GONE
    before, after = (None if body is None else parse_meta(body) for body in (old, new))
    return Change(what, SECRET, before, after, listed)


EDIT = change(meta(), meta(version=2))


class Listening:
    """Stands in for a Watching: keeps who listens, and knows the custom resources that it is told of."""

    def __init__(self, *keys: ObjectKey) -> None:
        self.asked: dict[Place, list[Asked]] = {}
        self.keys = keys

    def listen(self, place: Place, asked: Asked) -> None:
        self.asked.setdefault(place, []).append(asked)

    def resource_keys(self, gvk: GroupVersionKind) -> Iterator[ObjectKey]:
        return (one for one in self.keys if one.gvk == gvk)


class Scene:
    def __init__(self, *references: Reference, known: tuple[ObjectKey, ...] = ()) -> None:
        self.watch = Watch(THING, Content(Path("/roles/thing"), is_role=True), references=references)
        self.watching = Listening(*known)
        self.references = References({THING: self.watch})
        self.references.follow(self.watching, ())  # type: ignore[arg-type]

    def read(self, one: ObjectKey, secrets: object) -> tuple[str, ...]:
        return self.references.read(one, self.watch, {"spec": {"secrets": secrets}})

    def asks(self, change: Change) -> set[str]:
        """The names of the custom resources that the change concerns."""
        listeners = self.watching.asked[SECRET, ""]
        found = [enqueue for asked in listeners for enqueue in asked(change)]
        assert all(enqueue.trigger is Trigger.REFERENCE for enqueue in found)
        return {str(enqueue.key).removeprefix("Thing ") for enqueue in found}

    def reasons(self, change: Change) -> dict[str, Reason]:
        """The reason that each custom resource is given, by its name."""
        found = [enqueue for asked in self.watching.asked[SECRET, ""] for enqueue in asked(change)]
        return {enqueue.key.name: enqueue.reason for enqueue in found if enqueue.reason is not None}


@pytest.mark.parametrize(
    ("found", "names"),
    [
        ("creds", {("one", "creds"), ("", "creds")}),
        (["a", "b"], {("one", "a"), ("", "a"), ("one", "b"), ("", "b")}),
        ({"name": "a", "namespace": "one"}, {("one", "a")}),
        ({"name": "a"}, {("one", "a")}),
        ([{"name": "a", "namespace": ""}], {("", "a")}),
        (None, set()),
        ([], set()),
    ],
)
def test_an_expression_yields_names_or_names_with_namespaces(found: object, names: set[tuple[str, str]]) -> None:
    assert names_of(BY_NAME, key("a"), {"spec": {"secrets": found}}) == (frozenset(names), "")


@pytest.mark.parametrize("found", [7, True, "no/name", {"name": 7}, {"namespace": "two"}, [["a"]], {"name": ".."}])
def test_what_is_no_name_is_said_and_left_out(found: object) -> None:
    names, wrong = names_of(BY_NAME, key("a"), {"spec": {"secrets": found}})
    assert (names, wrong) == (frozenset(), "is no name, no list of names, nor of {name, namespace}")


def test_an_object_can_name_a_bounded_number_of_others() -> None:
    names, wrong = names_of(BY_NAME, key("a"), {"spec": {"secrets": [str(n) for n in range(MOST + 1)]}})
    assert len(names) == 2 * MOST
    assert wrong == f"names more than {MOST} objects; the first {MOST} count"


def test_a_change_concerns_exactly_those_that_name_the_object() -> None:
    scene = Scene(BY_NAME)
    scene.read(key("a"), "creds")
    scene.read(key("b"), ["other", "creds"])
    scene.read(key("c"), "other")
    scene.read(key("d", "two"), "creds")
    assert scene.asks(EDIT) == {"one/a", "one/b"}


def test_object_of_another_namespace_concerns_a_custom_resource_only_where_the_watch_says_so() -> None:
    named = {"name": "creds", "namespace": "one"}
    scene = Scene(BY_NAME)
    assert scene.read(key("d", "two"), [named, "own"]) == (
        "Secret by spec.secrets: names one/creds outside of namespace two: not watched, unless the operator's"
        " author writes `namespaces: all` beside `names` in watches.yaml",
    )
    assert scene.asks(EDIT) == set()
    assert scene.asks(change(meta("own", "two"), meta("own", "two", version=2))) == {"two/d"}
    scene = Scene(replace(BY_NAME, all_namespaces=True))
    assert scene.read(key("d", "two"), named) == ()
    assert scene.asks(EDIT) == {"two/d"}


def test_cluster_scoped_custom_resource_names_namespaced_objects_only_where_the_watch_says_so() -> None:
    named = {"name": "creds", "namespace": "one"}
    scene = Scene(BY_NAME)
    (warning,) = scene.read(key("d", ""), named)
    assert "names one/creds in a namespace, and the custom resource is in none: not watched" in warning
    assert scene.asks(EDIT) == set()
    scene = Scene(replace(BY_NAME, all_namespaces=True))
    assert scene.read(key("d", ""), named) == ()
    assert scene.asks(EDIT) == {"d"}


def test_warning_of_many_objects_in_other_namespaces_names_the_first_three() -> None:
    named = [{"name": f"n{number}", "namespace": "one"} for number in range(9)]
    (warning,) = Scene(BY_NAME).read(key("d", "two"), named)
    assert "names one/n0, one/n1, one/n2 and 6 more outside of namespace two" in warning


@pytest.mark.parametrize("reference", [BY_NAME, BY_LABEL])
@pytest.mark.parametrize("body", [meta(version=2, labels={"app": "ours"}, data=1), None])
def test_reason_tells_neither_fields_nor_writers_of_objects_in_other_namespaces(
    reference: Reference, body: dict[str, Any] | None
) -> None:
    keys = (key("own"), key("other", "two"))
    scene = Scene(replace(reference, all_namespaces=True), known=keys)
    for one in keys:
        scene.read(one, {"name": "creds", "namespace": "one"})
    before = meta(labels={"app": "ours", "tier": "gold"})
    reasons = scene.reasons(change(before, body))
    assert reasons["own"].fields
    assert (reasons["other"].fields, reasons["other"].manager) == ((), "")
    assert told(reasons["other"]) == "Secret one/creds changed"


def test_the_index_follows_what_the_custom_resource_says_now() -> None:
    scene = Scene(BY_NAME)
    scene.read(key("a"), "creds")
    scene.read(key("a"), "other")
    assert scene.asks(EDIT) == set()


def test_one_that_is_gone_refers_to_nothing() -> None:
    scene = Scene(BY_NAME)
    scene.read(key("a"), "creds")
    scene.references.forget(key("a"))
    assert scene.asks(EDIT) == set()


def test_a_named_object_that_appears_or_goes_counts_too() -> None:
    scene = Scene(BY_NAME)
    scene.read(key("a"), "creds")
    assert scene.asks(change(None, meta())) == {"one/a"}
    assert scene.asks(change(meta(), None)) == {"one/a"}


def test_what_was_there_at_the_start_is_no_change() -> None:
    scene = Scene(BY_NAME)
    scene.read(key("a"), "creds")
    assert scene.asks(change(None, meta(), listed=True)) == set()


def test_a_change_of_only_the_status_concerns_nobody() -> None:
    scene = Scene(BY_NAME)
    scene.read(key("a"), "creds")
    assert scene.asks(change(meta(generation=1), meta(version=2, generation=1))) == set()


def test_a_selector_concerns_every_custom_resource_of_its_namespace() -> None:
    scene = Scene(BY_LABEL, known=(key("a"), key("b"), key("c", "two")))
    labelled = change(meta(labels={"app": "ours"}), meta(version=2, labels={"app": "ours"}))
    assert scene.asks(labelled) == {"one/a", "one/b"}


def test_a_selector_may_reach_all_namespaces() -> None:
    scene = Scene(replace(BY_LABEL, all_namespaces=True), known=(key("a"), key("c", "two")))
    assert scene.asks(change(None, meta(labels={"app": "ours"}))) == {"one/a", "two/c"}


def test_an_object_that_loses_its_label_counts_a_last_time() -> None:
    scene = Scene(BY_LABEL, known=(key("a"),))
    assert scene.asks(change(meta(labels={"app": "ours"}), meta(version=2))) == {"one/a"}
    assert scene.asks(EDIT) == set()


def test_what_is_wrong_with_a_reference_is_said_with_its_expression() -> None:
    assert Scene(BY_NAME).read(key("a"), 7) == (
        "Secret by spec.secrets: is no name, no list of names, nor of {name, namespace}",
    )


def test_only_the_namespaces_of_the_operator_are_watched() -> None:
    watching = Listening()
    watch = Watch(THING, Content(Path("/roles/thing"), is_role=True), references=(BY_NAME,))
    References({THING: watch}).follow(watching, ("one", "two"))  # type: ignore[arg-type]
    assert set(watching.asked) == {(SECRET, "one"), (SECRET, "two")}


def test_an_enqueue_names_key_trigger_and_reason() -> None:
    scene = Scene(BY_NAME)
    scene.read(key("a"), "creds")
    (asked,) = scene.watching.asked[SECRET, ""]
    (enqueue,) = asked(EDIT)
    assert enqueue.reason is not None
    assert (enqueue.key, enqueue.trigger) == (key("a"), Trigger.REFERENCE)
    assert told(enqueue.reason).startswith("Secret one/creds changed")
