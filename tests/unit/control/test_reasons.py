"""Why a run takes place: who changed what, from managedFields as the API server writes them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runner.control.reasons import (
    LONGEST,
    MOST_FIELDS,
    Previous,
    Tries,
    described,
    paths,
    previous,
    reason_of,
    told,
    told_all,
)
from runner.control.request import Reason, Reasons, Trigger
from runner.kube.listwatch import Change, Store, What
from runner.objects import GroupVersionKind, ObjectKey, managed_fields, parse_meta

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
KEY = ObjectKey(DEPLOYMENT, "default", "web")
NOW = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
EARLIER, JUST_NOW = "2026-01-01T12:00:00Z", "2026-01-01T12:00:30Z"
Entry = dict[str, Any]


def entry(manager: str, time: str, fields: Entry, operation: str = "Update", subresource: str = "") -> Entry:
    found: Entry = {"manager": manager, "operation": operation, "apiVersion": "apps/v1", "time": time}
    found |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
    return found | ({"subresource": subresource} if subresource else {})


def spec(**fields: Any) -> Entry:
    return {"f:spec": {f"f:{name}": value for name, value in fields.items()}}


ROLE = entry(
    "OpenAPI-Generator",
    EARLIER,
    {
        "f:metadata": {"f:ownerReferences": {".": {}, 'k:{"uid":"1"}': {}}},
        "f:spec": {
            "f:replicas": {},
            "f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}},
        },
    },
)
CONTROLLER = entry("kube-controller-manager", EARLIER, {"f:status": {"f:replicas": {}}}, subresource="status")


def body(version: str, generation: int, *entries: Entry, **metadata: Any) -> Entry:
    meta = {
        "name": "web",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": version,
        "generation": generation,
    }
    return {"metadata": {**meta, "managedFields": list(entries), **metadata}}


BEFORE = body("1", 1, ROLE, CONTROLLER)


def change(after: Entry, before: Entry = BEFORE) -> Change:
    """As a Store tells it."""
    store = Store(DEPLOYMENT)
    store.put(parse_meta(before), managed_fields(before))
    (found,) = store.put(parse_meta(after), managed_fields(after))
    return found


def why(after: Entry, before: Entry = BEFORE, trigger: Trigger = Trigger.DEPENDENT) -> Reason:
    return reason_of(change(after, before), trigger, NOW)


LOST = {**ROLE, "fieldsV1": {"f:spec": {"f:template": {}}}}
"""What is left of an entry when another manager has taken a field."""


@pytest.mark.parametrize(
    ("entries", "manager", "fields"),
    [
        ((LOST, entry("kubectl-edit", JUST_NOW, spec(replicas={}))), "kubectl-edit", ("spec.replicas",)),
        ((LOST, entry("kubectl-patch", JUST_NOW, spec(paused={}))), "kubectl-patch", ("spec.paused",)),
        (
            (entry("kubectl", JUST_NOW, spec(replicas={}), subresource="scale"), LOST, CONTROLLER),
            "kubectl",
            ("spec.replicas",),
        ),
        (
            (entry("argocd", JUST_NOW, spec(replicas={}), operation="Apply"), LOST),
            "argocd",
            ("spec.replicas",),
        ),
        (
            (LOST, entry("hpa", JUST_NOW, spec(replicas={})), {**CONTROLLER, "time": JUST_NOW}),
            "hpa",
            ("spec.replicas",),
        ),
    ],
    ids=["kubectl edit", "kubectl patch", "kubectl scale", "server-side apply", "beside a status"],
)
def test_a_reason_names_who_changed_which_fields(entries: tuple[Entry, ...], manager: str, fields: object) -> None:
    found = why(body("2", 2, *entries))
    assert (found.object, found.manager, found.fields, found.time) == (KEY, manager, fields, JUST_NOW)


def test_a_write_within_the_second_of_another_is_told_from_it() -> None:
    before = body("1", 1, {**ROLE, "time": JUST_NOW})
    after = body("2", 2, {**LOST, "time": JUST_NOW}, entry("kubectl-edit", JUST_NOW, spec(replicas={})))
    assert why(after, before).manager == "kubectl-edit"


def test_a_second_write_of_one_manager_within_a_second_is_still_theirs() -> None:
    edited = entry("kubectl-edit", JUST_NOW, spec(replicas={}))
    assert why(body("3", 3, LOST, edited), body("2", 2, LOST, edited)).manager == "kubectl-edit"


def test_nobody_is_named_where_a_field_was_only_removed() -> None:
    found = why(body("2", 2, LOST, CONTROLLER))
    assert (found.manager, found.fields, found.time) == ("", (), "2026-01-01T12:00:30Z")


def test_labels_and_annotations_are_named_one_by_one() -> None:
    notes = {"example.com/a": "1", "deployment.kubernetes.io/revision": "2"}
    owned: Entry = {
        "f:metadata": {"f:labels": {"f:tier": {}}, "f:annotations": {"f:example.com/a": {}, "f:old": {}}}
    }
    after = body("2", 1, ROLE, entry("kubectl-label", JUST_NOW, owned), labels={"tier": "db"}, annotations=notes)
    found = why(after)
    assert found.manager == "kubectl-label"
    assert found.fields == ("metadata.labels.tier", "metadata.annotations['example.com/a']")


def test_only_what_has_changed_of_the_fields_of_a_manager_is_named() -> None:
    owned = {**spec(replicas={}), "f:metadata": {"f:labels": {"f:tier": {}}}}
    after = body("2", 2, LOST, entry("kubectl-edit", JUST_NOW, owned))
    assert why(after).fields == ("spec.replicas",)


def test_a_deletion_is_told_without_who_did_it() -> None:
    meta = parse_meta(BEFORE)
    found = reason_of(Change(What.GONE, DEPLOYMENT, meta, None), Trigger.DEPENDENT, NOW)
    assert found == Reason(Trigger.DEPENDENT, KEY, fields=("metadata.deletionTimestamp",))
    assert told(found) == "Deployment default/web deleted"


def test_an_object_that_appears_is_told_with_who_made_it() -> None:
    made = body("1", 1, entry("kubectl-create", JUST_NOW, spec(replicas={})))
    (first,) = Store(DEPLOYMENT).put(parse_meta(made), managed_fields(made))
    found = reason_of(first, Trigger.REFERENCE, NOW)
    assert found == Reason(Trigger.REFERENCE, KEY, "kubectl-create", ("metadata.creationTimestamp",))
    assert told(found) == "Deployment default/web created by kubectl-create"


def test_a_new_object_is_told_with_who_made_it_and_not_with_all_its_fields() -> None:
    made = entry("kubectl-create", JUST_NOW, spec(replicas={}))
    new = body("1", 1, made)
    (first,) = Store(DEPLOYMENT).put(parse_meta(new), managed_fields(new))
    assert reason_of(first, Trigger.CREATED, NOW) == Reason(Trigger.CREATED, KEY, manager="kubectl-create")
    assert told(reason_of(first, Trigger.CREATED, NOW)) == "created by kubectl-create"


def test_a_change_of_a_kind_without_generation_names_its_content() -> None:
    before = body("1", 0, entry("role", EARLIER, {"f:data": {"f:a": {}, "f:b": {}}}))
    after = body(
        "2", 0, entry("role", EARLIER, {"f:data": {"f:b": {}}}), entry("me", JUST_NOW, {"f:data": {"f:a": {}}})
    )
    assert (why(after, before).manager, why(after, before).fields) == ("me", ("data.a",))


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        ({"f:a": {".": {}, "f:b": {}}}, ("a.b",)),
        ({"f:a": {".": {}}}, ("a",)),
        ({"f:list": {'k:{"name":"web","port":80}': {".": {}, "f:image": {}}}}, ("list[].image",)),
        ({"f:list": {'k:{"name":"a"}': {"f:image": {}}, 'k:{"name":"b"}': {"f:image": {}}}}, ("list[].image",)),
        ({"f:set": {'v:"one"': {}, 'v:"two"': {}}}, ("set[]",)),
        ({"f:list": {"i:3": {}}}, ("list[3]",)),
        ({"f:data": {"f:tls.crt": {}}}, ("data['tls.crt']",)),
        ({"f:list": {"i:secret": {}}}, ("list[]",)),
        ({"f:list": {"k:nonsense": {}}}, ("list[]",)),
        ({"f:a": None, "odd": 3}, ("a", "[]")),
    ],
)
def test_a_path_is_written_as_people_read_it(owned: Entry, expected: tuple[str, ...]) -> None:
    assert paths(owned) == expected


def test_many_fields_are_told_by_what_they_have_in_common() -> None:
    many: Entry = {f"f:{number}": {} for number in range(MOST_FIELDS + 1)}
    assert paths({"f:spec": {"f:template": many, "f:replicas": {}}}) == ("spec.template", "spec.replicas")
    assert len(paths(many)) == MOST_FIELDS


def test_values_that_identify_items_of_a_list_stay_out_of_reasons() -> None:
    owned = spec(finalKeys={'v:"hunter2"': {}}, users={'k:{"password":"hunter2"}': {".": {}, "f:role": {}}})
    found = why(body("2", 2, LOST, entry("me", JUST_NOW, owned)))
    assert found.fields == ("spec.finalKeys[]", "spec.users[].role")
    assert "hunter2" not in repr(found)


def test_items_beyond_the_bound_are_named_by_what_they_have_in_common() -> None:
    users: Entry = {f'k:{{"name":"{number}"}}': {"f:role": {}} for number in range(5000)}
    assert paths({"f:spec": {"f:users": users}}) == ("spec.users",)


def test_text_of_others_is_bounded_and_on_one_line() -> None:
    deep: Entry = {}
    for _ in range(2000):
        deep = {f"f:{'x' * 50}": deep}
    hostile = entry("evil\n{{ lookup('pipe', 'id') }}" + "x" * 500, JUST_NOW, {"f:spec": deep, "f:a\x1b[31m": {}})
    found = why(body("2", 2, LOST, hostile))
    assert [len(text) <= LONGEST for text in (found.manager, *found.fields)] == [True, True, True]
    assert told(found).isprintable()


@pytest.mark.parametrize("managed", [None, {}, [1, None], [{"manager": {"a": 1}, "time": [], "fieldsV1": 7}]])
def test_a_reason_does_without_managed_fields_that_are_none(managed: object) -> None:
    found = why(body("2", 2) | {"metadata": {**body("2", 2)["metadata"], "managedFields": managed}})
    assert (found.object, found.fields) == (KEY, ())


EDITED = Reason(Trigger.DEPENDENT, KEY, "kubectl-edit", ("spec.replicas",), JUST_NOW)


def test_a_dependents_change_is_told_in_a_sentence() -> None:
    assert told(EDITED) == "Deployment default/web changed by kubectl-edit: spec.replicas"
    assert told(Reason(Trigger.PERIOD)) == "period"
    assert told(replace(EDITED, trigger=Trigger.CHANGED)) == "changed by kubectl-edit: spec.replicas"


def test_of_many_reasons_the_first_are_told_and_how_many_more_there_are() -> None:
    reasons = Reasons((Reason(Trigger.RETRY), *(replace(EDITED, manager=str(n)) for n in range(5))), more=2)
    assert told_all(reasons, {Trigger.DEPENDENT})[3:] == ["and 4 more"]
    assert told_all(reasons, {Trigger.REFERENCE}) == []


def test_a_reason_is_described_without_what_is_unknown() -> None:
    due = NOW - timedelta(seconds=10)
    assert described(Reasons((EDITED, Reason(Trigger.PERIOD))), due) == [
        {
            "trigger": "dependent",
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "default",
            "name": "web",
            "manager": "kubectl-edit",
            "fields": ["spec.replicas"],
            "time": JUST_NOW,
        },
        {"trigger": "period", "time": "2026-01-01T12:00:20Z"},
    ]
    assert json.dumps(described(Reasons((EDITED,)), due))


def test_the_reasons_of_a_request_are_bounded_and_none_is_told_twice() -> None:
    reasons = Reasons.of(Trigger.CHANGED)
    for number in range(30):
        reasons += Reasons.of(Trigger.DEPENDENT, replace(EDITED, manager=str(number)))
        reasons += Reasons.of(Trigger.DEPENDENT, replace(EDITED, manager="0", time=f"{number}"))
    assert (len(reasons.first), reasons.most_urgent) == (10, Trigger.CHANGED)
    assert reasons.more == 21


def test_attempts_count_within_a_generation_and_know_how_the_last_one_ended() -> None:
    tries = Tries()
    assert tries.begin(KEY, 1, Previous.FAILED) == (1, Previous.FAILED)
    tries.ended(KEY, 1, 1, "requeued")
    assert tries.begin(KEY, 1, Previous.INTERRUPTED) == (2, Previous.SUCCEEDED)
    tries.ended(KEY, 1, 2, "failed")
    assert tries.begin(KEY, 2, Previous.UNKNOWN) == (1, Previous.FAILED)
    tries.forget(KEY)
    assert tries.begin(KEY, 2, Previous.UNKNOWN) == (1, Previous.UNKNOWN)


def condition(kind: str, value: str, reason: str = "") -> Entry:
    return {"type": kind, "status": value, "reason": reason}


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], Previous.UNKNOWN),
        ([condition("Running", "True", "Successful"), condition("Successful", "True")], Previous.SUCCEEDED),
        ([condition("Running", "False", "Running"), condition("Failure", "True", "Failed")], Previous.FAILED),
        ([condition("Running", "True", "Running"), condition("Failure", "True")], Previous.INTERRUPTED),
        ([condition("Running", "False", "Interrupted"), condition("Successful", "False")], Previous.INTERRUPTED),
    ],
)
def test_a_new_operator_knows_by_the_conditions_how_the_run_before_ended(
    conditions: list[Entry], expected: Previous
) -> None:
    assert previous({"status": {"conditions": conditions}}) is expected
