"""Values in JSON text are found where Python's decoder finds them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.objects import nested_deeper
from runner.serve.admission.jsontext import Span, decoded, find, items, members, value_at

TEXTS = st.text(st.sampled_from('a"\\{}[],: \n\u00e9\U0001f600\x00'), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def text_of(value: Any, indent: int | None, *, ascii_only: bool) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()


def sliced(text: bytes, span: Span) -> Any:
    return json.loads(text[span.start : span.end])


@given(value=VALUES, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_a_value_ends_where_it_ends_and_is_as_deep_as_it_is(
    value: Any, indent: int | None, ascii_only: bool
) -> None:
    before, text = b' ["x", ', text_of(value, indent, ascii_only=ascii_only)
    span = value_at(before + text + b" , 1]", len(before))
    assert span[:2] == (len(before), len(before) + len(text))
    assert not nested_deeper(value, span.depth)
    assert span.depth < 3 or nested_deeper(value, span.depth - 1)


@given(value=VALUES, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_items_and_members_are_those_of_the_decoder(value: Any, indent: int | None, ascii_only: bool) -> None:
    array = text_of([value, value], indent, ascii_only=ascii_only)
    assert [sliced(array, span) for span in items(array, 0)] == [value, value]
    map_ = text_of({"a": value, '"\\': [value]}, indent, ascii_only=ascii_only)
    assert {name: decoded(map_, start) for name, start in members(map_, 0)} == json.loads(map_)
    assert decoded(map_, find(map_, 0, '"\\')) == [value]
    assert find(map_, 0, "a", "\x01") is None


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"a"}', b'{"a":}', b'{"a":1', b'{"a":1]', b"{1:2}", b'{"a":1,', b"[1"]
)
def test_what_is_no_object_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|no "):
        dict(members(text, 0))


@pytest.mark.parametrize("text", [b"", b"[", b"[1", b"[1 2]", b"[1}", b"[[1]", b'["a]', b"[,]", b"{}"])
def test_what_is_no_array_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|no "):
        list(items(text, 0))


def test_an_empty_array_has_no_items_and_an_empty_object_no_members() -> None:
    assert list(items(b" [ ] ", 0)) == []
    assert list(members(b" { } ", 0)) == []


@pytest.mark.parametrize("levels", [1000, 100_000])
def test_no_depth_is_too_much(levels: int) -> None:
    text = b'{"a": [1, ' * levels + b"2" + b"]}" * levels
    assert value_at(text, 0) == Span(0, len(text), 2 * levels)
