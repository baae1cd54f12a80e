"""Ten thousand odd objects through admission: each has one well-formed answer, in bounded time and memory."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runner.config.admission import Admission
from runner.config.watches import Content, Watch
from runner.errors import NotFoundError, ReviewError
from runner.execute import specs as execute_specs
from runner.execute.specs import Specs
from runner.objects import LEVELS, Body, GroupVersionKind, ObjectKey
from runner.serve.admission import reviewer as reviewer_module
from runner.serve.admission.review import MOST_VALUES, Review, Verdict, answer, parse
from runner.serve.admission.reviewer import Reviewer
from runner.serve.admission.tasks import Performed

OBJECTS = 10_000
AT_ONCE = 8
LARGE = 250
"""One of so many objects is large."""
P95, LONGEST = 0.05, 9.0
"""Seconds of this process, with as many at once; the longest is what the API server waits.

What a worker of the argument specs may take is limited by the kernel, also in seconds of processor time.
"""
GROWTH = 96 << 20
"""Bytes that this process, which holds the objects, may grow by."""
SEED = 20261123

GVK = GroupVersionKind("example.com", "v1", "Thing")
DISK = {"size_limit": {"type": "int", "required": True}, "name": {}, "inner": {"type": "dict"}}
OPTIONS: dict[str, Any] = {
    "size": {"type": "int"},
    "ratio": {"type": "float"},
    "debug": {"type": "bool"},
    "mode": {"choices": ["fast", "safe"]},
    "raw": {"type": "raw"},
    "bits": {"type": "bits"},
    "path": {"type": "path"},
    "json_text": {"type": "json"},
    "ports": {"type": "list", "elements": "int"},
    "labels": {"type": "dict"},
    "password": {"type": "str", "no_log": True},
    "disks": {
        "type": "list",
        "elements": "dict",
        "options": DISK,
        "required_together": [["name", "inner"]],
        "mutually_exclusive": [["size_limit", "name"]],
    },
    "nested": {
        "type": "dict",
        "no_log": True,
        "options": {"disks": {"type": "list", "elements": "dict", "options": DISK}, "size": {"type": "int"}},
    },
}
KEYS = (
    *("size", "ratio", "debug", "mode", "raw", "bits", "path", "jsonText", "ports", "labels", "password", "disks"),
    *("nested", "sizeLimit", "size_limit", "name", "inner", "", " ", ".", "..", "a/b", "~", "~1", "a.b", "Size"),
    *("SIZE", "sIZE", "HTTPPort", "ansible_connection", "__ansible_unsafe", "hostvars", "vars", "é", "\x00", "\n"),
    *("\ud800", "\u2028", "x" * 300, "_", "spec", "metadata", "$ref", "constructor", "%s", "{{ size }}", "None"),
)
SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 2**63, -(2**70), 10**300, 0.5, -0.0, 1e308, float("inf"), float("nan")),
    *(
        "",
        " ",
        "fast",
        "7",
        "0x1f",
        "1e3",
        "yes",
        "{{ 3 }}",
        "{% raw %}",
        "{%",
        "a,b,c",
        "a=1 b=2",
        "[1, 2",
        "{'a': 1}",
    ),
    *(
        "{",
        "import os.path",
        "\x00",
        "\x1b[31m",
        "\ud800",
        "\u202e",
        "é" * 50,
        "9" * 400,
        "1e999999999",
        "inf",
        "10MB",
        "1 Zb",
        "~",
        "$HOME",
    ),
)
DEFAULTS = {"size": "3", "labels": {"a": {"b": 1}}, "disks": [{"size_limit": 1}], "a/b": {"~": 1}, "mode": "fast"}


@dataclass
class Odd:
    """Makes odd values, the same ones each time."""

    chance: random.Random

    def value(self, depth: int = 0) -> Any:
        kind = self.chance.random()
        if depth > 6 or kind < 0.5:
            return self.chance.choice(SCALARS)
        number = self.chance.choice((0, 1, 1, 2, 3, 5))
        if kind < 0.7:
            return [self.value(depth + 1) for _ in range(number)]
        return {self.chance.choice(KEYS): self.value(depth + 1) for _ in range(number)}

    def large(self) -> Any:
        """What an author of attacks would send."""
        deep: Any = 1
        for _ in range(self.chance.choice((LEVELS - 3, LEVELS, LEVELS + 1, 400))):
            deep = self.chance.choice(([deep], {"a": deep}))
        return self.chance.choice(
            (
                {"raw": deep},
                {"labels": deep},
                {"disks": [{}] * (MOST_VALUES - 1)},
                {"disks": [{"size_limit": "1", "x": 2}] * (MOST_VALUES // 3)},
                {"labels": "{1:[" + "[]," * 100_000 + "]}"},
                {"labels": {f"k{number}": number for number in range(MOST_VALUES + 1)}},
                {"ports": list(range(MOST_VALUES * 2))},
                {"mode": "x" * 1_000_000, "y" * 500_000: 1},
                {"nested": {f"k{number}": "x" * 100 for number in range(5_000)}},
                {f"size{number}": number for number in range(MOST_VALUES)},
                {"jsonText": "[" * 100_000, "ports": "," * 500_000},
                {"bits": "9" * 5_000, "size": "9" * 5_000, "path": "$HOME/" * 100_000},
            )
        )

    def spec(self, number: int) -> Any:
        if number % LARGE == 0:
            return self.large()
        if self.chance.random() < 0.05:
            return self.value()
        return {self.chance.choice(KEYS): self.value(1) for _ in range(self.chance.randint(0, 6))}

    def metadata(self) -> Any:
        if self.chance.random() < 0.02:
            return self.chance.choice(SCALARS)
        deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if self.chance.random() < 0.2 else {}
        odd = {self.chance.choice(("labels", "annotations", "finalizers", "name", "uid")): self.value(4)}
        return {"name": "a", "namespace": "default", **deleted, **(odd if self.chance.random() < 0.3 else {})}

    def body(self, number: int) -> Any:
        if self.chance.random() < 0.01:
            return self.value()
        body = {"apiVersion": GVK.api_version, "kind": GVK.kind, "metadata": self.metadata()}
        body |= {"spec": self.spec(number)} if self.chance.random() < 0.97 else {}
        return body | (
            {self.chance.choice(("status", "kind", "extra")): self.value(3)} if number % 50 == 0 else {}
        )

    def review(self, number: int) -> bytes:
        update = self.chance.random() < 0.5
        body = self.body(number)
        old = self.chance.choice((body, self.body(1))) if update else None
        request = {
            "uid": f"u-{number}",
            "operation": "UPDATE" if update else "CREATE",
            "namespace": "default",
            "name": "a",
            "object": body,
            "oldObject": old,
            "userInfo": self.value(3) if number % 30 == 0 else {"username": "tenant"},
        }
        if self.chance.random() < 0.03:
            scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}
            request |= {"subResource": "scale", "object": {**scale, "spec": self.value(5)}, "oldObject": scale}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        return json.dumps(review).encode()


@dataclass
class Results:
    seconds: list[float] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)


@pytest.fixture
async def specs(tmp_path: Path) -> AsyncIterator[Specs]:
    specs = Specs(tmp_path / "place", {})
    yield specs
    await specs.close()


async def perform(_watch: Watch, _tasks: str, _review: Review) -> Performed:
    """Tasks that publish the same defaults for each object, and warn."""
    return Performed(data=DEFAULTS, warnings=("watch out",))


async def live(key: ObjectKey) -> Body:
    if key.name != "a":
        raise NotFoundError(404, "NotFound", "there is none")
    return {"metadata": {"name": "a"}, "spec": {"size": 1}}


def file_of(tmp_path: Path) -> Path:
    file = tmp_path / "role" / "meta" / "argument_specs.yml"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"argument_specs": {"main": {"options": OPTIONS}}}))
    return file


async def test_ten_thousand_odd_objects_have_one_answer_each_in_bounded_time_and_memory(
    specs: Specs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((execute_specs, "_ANSWERS_WITHIN"), (reviewer_module, "TIME")):
        monkeypatch.setattr(module, name, 600.0)  # by the clock on the wall, which also counts what others do
    admission = Admission(specs=file_of(tmp_path), default="default.yml")
    content, reviewer = Content(tmp_path / "role", is_role=True), Reviewer(specs, perform, live)
    watches = [
        Watch(GVK, content, admission=admission, mark_unsafe=unsafe, snake_case=snake)
        for unsafe, snake in ((True, True), (False, False))
    ]
    odd, results, before = Odd(random.Random(SEED)), Results(), resident()
    numbers = iter(range(OBJECTS))

    async def ask() -> None:
        for number in numbers:
            raw, watch = odd.review(number), watches[number % 2]
            decide = reviewer.default if number % 5 == 0 else reviewer.validate
            began = time.process_time()
            results.kinds[await answered(raw, partial(decide, watch))] += 1
            results.seconds.append(time.process_time() - began)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as asking:
        for _ in range(AT_ONCE):
            asking.create_task(ask())
    took = time.perf_counter() - began
    p95, longest = statistics.quantiles(results.seconds, n=20)[-1], max(results.seconds)
    grown = resident() - before
    print(
        f"{OBJECTS} objects in {took:.1f} s: p95 {p95 * 1000:.1f} ms, longest {longest:.2f} s,"
        f" memory {grown / 2**20:+.1f} MiB; {dict(results.kinds)}"
    )
    assert set(results.kinds) - {"busy"} == {"allowed", "denied", "malformed"}
    assert results.kinds.total() == OBJECTS
    assert specs.starts == 1
    assert p95 < P95
    assert longest < LONGEST
    assert grown < GROWTH


async def answered(raw: bytes, decide: Callable[[Review], Awaitable[Verdict]]) -> str:
    """The result of a review, whose answer is well-formed; none is left to the failure policy."""
    try:
        review = parse(raw)
    except ReviewError:
        return "malformed"
    verdict = await decide(review)
    text = json.dumps(answer(review.uid, verdict))
    response = json.loads(text)["response"]
    assert len(text) < 64 * 1024
    assert response["uid"] == review.uid
    assert response["allowed"] is (verdict.result == "allowed"), verdict
    if not response["allowed"]:
        assert verdict.result in ("denied", "busy"), verdict
        assert response["status"]["message"]
    if "patch" in response:
        patched(review.body, json.loads(base64.b64decode(response["patch"])))
    return verdict.result


def patched(body: Body, patch: list[dict[str, Any]]) -> None:
    """Each operation adds a field, to a map that is there, which is absent or null."""
    tree: Any = json.loads(json.dumps(body))
    for operation in patch:
        assert operation["op"] == "add"
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        inner = tree
        for name in path:
            inner = inner[name]
        assert inner.get(last) is None
        inner[last] = operation["value"]


def resident() -> int:
    """Bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
