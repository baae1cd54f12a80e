from __future__ import annotations

from typing import Any

import pytest

from runner.errors import CredentialsError
from runner.kube.impersonation import headers_of


def test_user_who_acts_as_nobody_else_sends_nothing() -> None:
    assert headers_of({"token": "t"}) == ()


def test_user_uid_groups_and_extra_fields_are_headers() -> None:
    user = {
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"reason": ["test", "rehearsal"]},
    }
    assert headers_of(user) == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-reason", "test"),
        ("Impersonate-Extra-reason", "rehearsal"),
    )


def test_key_of_an_extra_field_is_escaped_as_client_go_does() -> None:
    user = {"as": "jane", "as-user-extra": {"example.com/a b%ü": ["x"]}}
    assert headers_of(user)[1] == ("Impersonate-Extra-example.com%2Fa%20b%25%C3%BC", "x")


@pytest.mark.parametrize("more", [{"as-groups": ["g"]}, {"as-uid": "7"}, {"as-user-extra": {"a": ["b"]}}])
def test_groups_uid_and_extra_fields_need_a_user(more: dict[str, Any]) -> None:
    with pytest.raises(CredentialsError, match="without `as`"):
        headers_of(more)


def test_name_that_would_begin_another_header_is_refused() -> None:
    with pytest.raises(CredentialsError, match="cannot be sent"):
        headers_of({"as": "jane\r\nImpersonate-Group: system:masters"})
