"""A ConversionReview is answered object by object: no object keeps another from its answer."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from runner.config.admission import Conversion
from runner.config.watches import Content, Watch
from runner.errors import ReviewError
from runner.objects import LEVELS, GroupVersionKind
from runner.serve.admission.conversion import LOST, UNCONVERTED
from runner.serve.admission.conversionreview import Answered, closing, converted, opening, parse

GVK = GroupVersionKind("example.com", "v1", "Thing")
MAPS = {
    "v2": Conversion({"size": "spec.replicas"}, {"replicas": "spec.size"}),
    "v3": Conversion({"count": "length(spec.names)", "first": "spec.names[0]"}, {"names": "[spec.first]"}),
}
WATCHES = {("example.com", "Thing"): Watch(GVK, Content(Path("/r"), is_role=True), conversions=MAPS)}
LEVELS_OF_SERVER = 10_000
"""Levels that Go's decoder takes."""


def thing(spec: Any, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "here", **metadata}
    return {"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": metadata, "spec": spec}


def deep(levels: int, version: str = "v1") -> str:
    """An object of so many levels, as text: Python's encoder could not write it."""
    head = '"metadata": {"name": "deep", "managedFields": [{"fieldsV1": %s}]}' % (
        '{"f:x":' * levels + "{}" + "}" * levels
    )
    spec = '{"x": [' * (levels // 2) + "7" + "]}" * (levels // 2)
    return f'{{"apiVersion": "example.com/{version}", "kind": "Thing", {head}, "spec": {spec}}}'


def text_of(*objects: Any, to: str = "example.com/v2", **changes: Any) -> bytes:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in objects]
    request = {"uid": "u", "desiredAPIVersion": to, "objects": "OBJECTS", **changes}
    review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}
    return json.dumps(review).replace('"OBJECTS"', f"[{', '.join(texts)}]").encode()


def answers(*objects: Any, to: str = "example.com/v2") -> list[Answered]:
    return list(converted(parse(text_of(*objects, to=to)), WATCHES))


def test_the_pieces_of_an_answer_are_a_conversion_review() -> None:
    request = parse(text_of(thing({"replicas": 1}), thing({"size": 2}, "v2")))
    objects = b", ".join(one.text for one in converted(request, WATCHES))
    answer = json.loads(opening(request) + objects + closing())
    assert answer == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "response": {
            "uid": "u",
            "convertedObjects": [thing({"size": 1}, "v2"), thing({"size": 2}, "v2")],
            "result": {"status": "Success"},
        },
    }
    failed = json.loads(opening(request) + closing("why"))["response"]
    assert failed["result"] == {"status": "Failed", "message": "why"}


@pytest.mark.parametrize(
    "order", [("uid", "desiredAPIVersion", "objects"), ("objects", "desiredAPIVersion", "uid")]
)
def test_the_order_of_the_members_does_not_matter(order: tuple[str, ...]) -> None:
    request = {"uid": "u", "desiredAPIVersion": "example.com/v2", "objects": [thing({"replicas": 1})]}
    review = {"request": {name: request[name] for name in order}}
    head = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}
    for text in (json.dumps(review | head), json.dumps(head | review, indent=2)):
        (only,) = converted(parse(text.encode()), WATCHES)
        assert json.loads(only.text) == thing({"size": 1}, "v2")


@pytest.mark.parametrize("levels", [LEVELS - 10, LEVELS, 495, 700, 2000, 9000])
def test_an_object_of_any_depth_comes_back_as_it_was_and_so_do_the_others(levels: int) -> None:
    first, second, third = answers(thing({"replicas": 1}), deep(levels), thing({"replicas": 2}))
    assert json.loads(first.text) == thing({"size": 1}, "v2")
    assert json.loads(third.text) == thing({"size": 2}, "v2")
    if levels >= LEVELS:
        assert second.text.decode() == deep(levels, "v2")
        assert (str(second.key), second.why) == ("Thing deep", f"nested deeper than {LEVELS} levels")
    else:
        assert second.why == ""
        assert json.loads(second.text)["spec"] == json.loads(deep(levels))["spec"]


