"""What the schemas of CRDs declare, at paths as `crd` in watches.yaml has them."""

from __future__ import annotations

from typing import Any

import pytest

from runner.validate.manifests.schemas import declared, nearest

NAME = {"type": "string"}
USER = {"type": "object", "properties": {"name": NAME}}
SPEC = {"type": "object", "properties": {"users": {"type": "array", "items": USER}, "size": {"type": "integer"}}}
ROOT: dict[str, Any] = {"type": "object", "properties": {"spec": SPEC}}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "additionalProperties": NAME}


@pytest.mark.parametrize(
    ("path", "found"), [(".", ROOT), ("spec", SPEC), ("spec.users[]", USER), ("spec.users[].name", NAME)]
)
def test_a_path_leads_to_its_schema(path: str, found: dict[str, Any]) -> None:
    assert declared(ROOT, path) is found


@pytest.mark.parametrize("path", ["spec.nothing", "spec.size.deeper", "spec[]", "spec.users.name"])
def test_a_path_that_leads_nowhere_has_none(path: str) -> None:
    assert declared(ROOT, path) is None


def test_what_is_kept_without_being_declared_has_none() -> None:
    assert declared({"properties": {"spec": OPEN}}, "spec.anything") is None


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("spec.user[].name", "; did you mean spec.users[].name?"),
        ("spec.sise", "; did you mean spec.size?"),
        ("q", ""),
    ],
)
def test_the_nearest_path_is_what_may_be_meant(path: str, hint: str) -> None:
    assert nearest(ROOT, path) == hint
