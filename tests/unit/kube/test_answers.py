"""What the API server's answers mean, however odd or deep they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.errors import (
    ApiError,
    ConflictError,
    CredentialsError,
    ForbiddenError,
    InvalidError,
    KindAbsentError,
    KubeError,
    StaleError,
    TooLargeError,
    UnreachableError,
)
from runner.kube.answers import decoded, error_of, error_of_event, shallow, too_deep
from runner.objects import LEVELS

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)),
    max_leaves=30,
)
TRICKY = {'"{': ["\\", '\\"}', {"]": "[[["}], "a": [[[[]]]]}


def cut(value: Any, levels: int) -> Any:
    """What `shallow` is to leave of it, by a plain recursion."""
    if isinstance(value, dict | list) and levels == 0:
        return None
    if isinstance(value, dict):
        return {key: cut(item, levels - 1) for key, item in value.items()}
    return [cut(item, levels - 1) for item in value] if isinstance(value, list) else value


@given(JSON, st.integers(0, 4), st.booleans(), st.sampled_from([None, 2]))
@example(TRICKY, 2, True, None)
def test_of_an_answer_only_what_is_nested_too_deeply_is_left_out(
    value: Any, levels: int, escaped: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent).encode()
    assert json.loads(shallow(text, levels)[0]) == cut(value, levels)


@given(st.binary(max_size=200))
def test_any_bytes_decode_to_a_value_or_a_value_error(text: bytes) -> None:
    shallow(text, 2)
    try:
        decoded(text)
    except ValueError:
        return


@given(
    st.integers(400, 599), st.one_of(JSON.map(lambda value: json.dumps(value).encode()), st.binary(max_size=50))
)
def test_any_refusal_is_an_error_of_ours(status: int, body: bytes) -> None:
    assert error_of(status, body).status == status


@given(st.dictionaries(st.sampled_from(["code", "message", "reason", "details"]), JSON))
def test_any_error_event_is_an_error_of_ours(body: dict[str, Any]) -> None:
    assert str(error_of_event(body))


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [201, 2_000, 100_000])
def test_no_depth_is_too_much_for_decoding(levels: int) -> None:
    found = decoded(b'{"items":[{"metadata":{"name":"deep"},"x":%s},{"metadata":{"name":"b"}}]}' % nested(levels))
    assert [item["metadata"]["name"] for item in found["items"]] == ["deep", "b"]


def test_the_fields_that_are_too_deep_are_named() -> None:
    text = b'{"kind":"Thing","spec":%s,"status": {"conditions":[]},"more" : %s}' % (nested(300), nested(LEVELS))
    assert too_deep(text) == ("spec", "more")
    assert too_deep(b'{"spec":%s}' % nested(LEVELS - 1)) == ()


def test_an_error_names_the_fields_it_is_about() -> None:
    causes = [{"field": "status.size", "message": "no"}, {"message": "no field"}, None]
    body = {"kind": "Status", "message": "invalid", "details": {"causes": causes}}
    error = error_of(422, json.dumps(body).encode())
    assert isinstance(error, InvalidError)
    assert error.fields == ("status.size",)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (413, "Request entity too large: limit is 3145728"),
        (500, "etcdserver: request is too large"),
        (500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max (29 vs. 20)"),
    ],
)
def test_a_too_large_error_stays_one_whatever_else_it_says(status: int, message: str) -> None:
    error = error_of(status, json.dumps({"kind": "Status", "message": message}).encode())
    assert isinstance(error, TooLargeError)
    assert not error.transient


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (UnreachableError("no answer"), True),
        (StaleError("gone"), True),
        (ConflictError(409, "Conflict", "no"), True),
        *((ApiError(status, "", "no"), True) for status in (429, 500, 502, 503, 504)),
        *((ApiError(status, "", "no"), False) for status in (301, 400, 401, 403, 404, 405, 410, 413, 415, 422)),
        (ForbiddenError(403, "Forbidden", "no"), False),
        (KindAbsentError("none"), False),
        (CredentialsError("none"), False),
    ],
    ids=str,
)
def test_only_some_errors_are_transient(error: KubeError, transient: bool) -> None:
    assert error.transient is transient