def test_what_is_too_deep_for_the_api_server_is_cut_off() -> None:
    (only,) = answers(deep(LEVELS_OF_SERVER - 10))
    assert only.text.startswith(b'{"apiVersion": "example.com/v2", "kind": "Thing"')
    assert depth(only.text) < LEVELS_OF_SERVER - 3
    assert depth(only.text) > LEVELS_OF_SERVER - 20


def depth(text: bytes) -> int:
    level = deepest = 0
    for mark in text:
        level += (mark in b"{[") - (mark in b"}]")
        deepest = max(deepest, level)
    return deepest


def test_an_object_that_python_cannot_decode_comes_back_as_it_was() -> None:
    body = json.dumps(thing({"number": 7, "replicas": 1})).replace("7", "9" * 5000)
    (only,) = answers(body)
    assert only.text.decode() == body.replace("example.com/v1", "example.com/v2")
    assert "ValueError" in only.why


def test_an_expression_that_cannot_be_evaluated_fails_no_list() -> None:
    first, second = answers(thing({"names": 3}), thing({"names": ["a", "b"]}), to="example.com/v3")
    assert "length" in first.why
    assert json.loads(first.text) == thing({"names": 3}, "v3", annotations={UNCONVERTED: "v1"})
    assert json.loads(second.text)["spec"] == {"count": 2, "first": "a"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (text_of(thing({}, "v9")), "has no version v9"),
        (text_of(deep(700, "v9")), "has no version v9"),
        (text_of(thing({}), to="example.com/v9"), "has no version v9"),
        (text_of(thing({}), to="other.com/v1"), "is not converted here"),
        (text_of({"kind": "Thing"}), "a map with metadata"),
        (text_of(7), "a map with metadata"),
        (text_of(thing({}))[:-40], "not JSON"),
        (text_of(thing({})).replace(b'"spec"', b'"spec" "'), "not JSON"),
    ],
)
def test_a_review_that_is_not_for_the_operator_is_failed_with_the_reason(text: bytes, why: str) -> None:
    with pytest.raises(ReviewError, match=why):
        list(converted(parse(text), WATCHES))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"7",
        b"[",
        b"{",
        b'{"a": ' * 5000,
        b'{"kind": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"kind": "' + b'\\"' * 100_000,
        text_of(objects=None),
        text_of(objects={}),
        text_of(desiredAPIVersion=7),
        text_of(uid=""),
        text_of(uid=7),
        text_of().replace(b"ConversionReview", b"AdmissionReview"),
        text_of().replace(b"/v1", b"/v1beta1"),
        json.dumps({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": 7}).encode(),
    ],
)
def test_a_text_that_is_no_review_is_refused(text: bytes) -> None:
    with pytest.raises(ReviewError):
        parse(text)


def test_a_text_without_an_end_is_refused_in_linear_time() -> None:
    started = time.process_time()
    for text in (
        b'{"request": "' + b'\\"' * 2_000_000,
        b'{"request": ' + b"[" * 2_000_000,
        b'{"request": [' * 200_000,
    ):
        with pytest.raises(ReviewError):
            parse(text)
    assert time.process_time() - started < 20


COUNT = 10_000
NAMES = ["size", "replicas", "names", "first", "count", "a.b", "", "é", "\u2028", "x" * 300, "__proto__", "spec"]
LEAVES = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    -1,
    1e300,
    2**70,
    "",
    "a",
    "7",
    "nan",
    "\U0001f600",
    "\x00",
    '"',
    "\\",
    "[{",
]


