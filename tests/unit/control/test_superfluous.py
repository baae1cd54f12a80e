"""An object is superfluous if a run created it, the last run left it out, and nothing protects it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.control.prune import MOST_LISTED, find
from runner.control.superfluous import (
    Fate,
    Findings,
    Judge,
    Scope,
    is_own,
    is_protected,
    reason_not_to_prune,
    reason_to_wait,
    scopes_of,
    text_of,
)
from runner.errors import TooManyObjectsError
from runner.execute.outcome import Ending, Outcome, Stats
from runner.kube.discovery import ObjectsApi
from runner.marks import MARK, Marks, ObjectName
from runner.objects import (
    PREFIX,
    PRIMARY,
    PRIMARY_TYPE,
    GroupVersionKind,
    Json,
    ObjectKey,
    ObjectMeta,
    Owner,
    parse_meta,
)
from runner.serve.forward import parse_target
from runner.serve.touched import Touched

THING = GroupVersionKind("test.example.com", "v1", "Thing")
OWNER = Owner(THING, "default", "one", "uid-of-one")
MAPS = Scope(GroupVersionKind("", "v1", "ConfigMap"), "default")
OURS = {"apiVersion": "test.example.com/v1", "kind": "Thing", "name": "one", "uid": "uid-of-one"}
THEIRS = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-of-web"}
BY_ANNOTATION = {PRIMARY: "default/one", PRIMARY_TYPE: "Thing.test.example.com"}
GOOD = Outcome(Ending.FINISHED, 0, Stats(ok=1))
MARKS = Marks(b"k" * 32)


def meta(name: str = "a", *, marked: bool = True, scope: Scope = MAPS, **more: Any) -> ObjectMeta:
    """An object that a run of OWNER created, as far as nothing else is given."""
    mark = MARKS.mark(OWNER.uid, ObjectName.of(scope.gvk, "default", name))
    annotations = {**({MARK: mark} if marked else {}), **more.pop("annotations", {})}
    given = {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": [OURS], **more}
    return parse_meta({"metadata": {**given, "annotations": annotations}})


def findings(
    metas: list[ObjectMeta], touched: Touched, scope: Scope = MAPS, plural: str = "configmaps"
) -> Findings:
    found = Findings()
    found.add(Judge(OWNER, touched, MARKS.creator), scope, plural, metas)
    return found


def superfluous(
    metas: list[ObjectMeta], touched: Touched, scope: Scope = MAPS, plural: str = "configmaps"
) -> set[str]:
    return {key.name for key, _ in findings(metas, touched, scope, plural).superfluous}


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
    scope = Scope(GroupVersionKind("networking.k8s.io", "v1", "Ingress"), "default")
    touched = touching("GET /apis/networking.k8s.io/v1beta1/namespaces/default/ingresses/a")
    assert superfluous([meta("a", scope=scope), meta("b", scope=scope)], touched, scope, "ingresses") == {"b"}


@pytest.mark.parametrize(
    "request_",
    [
        "GET /api/v1/namespaces/default/configmaps",
        "GET /api/v1/configmaps?watch=true",
        "POST /api/v1/namespaces/default/configmaps",
    ],
)
def test_of_a_kind_that_the_run_was_shown_without_anybody_looking_nothing_is(request_: str) -> None:
    found = findings([meta("a")], touching(request_))
    assert (found.superfluous, [fate for _, fate in found.doubtful]) == ([], [Fate.UNCLEAR])
    assert found.remaining == {("configmaps", "default", "a")}


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
        ({"ownerReferences": [], "annotations": BY_ANNOTATION}, True),
        ({"ownerReferences": [THEIRS], "annotations": BY_ANNOTATION}, False),
        ({"ownerReferences": [], "annotations": {**BY_ANNOTATION, PRIMARY: "default/two"}}, False),
        ({"ownerReferences": [], "annotations": {**BY_ANNOTATION, PRIMARY: "other/one"}}, False),
        ({"ownerReferences": [], "annotations": {**BY_ANNOTATION, PRIMARY_TYPE: "Thing.x"}}, False),
        ({"ownerReferences": [OURS], "annotations": {**BY_ANNOTATION, PRIMARY: "default/two"}}, False),
    ],
)
def test_only_what_names_this_owner_and_no_other_is_its_own(named: dict[str, Any], own: bool) -> None:
    assert is_own(meta(**named), OWNER) is own


@pytest.mark.parametrize("value", ["false", "False", "no", ""])
def test_whatever_the_annotation_says_but_true_keeps_an_object(value: str) -> None:
    assert is_protected(meta(annotations={"ansible.sdk.operatorframework.io/prune": value}))
    assert not is_protected(meta(annotations={"ansible.sdk.operatorframework.io/prune": "true"}))


@pytest.mark.parametrize(
    "more",
    [
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"annotations": {"meta.helm.sh/release-name": "web"}},
        {"labels": {"owner": "helm", "name": "web"}},
        {"labels": {"app.kubernetes.io/managed-by": "Helm"}},
        {"annotations": {"helm.sh/hook": "post-install"}},
        {"annotations": {"helm.sh/resource-policy": "keep"}},
    ],
    ids=["being deleted", "of a Helm release", "a Helm release", "managed by Helm", "a Helm hook", "kept by Helm"],
)
def test_an_object_is_protected_that_is(more: dict[str, Any]) -> None:
    assert is_protected(meta(**more))


@pytest.mark.parametrize("plural", ["customresourcedefinitions", "events"])
def test_kinds_that_are_never_pruned(plural: str) -> None:
    found = findings([meta("a.example.com")], touching(), plural=plural)
    assert (found.superfluous, found.doubtful) == ([], [])


def test_a_namespace_that_the_run_works_in_is_left_alone() -> None:
    touched = touching("GET /api/v1/namespaces/team/configmaps/a")
    assert superfluous([meta("team"), meta("old")], touched, plural="namespaces") == {"old"}


def test_an_object_that_no_run_provably_created_is_kept_and_reported() -> None:
    by_another_key = {MARK: Marks(b"x" * 32).mark(OWNER.uid, ObjectName.of(MAPS.gvk, "default", "forged"))}
    of_another = {MARK: MARKS.mark("uid-of-its-predecessor", ObjectName.of(MAPS.gvk, "default", "inherited"))}
    copied = dict(meta("original").annotations)
    metas = [
        meta("unmarked", marked=False),
        meta("copy", annotations=copied),
        meta("forged", annotations=by_another_key),
        meta("inherited", annotations=of_another),
        meta("inherited-elsewhere", ownerReferences=[], annotations=BY_ANNOTATION, marked=False),
    ]
    found = findings(metas, touching())
    assert found.superfluous == []
    assert found.doubtful == [(ObjectKey(MAPS.gvk, "default", each.name), Fate.UNPROVEN) for each in metas]


RESOURCE: Json = {
    "metadata": {"uid": "uid-of-one", "generation": 1, "annotations": {"a": "1"}, "labels": {"a": "1"}},
    "spec": {"size": 1},
}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def changed(**metadata: Any) -> Json:
    return {**RESOURCE, "metadata": {**RESOURCE["metadata"], **metadata}}


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (RESOURCE, ""),
        (changed(annotations={"a": "2"}), ""),
        (changed(annotations={f"{PREFIX}paused": "2025-01-01T00:00:00Z"}), ""),
        (changed(uid="uid-of-two", generation=1), "another custom resource has its name now"),
        (changed(deletionTimestamp="2026-01-01T00:00:00Z"), "the custom resource is being deleted"),
        ({**RESOURCE, "status": {"phase": "Ready"}}, ""),
        ({**RESOURCE, "spec": {"size": 2}}, "the custom resource's spec changed during the run"),
        ({**RESOURCE, "data": {"a": "b"}}, "the custom resource's spec changed during the run"),
        (changed(labels={"a": "2"}), "the custom resource's labels changed during the run"),
        (changed(generation=2), "the custom resource's spec changed during the run"),
        (changed(annotations={f"{PREFIX}paused": "true"}), "the custom resource was paused during the run"),
        (changed(annotations={f"{PREFIX}mode": "check"}), "the custom resource asks for check runs now"),
    ],
)
def test_nothing_is_deleted_for_a_custom_resource_that_is_no_longer_as_the_run_read_it(
    now: Json, why: str
) -> None:
    assert reason_to_wait(RESOURCE, now, NOW, annotations_count=False) == why


def test_annotations_that_changed_during_the_run_count_where_the_role_depends_on_them() -> None:
    why = "the custom resource's annotations changed during the run"
    assert reason_to_wait(RESOURCE, changed(annotations={"a": "2"}), NOW, annotations_count=True) == why
    assert reason_to_wait(RESOURCE, RESOURCE, NOW, annotations_count=True) == ""


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
            Outcome(Ending.FINISHED, 0, Stats(ok=1), requeue_after=0.0),
            "",
            "it asked to be called again, and may not have come to its end",
        ),
        (Outcome(Ending.FINISHED, 0, Stats(ok=1), left_out="no hosts"), "", "no hosts"),
        (
            Outcome(Ending.FINISHED, 0, Stats(ok=1), forgiven=1),
            "",
            "a task of it failed, and was rescued or ignored",
        ),
    ],
)
def test_a_run_shows_what_is_still_wanted_if_it_was_whole_and_good(outcome: Outcome, part: str, why: str) -> None:
    assert reason_not_to_prune(outcome, part) == why


names = st.from_regex(r"[A-Za-z][A-Za-z0-9.-]{0,20}", fullmatch=True)
scopes = st.builds(
    Scope, st.builds(GroupVersionKind, st.one_of(st.just(""), names), names, names), st.one_of(st.just(""), names)
)


@given(st.frozensets(scopes))
def test_scopes_are_read_as_they_were_written(given: frozenset[Scope]) -> None:
    assert scopes_of(text_of(given)) == given


@given(st.text())
def test_scopes_are_read_next_to_any_text(text: str) -> None:
    assert scopes_of(f"{text},v1/ConfigMap@default") >= {MAPS}


def test_scopes_are_written_for_people() -> None:
    ingress = Scope(GroupVersionKind("networking.k8s.io", "v1", "Ingress"), "default")
    role = Scope(GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "")
    assert text_of({role, MAPS, ingress}) == (
        "v1/ConfigMap@default,networking.k8s.io/v1/Ingress@default,rbac.authorization.k8s.io/v1/ClusterRole@"
    )


class Lists(ObjectsApi):
    """Scopes with so many objects each."""

    def __init__(self, objects: int) -> None:
        self.objects = objects

    async def metadata(self, gvk: GroupVersionKind, namespace: str, *, most: int) -> tuple[str, list[ObjectMeta]]:
        if self.objects > most:
            raise TooManyObjectsError(f"there are more than {most} to look at")
        return "configmaps", [meta(f"{namespace}-{number}") for number in range(self.objects)]


async def test_objects_of_all_scopes_together_are_bounded() -> None:
    scopes = [Scope(MAPS.gvk, namespace) for namespace in ("a", "b", "c")]
    objects = Lists(MOST_LISTED * 2 // 5)
    found = await find(objects, scopes, Judge(OWNER, touching(), MARKS.creator))
    assert found.problems == [f"ConfigMaps cannot be listed: there are more than {MOST_LISTED // 5} to look at"]
