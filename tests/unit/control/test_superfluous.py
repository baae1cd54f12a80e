"""What is superfluous after a run, decided from metadata alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.control.prune import Found, Place, is_kept, is_own, places_of, reason_not_to, text_of
from runner.execute.outcome import Ending, Outcome, Stats
from runner.objects import PRIMARY, PRIMARY_TYPE, GroupVersionKind, ObjectMeta, Owner, parse_meta
from runner.serve.forward import parse_target
from runner.serve.touched import Touched

THING = GroupVersionKind("test.example.com", "v1", "Thing")
OWNER = Owner(THING, "default", "one", "uid-of-one")
MAPS = Place(GroupVersionKind("", "v1", "ConfigMap"), "default")
OURS = {"apiVersion": "test.example.com/v1", "kind": "Thing", "name": "one", "uid": "uid-of-one"}
THEIRS = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-of-web"}
MARK = {PRIMARY: "default/one", PRIMARY_TYPE: "Thing.test.example.com"}
GOOD = Outcome(Ending.FINISHED, 0, Stats(ok=1))


def meta(name: str = "a", **more: Any) -> ObjectMeta:
    given = {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": [OURS], **more}
    return parse_meta({"metadata": given})


def superfluous(
    metas: list[ObjectMeta], touched: Touched, place: Place = MAPS, plural: str = "configmaps"
) -> set[str]:
    found = Found()
    found.sort(place, plural, metas, OWNER, touched)
    return {key.name for key, _ in found.superfluous}


def touching(*requests: str) -> Touched:
    """A run that has made these requests, `METHOD PATH`, none of which was answered."""
    touched = Touched()
    for request in requests:
        method, path = request.split()
        target = parse_target(path)
        assert target is not None
        touched.asked(method, target)
    return touched


def test_what_was_neither_written_nor_read_is_superfluous() -> None:
    touched = touching(
        "GET /api/v1/namespaces/default/configmaps/read", "PATCH /api/v1/namespaces/default/configmaps/written"
    )
    assert superfluous([meta("read"), meta("written"), meta("neither")], touched) == {"neither"}


def test_an_object_of_the_same_name_elsewhere_or_of_another_kind_does_not_count() -> None:
    touched = touching("GET /api/v1/namespaces/default/secrets/a", "GET /api/v1/namespaces/other/configmaps/a")
    assert superfluous([meta("a")], touched) == {"a"}


def test_another_version_of_the_same_object_counts() -> None:
    place = Place(GroupVersionKind("networking.k8s.io", "v1", "Ingress"), "default")
    touched = touching("GET /apis/networking.k8s.io/v1beta1/namespaces/default/ingresses/a")
    assert superfluous([meta("a")], touched, place, "ingresses") == set()


@pytest.mark.parametrize(
    "request_",
    [
        "GET /api/v1/namespaces/default/configmaps",
        "GET /api/v1/configmaps?watch=true",
        "POST /api/v1/namespaces/default/configmaps",
    ],
)
def test_of_a_kind_that_the_run_was_shown_without_anybody_looking_nothing_is(request_: str) -> None:
    assert superfluous([meta("a")], touching(request_)) == set()


def test_what_a_list_has_shown_counts_as_read_and_the_rest_does_not() -> None:
    touched = touching("GET /api/v1/configmaps?labelSelector=a")
    target = parse_target("/api/v1/configmaps?labelSelector=a")
    assert target is not None
    touched.shown("GET", target, {"items": [{"metadata": {"name": "a", "namespace": "default"}}]})
    assert superfluous([meta("a"), meta("b")], touched) == {"b"}


def test_a_table_shows_nobody_knows_what() -> None:
    touched = touching("GET /api/v1/configmaps")
    target = parse_target("/api/v1/configmaps")
    assert target is not None
    touched.shown("GET", target, {"kind": "Table", "rows": []})
    assert superfluous([meta("a")], touched) == set()


def test_an_object_that_the_server_named_counts_as_written() -> None:
    touched = touching("POST /api/v1/namespaces/default/configmaps")
    target = parse_target("/api/v1/namespaces/default/configmaps")
    assert target is not None
    touched.shown("POST", target, {"metadata": {"name": "a-x7f", "namespace": "default"}})
    assert superfluous([meta("a-x7f"), meta("a-b3k")], touched) == {"a-b3k"}


def test_a_dry_run_that_would_create_an_object_shows_none() -> None:
    assert superfluous([meta("a")], touching("POST /api/v1/namespaces/default/configmaps?dryRun=All")) == {"a"}


@pytest.mark.parametrize(
    ("named", "own"),
    [
        ({}, True),
        ({"ownerReferences": [{**OURS, "uid": "uid-of-its-predecessor"}]}, False),
        ({"ownerReferences": [OURS, THEIRS]}, False),
        ({"ownerReferences": []}, False),
        ({"ownerReferences": [], "annotations": MARK}, True),
        ({"ownerReferences": [THEIRS], "annotations": MARK}, False),
        ({"ownerReferences": [], "annotations": {**MARK, PRIMARY: "default/two"}}, False),
        ({"ownerReferences": [], "annotations": {**MARK, PRIMARY: "other/one"}}, False),
        ({"ownerReferences": [], "annotations": {**MARK, PRIMARY_TYPE: "Thing.x"}}, False),
        ({"ownerReferences": [OURS], "annotations": {**MARK, PRIMARY: "default/two"}}, False),
    ],
)
def test_only_what_names_this_owner_and_no_other_is_its_own(named: dict[str, Any], own: bool) -> None:
    assert is_own(meta(**named), OWNER) is own


@pytest.mark.parametrize("value", ["false", "False", "no", ""])
def test_whatever_the_annotation_says_but_true_keeps_an_object(value: str) -> None:
    assert is_kept(meta(annotations={"ansible.sdk.operatorframework.io/prune": value}))
    assert not is_kept(meta(annotations={"ansible.sdk.operatorframework.io/prune": "true"}))


@pytest.mark.parametrize(
    "more",
    [
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"annotations": {"meta.helm.sh/release-name": "web"}},
        {"labels": {"owner": "helm", "name": "web"}},
    ],
    ids=["being deleted", "of a Helm release", "a Helm release"],
)
def test_left_alone_is_what_is(more: dict[str, Any]) -> None:
    assert is_kept(meta(**more))


def test_a_namespace_that_the_run_works_in_and_a_definition_of_a_kind_are_left_alone() -> None:
    touched = touching("GET /api/v1/namespaces/team/configmaps/a")
    assert superfluous([meta("team"), meta("old")], touched, plural="namespaces") == {"old"}
    assert superfluous([meta("a.example.com")], touched, plural="customresourcedefinitions") == set()


@pytest.mark.parametrize(
    ("outcome", "part", "why"),
    [
        (GOOD, "", ""),
        (Outcome(Ending.FINISHED, 0, Stats(skipped=3)), "", ""),
        (Outcome(Ending.FINISHED, 2, Stats(ok=1, failures=1), messages=("no",)), "", "it failed"),
        (Outcome(Ending.CANCELLED, -1, None), "", "it failed"),
        (Outcome(Ending.FINISHED, 0, Stats()), "", "it had no task"),
        (GOOD, "--tags", "--tags left out a part of it"),
        (
            Outcome(Ending.FINISHED, 0, Stats(ok=1), requeue_after=5.0),
            "",
            "it asked to be called again, and may not have come to its end",
        ),
        (
            Outcome(Ending.FINISHED, 0, Stats(ok=1), forgiven=1),
            "",
            "a task of it failed, and was rescued or ignored",
        ),
    ],
)
def test_a_run_shows_what_is_still_wanted_if_it_was_whole_and_good(outcome: Outcome, part: str, why: str) -> None:
    assert reason_not_to(outcome, part) == why


names = st.from_regex(r"[A-Za-z][A-Za-z0-9.-]{0,20}", fullmatch=True)
places = st.builds(
    Place, st.builds(GroupVersionKind, st.one_of(st.just(""), names), names, names), st.one_of(st.just(""), names)
)


@given(st.frozensets(places))
def test_places_are_read_as_they_were_written(given: frozenset[Place]) -> None:
    assert places_of(text_of(given)) == given


@given(st.text())
def test_nobody_can_write_places_that_cannot_be_read(text: str) -> None:
    assert places_of(f"{text},v1/ConfigMap@default") >= {MAPS}


def test_places_are_written_for_people() -> None:
    ingress = Place(GroupVersionKind("networking.k8s.io", "v1", "Ingress"), "default")
    role = Place(GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "")
    assert text_of({role, MAPS, ingress}) == (
        "v1/ConfigMap@default,networking.k8s.io/v1/Ingress@default,rbac.authorization.k8s.io/v1/ClusterRole@"
    )
