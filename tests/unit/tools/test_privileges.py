"""What an account may do, held against what it did by the audit log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.privileges import MANIFESTS, REASONS, Right, Use, explained, given_by, main, objections, use_of

ACCOUNT, USER = "system/controller-manager", "system:serviceaccount:system:controller-manager"
PODS = [("manager-role", Right("pods", verb)) for verb in ("get", "list")]
BINDING = {"kind": "Role", "name": "manager-role"}


def event(verb: str, *, user: str = USER, decision: str = "allow", **about: str) -> str:
    reason = f'RBAC: allowed by RoleBinding "b/system" of {BINDING["kind"]} "{BINDING["name"]}" to ServiceAccount'
    notes = {"authorization.k8s.io/decision": decision}
    if decision == "allow":
        notes["authorization.k8s.io/reason"] = reason
    body: dict[str, Any] = {"stage": "ResponseComplete", "verb": verb, "user": {"username": user}}
    return json.dumps(body | {"annotations": notes} | ({"objectRef": about} if about else {}))


def manifests(account: str = "controller-manager") -> list[dict[str, Any]]:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "system"}
    return [
        {"kind": "Role", "metadata": {"name": "manager-role"}, "rules": [rule]},
        {"kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": BINDING, "subjects": [subject]},
    ]


def test_a_right_is_used_when_its_role_allowed_a_request() -> None:
    use = use_of([event("get", resource="pods"), event("list", resource="pods")], USER)
    assert (use.requests, use.allowed, use.refused) == (2, set(PODS), set())


def test_a_subresource_and_its_group_are_part_of_the_name() -> None:
    use = use_of([event("update", resource="podsets", subresource="status", apiGroup="g.example.com")], USER)
    assert use.allowed == {("manager-role", Right("podsets/status.g.example.com", "update"))}


@pytest.mark.parametrize("line", [event("get"), event("get", user="system:admin", resource="pods")])
def test_discovery_and_what_others_did_do_not_count(line: str) -> None:
    assert use_of([line], USER) == Use()


def test_a_refused_request_is_an_objection() -> None:
    use = use_of([event("get", decision="forbid", resource="secrets")], USER)
    assert objections(set(), use, ()) == ["refused: get secrets"]


def test_what_is_given_and_not_used_is_an_objection_unless_there_is_a_reason() -> None:
    use = use_of([event("get", resource="pods")], USER)
    unused = "given, but not used, and there is no reason in the table: list pods"
    assert objections(set(PODS), use, ()) == [unused]
    assert objections(set(PODS), use, [Right("pods", "list")]) == []


def test_a_reason_for_what_is_not_given_is_an_objection() -> None:
    stale = Right("pods", "watch")
    assert objections(set(PODS), Use(2, set(PODS)), [stale]) == ["in the table, but not given: watch pods"]


def test_only_roles_that_are_bound_to_the_account_give_it_rights() -> None:
    assert given_by(manifests(), ACCOUNT) == set(PODS)
    assert given_by(manifests("other"), ACCOUNT) == set()


def test_a_reason_stands_for_each_verb_and_resource_of_its_row() -> None:
    page = "| `get, list` | `pods`, `jobs.batch` | once a year |\n"
    assert set(explained(page)) == {
        Right(what, verb) for what in ("pods", "jobs.batch") for verb in ("get", "list")
    }


def test_each_reason_of_the_page_is_for_a_right_that_the_manifests_give() -> None:
    files = [file for file in MANIFESTS.glob("*.yaml") if file.name != "kustomization.yaml"]
    given = given_by((one for file in files for one in yaml.safe_load_all(file.read_text())), ACCOUNT)
    reasons = set(explained(REASONS.read_text()))
    assert reasons
    assert reasons <= {right for _, right in given}


def test_a_log_without_requests_of_the_account_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit.log").write_text(event("get", user="system:admin", resource="pods"))
    assert main(str(tmp_path / "audit.log"), ACCOUNT) == 1
    assert "given, but not used" in capsys.readouterr().err
