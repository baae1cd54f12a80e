"""Marks prove which custom resource's run created an object."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.marks import MARK, Marks, ObjectName, claimed_creator

MARKS = Marks(b"k" * 32)
NAME = ObjectName("apps", "Deployment", "default", "web")
names = st.builds(ObjectName, st.text(), st.text(), st.text(), st.text())


@given(st.text(st.characters(exclude_characters=".", categories=["L", "Nd"]), min_size=1), names)
def test_a_mark_proves_the_custom_resource_that_it_was_made_for(uid: str, name: ObjectName) -> None:
    assert MARKS.creator({MARK: MARKS.mark(uid, name)}, name) == uid


@pytest.mark.parametrize(
    "other",
    [
        ObjectName("apps", "Deployment", "default", "copy"),
        ObjectName("apps", "Deployment", "elsewhere", "web"),
        ObjectName("apps", "ReplicaSet", "default", "web"),
        ObjectName("", "Deployment", "default", "web"),
    ],
)
def test_the_mark_of_one_object_proves_nothing_on_another(other: ObjectName) -> None:
    assert MARKS.creator({MARK: MARKS.mark("uid", NAME)}, other) == ""


def test_a_mark_with_another_uid_put_in_proves_nothing() -> None:
    _, _, digest = MARKS.mark("uid", NAME).partition(".")
    assert MARKS.creator({MARK: f"other.{digest}"}, NAME) == ""


def test_a_mark_of_another_key_proves_nothing_but_names_its_creator() -> None:
    annotations = {MARK: Marks(b"x" * 32).mark("uid", NAME)}
    assert MARKS.creator(annotations, NAME) == ""
    assert claimed_creator(annotations) == "uid"


@given(st.text())
def test_what_is_no_mark_proves_nothing(text: str) -> None:
    assert MARKS.creator({MARK: text}, NAME) == ""


def test_an_object_without_a_mark_has_no_creator() -> None:
    assert MARKS.creator({}, NAME) == ""
    assert claimed_creator({}) == ""


@given(st.text(), st.text())
def test_a_signed_text_is_read_back_for_its_own_uid_alone(uid: str, text: str) -> None:
    signed = MARKS.signed(uid, text)
    assert MARKS.unsigned(uid, signed) == text
    assert MARKS.unsigned(f"{uid}x", signed) == ""


@given(st.text())
def test_a_text_that_nobody_signed_is_empty(text: str) -> None:
    assert MARKS.unsigned("uid", text) == ""


def test_a_signed_text_that_was_changed_is_empty() -> None:
    assert MARKS.unsigned("uid", f"more,{MARKS.signed('uid', 'text')}") == ""