class Chance:
    """Random objects, the same ones each time."""

    def __init__(self) -> None:
        self._random = random.Random(20261123)

    def value(self, levels: int) -> Any:
        chance = self._random.random()
        if levels <= 0 or chance < 0.4:
            return self._random.choice(LEAVES)
        if chance < 0.6:
            return [self.value(levels - 1) for _ in range(self._random.randrange(4))]
        return {name: self.value(levels - 1) for name in self._random.sample(NAMES, self._random.randrange(4))}

    def spec(self) -> str:
        """A spec as text: mostly small, some nested without end, some long, some none."""
        kind = self._random.randrange(100)
        if kind < 4:
            levels = self._random.choice([100, 120, 130, 500, 990, 1000, 3000])
            return '{"names": ' + "[" * levels + "1" + "]" * levels + "}"
        if kind < 8:
            return json.dumps({name: "x" * self._random.randrange(20_000) for name in ("size", "names", "first")})
        if kind < 10:
            return json.dumps({"names": ["y" * 300_000], "replicas": {"a" * 1000: {"b" * 1000: 1}}})
        return json.dumps(self.value(6) if kind < 20 else {name: self.value(4) for name in self._names()})

    def object(self, number: int) -> str:
        version = self._random.choice(["v1", "v2", "v3"])
        metadata: dict[str, Any] = {"name": f"a{number}", "namespace": "here", "labels": {"a": "b"}}
        if self._random.random() < 0.2:
            metadata["annotations"] = {"a": "b", **self._forged()}
        text = json.dumps({"apiVersion": f"example.com/{version}", "kind": "Thing", "metadata": metadata})
        return text.removesuffix("}") + f', "spec": {self.spec()}}}'

    def _names(self) -> list[str]:
        return self._random.sample(NAMES, self._random.randrange(6))

    def _forged(self) -> dict[str, str]:
        notes = {
            version: [[["spec", *self._names()], [], [self.value(3)]]] for version in ("v1", "v2", "v3", "v9")
        }
        text = json.dumps(notes)
        return self._random.choice(
            [
                {LOST: text},
                {LOST: text[: self._random.randrange(len(text))]},
                {UNCONVERTED: "v3"},
                {UNCONVERTED: "v9"},
            ]
        )


def test_ten_thousand_odd_objects_come_back_and_lose_nothing_on_the_way_there_and_back() -> None:
    chance = Chance()
    objects = [chance.object(number) for number in range(COUNT)]
    started = time.process_time()
    slowest = 0.0
    for to, these in (("v2", objects[::2]), ("v3", objects[1::2])):
        there = []
        at = time.process_time()
        for one in converted(parse(text_of(*these, to=f"example.com/{to}")), WATCHES):
            slowest = max(slowest, time.process_time() - at)
            there.append(one)
            at = time.process_time()
        assert all(f'"{one.key.name}"' in before for one, before in zip(there, these, strict=True))
        assert all(f'"example.com/{to}"'.encode() in one.text[:60] for one in there)
        for version in ("v1", "v2", "v3"):
            mine = [pair for pair in zip(these, there, strict=True) if f"/{version}" in pair[0][:40]]
            back = list(
                converted(
                    parse(text_of(*(one.text.decode() for _, one in mine), to=f"example.com/{version}")), WATCHES
                )
            )
            for (before, _), after in zip(mine, back, strict=True):
                check(before, after.text.decode())
    assert time.process_time() - started < 60
    assert slowest < 1


def check(before: str, after: str) -> None:
    """Whether an object is as it was; one that somebody forged notes for, but for its spec and notes."""
    try:
        old, new = json.loads(before), json.loads(after)
    except RecursionError:
        assert after == before
        return
    annotations = old["metadata"].get("annotations", {})
    forged = {LOST, UNCONVERTED} & set(annotations)
    if forged:
        for body in (old, new):
            del body["spec"]
            for name in (LOST, UNCONVERTED):
                body["metadata"].get("annotations", {}).pop(name, None)
    assert json.dumps(new, sort_keys=True) == json.dumps(old, sort_keys=True)
