"""The admission server over real sockets: what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import io
import json
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from runner.config.admission import Admission, Conversion, FailurePolicy
from runner.config.watches import Content, Watch
from runner.config.webhooks import path
from runner.errors import BusyError, NotFoundError, RunError
from runner.execute.specs import Specs
from runner.metrics import Metrics
from runner.objects import Body, GroupVersionKind, ObjectKey
from runner.serve.admission import bodies, reviewer, server
from runner.serve.admission.review import MOST_VALUES, Review
from runner.serve.admission.reviewer import Reviewer
from runner.serve.admission.server import webhooks
from runner.serve.admission.tasks import BUSY, Performed
from runner.serve.certificates import ServingCertificate, issued
from runner.serve.metrics import Listener

GVK = GroupVersionKind("example.com", "v1", "Thing")
SPECS = "argument_specs: {main: {options: {size: {type: int, required: true, description: How many}}}}"
OBJECT: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"size": 1},
}


class Scripted:
    """In place of `Tasks`: what the tasks come to, or why they do not."""

    def __init__(self) -> None:
        self.comes: Performed | Exception = Performed()
        self.takes = 0.0
        self.asked: Review | None = None

    async def perform(self, _watch: Watch, _tasks: str, review: Review) -> Performed:
        self.asked = review
        await asyncio.sleep(self.takes)
        if isinstance(self.comes, Exception):
            raise self.comes
        return self.comes


@dataclass
class Asking:
    """A client as the API server is one."""

    session: aiohttp.ClientSession
    listener: Listener
    certificate: ServingCertificate
    metrics: Metrics
    tasks: Scripted

    async def close(self) -> None:
        await self.session.close()

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.certificate.authority.decode())

    async def post(
        self, raw: Any, to: str = path("validate", GVK), tls: ssl.SSLContext | None = None
    ) -> tuple[int, str]:
        url = f"https://127.0.0.1:{self.listener.port}{to}"
        async with self.session.post(url, data=raw, ssl=tls or self.tls()) as answer:
            return answer.status, await answer.text()

    async def review(self, body: dict[str, Any] = OBJECT, to: str = "validate", **request: Any) -> dict[str, Any]:
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {"uid": "u", "operation": "CREATE", "object": body, "userInfo": {}, **request},
        }
        status, text = await self.post(json.dumps(review), path(to, GVK))
        assert status == 200, text
        return dict(json.loads(text)["response"])

    def counted(self, result: str) -> float:
        labels = {
            "group": GVK.group,
            "version": GVK.version,
            "kind": GVK.kind,
            "webhook": "validate",
            "result": result,
        }
        return self.metrics.registry.get_sample_value("ansible_operator_admission_reviews_total", labels) or 0.0


Serve = Callable[..., Awaitable[Asking]]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Serves a kind with such an admission."""
    file = tmp_path / "role" / "meta" / "argument_specs.yml"
    file.parent.mkdir(parents=True)
    file.write_text(SPECS)
    specs, stack = Specs(tmp_path / "place", {}), []

    definitions: list[Body] = []

    async def live(key: ObjectKey) -> Body:
        if key.gvk.kind == "CustomResourceDefinition" and key.name == "things.example.com" and definitions:
            return definitions[0]
        if key.name != OBJECT["metadata"]["name"]:
            raise NotFoundError(404, "NotFound", "there is none")
        return OBJECT

    async def start(definition: str = "", **fields: Any) -> Asking:
        """`definition`: the specReplicasPath of the CRD, which cannot be read without."""
        scalable = {"name": "v1", "subresources": {"scale": {"specReplicasPath": definition}}}
        definitions.extend([{"spec": {"versions": [{"name": "v0"}, scalable]}}] if definition else [])
        admission = Admission(**({"specs": file} | fields))
        content, other = Content(tmp_path / "role", is_role=True), {"v2": Conversion({"n": "spec.size"})}
        watch = Watch(GVK, content, admission=admission, mark_unsafe=True, conversions=other)
        tasks, metrics, certificate = Scripted(), Metrics(), ServingCertificate("webhooks")
        listener = webhooks([watch], Reviewer(specs, tasks.perform, live), certificate, 0, metrics)
        await listener.start()
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        asking = Asking(session, listener, certificate, metrics, tasks)
        stack.extend([listener.stop, asking.close])
        return asking

    yield start
    for stop in reversed(stack):
        await stop()
    await specs.close()


async def test_what_fits_is_allowed(serve: Serve) -> None:
    asking = await serve()
    assert await asking.review() == {"uid": "u", "allowed": True}
    assert asking.counted("allowed") == 1


async def test_what_does_not_fit_is_refused_with_path_and_reason(serve: Serve) -> None:
    asking = await serve()
    found = await asking.review({**OBJECT, "spec": {"size": "x"}})
    assert found["status"]["message"] == 'spec.size: must be a whole number, is "x" (How many)'
    assert asking.counted("denied") == 1


@pytest.mark.parametrize(("operation", "what"), [("CREATE", "its creation"), ("UPDATE", "its change")])
async def test_a_person_reads_a_sentence_of_what_is_refused(serve: Serve, operation: str, what: str) -> None:
    asking = await serve()
    with capture_logs() as logs:
        await asking.review({**OBJECT, "spec": {"size": "x"}}, operation=operation, namespace="default")
    mistake = 'spec.size: must be a whole number, is "x" (How many)'
    assert [log["said"] for log in logs] == [f"Thing default/a: {what} was refused: {mistake}"]


async def test_of_an_object_whose_name_is_yet_to_be_made_its_beginning_is_said(serve: Serve) -> None:
    asking = await serve()
    with capture_logs() as logs:
        await asking.review({**OBJECT, "metadata": {"generateName": "some-"}, "spec": {}}, namespace="default")
    assert logs[0]["said"].startswith("Thing default/some-: its creation was refused: ")


@pytest.mark.parametrize("policy", FailurePolicy)
async def test_a_person_reads_a_sentence_of_what_could_not_be_reviewed(
    serve: Serve, policy: FailurePolicy
) -> None:
    asking = await serve(tasks="admit.yml", failure_policy=policy)
    asking.tasks.comes = RunError("broken")
    with capture_logs() as logs:
        await asking.review(namespace="default")
    done = {FailurePolicy.FAIL: "refused", FailurePolicy.IGNORE: "let through"}[policy]
    what = f"could not be reviewed, and was {done} (failurePolicy: {policy})"
    assert [log["said"] for log in logs] == [f"Thing default/a: {what}: broken"]


DELETED: dict[str, Any] = {
    **OBJECT,
    "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]},
    "spec": {"size": "x"},
}


@pytest.mark.parametrize("metadata", [{"finalizers": None}, {"annotations": {"a": "b"}}, {"labels": {"a": "b"}}])
async def test_a_custom_resource_that_is_being_deleted_can_lose_its_finalizer_whatever_its_spec(
    serve: Serve, metadata: dict[str, Any]
) -> None:
    body = {**DELETED, "metadata": DELETED["metadata"] | metadata}
    assert (await (await serve()).review(body, operation="UPDATE", oldObject=DELETED))["allowed"]


async def test_a_spec_that_is_changed_during_the_deletion_is_reviewed(serve: Serve) -> None:
    asking = await serve()
    for spec, allowed in (({"size": "y"}, False), ({"size": 1}, True)):
        body = {**DELETED, "spec": spec}
        assert (await asking.review(body, operation="UPDATE", oldObject=DELETED))["allowed"] is allowed


def scale(replicas: int | None) -> dict[str, Any]:
    """A Scale; Go leaves out a zero."""
    spec = {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": spec}


SCALED: dict[str, Any] = {"subResource": "scale", "operation": "UPDATE", "resource": {"resource": "things"}}


@pytest.mark.parametrize(("name", "reviewed"), [("a", True), ("gone", False)])
async def test_who_scales_is_reviewed_as_if_the_object_was_changed(
    serve: Serve, name: str, reviewed: bool
) -> None:
    asking = await serve(tasks="admit.yml")
    asking.tasks.comes = Performed(("too few",))
    found = await asking.review(scale(3), name=name, oldObject=scale(None), **SCALED)
    assert found["allowed"] is not reviewed
    if reviewed:
        assert asking.tasks.asked is not None
        assert (asking.tasks.asked.body["spec"], asking.tasks.asked.old) == ({"size": 1, "replicas": 3}, OBJECT)


@pytest.mark.parametrize(("replicas", "shown"), [(3, 3), (None, 0)])
async def test_the_field_that_is_scaled_is_that_of_the_definition(
    serve: Serve, replicas: int | None, shown: int
) -> None:
    asking = await serve(tasks="admit.yml", definition=".spec.size")
    assert (await asking.review(scale(replicas), name="a", oldObject=scale(1), **SCALED))["allowed"]
    assert asking.tasks.asked is not None
    assert asking.tasks.asked.body["spec"] == {"size": shown}


async def test_a_scaled_object_is_validated_by_its_argument_specs(serve: Serve) -> None:
    asking = await serve(definition=".spec.size.inner")
    found = await asking.review(scale(2), name="a", oldObject=scale(1), **SCALED)
    assert not found["allowed"]
    assert "spec.size.inner, which is scaled, is not below a map" in found["status"]["message"]


@pytest.mark.parametrize("policy", FailurePolicy)
async def test_a_scale_of_a_field_that_nobody_knows_is_left_to_the_failure_policy(
    serve: Serve, policy: FailurePolicy
) -> None:
    asking = await serve(tasks="admit.yml", failure_policy=policy)
    found = await asking.review(scale(3), name="a", oldObject=scale(2), **SCALED)
    assert found["allowed"] is (policy is FailurePolicy.IGNORE)
    assert "get the CustomResourceDefinition things.example.com" in json.dumps(found)


async def test_an_object_of_another_kind_or_version_is_refused(serve: Serve) -> None:
    found = await (await serve()).review({**OBJECT, "apiVersion": "example.com/v2"})
    assert not found["allowed"]
    assert "is not reviewed here" in found["status"]["message"]


async def test_an_object_that_is_nested_too_deeply_is_refused(serve: Serve) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert not (await (await serve()).review({**OBJECT, "spec": {"size": 1, "deep": deep}}))["allowed"]


def deeply_nested(levels: int) -> str:
    """A spec that Python's decoder of JSON cannot read."""
    return '{"deep": ' + "[" * levels + "]" * levels + "}"


def review_of(spec: str, old: str = "") -> bytes:
    head = json.dumps({name: value for name, value in OBJECT.items() if name != "spec"})[:-1]
    sides = {"object": spec} | ({"oldObject": old} if old else {})
    objects = ", ".join(f'"{side}": {head}, "spec": {text}}}' for side, text in sides.items())
    request = f'{{"uid": "u", "operation": "{"UPDATE" if old else "CREATE"}", {objects}}}'
    return f'{{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {request}}}'.encode()


@pytest.mark.parametrize("policy", FailurePolicy)
@pytest.mark.parametrize(
    ("old", "allowed"),
    [("", False), ('{"size": 1}', False), (deeply_nested(5_000), True)],
    ids=["created", "changed", "as it was stored"],
)
async def test_an_object_too_deep_to_be_decoded_is_refused_unless_it_was_stored_so(
    serve: Serve, policy: FailurePolicy, old: str, allowed: bool
) -> None:
    asking = await serve(failure_policy=policy)
    status, text = await asking.post(review_of(deeply_nested(5_000), old))
    response = json.loads(text)["response"]
    assert (status, response["uid"], response["allowed"]) == (200, "u", allowed)


MEMBER = {f"option{number}": {"type": "int"} for number in range(300)}
SLOW = json.dumps(
    {"argument_specs": {"main": {"options": {"members": {"type": "list", "elements": "dict", "options": MEMBER}}}}}
)


@pytest.mark.parametrize("policy", FailurePolicy)
async def test_a_spec_of_too_many_values_is_denied_with_the_bound_and_the_field_whatever_the_policy(
    serve: Serve, policy: FailurePolicy
) -> None:
    asking = await serve(failure_policy=policy)
    spec = {"size": 1, "team": {"members": [{}] * (MOST_VALUES + 1)}}
    found = await asking.review({**OBJECT, "spec": spec})
    assert not found["allowed"]
    assert found["status"]["message"].startswith("spec.team.members: has more than 20000 values")


@pytest.mark.parametrize("policy", FailurePolicy)
async def test_a_spec_that_takes_too_long_to_validate_is_denied_with_its_reason_whatever_the_policy(
    serve: Serve, tmp_path: Path, policy: FailurePolicy
) -> None:
    (tmp_path / "role" / "meta" / "argument_specs.yml").write_text(SLOW)
    asking = await serve(failure_policy=policy)
    found = await asking.review({**OBJECT, "spec": {"members": [{}] * (MOST_VALUES - 1)}})
    assert not found["allowed"]
    assert re.match("spec: takes more than .* to validate by the argument specs", found["status"]["message"])


async def test_the_words_of_the_role_are_the_answer(serve: Serve) -> None:
    asking = await serve(tasks="admit.yml")
    asking.tasks.comes = Performed(("no room", "no time"), ("watch out",))
    found = await asking.review()
    assert found["status"]["message"] == "no room; no time"
    assert found["warnings"] == ["watch out"]


async def test_warnings_of_what_is_allowed_are_passed_on(serve: Serve) -> None:
    asking = await serve(tasks="admit.yml")
    asking.tasks.comes = Performed(warnings=("watch out",))
    assert await asking.review() == {"uid": "u", "allowed": True, "warnings": ["watch out"]}


async def test_defaults_are_a_patch(serve: Serve) -> None:
    asking = await serve(default="default.yml")
    asking.tasks.comes = Performed(data={"pull_policy": "Always"})
    assert (await asking.review(to="mutate"))["patchType"] == "JSONPatch"


@pytest.mark.parametrize("policy", FailurePolicy)
async def test_where_nobody_can_say_the_failure_policy_does_and_says_so(
    serve: Serve, policy: FailurePolicy
) -> None:
    asking = await serve(tasks="admit.yml", failure_policy=policy)
    asking.tasks.comes = RunError("broken")
    found = await asking.review()
    assert found["allowed"] is (policy is FailurePolicy.IGNORE)
    assert "broken" in json.dumps(found)
    assert asking.counted("unreviewed" if found["allowed"] else "failed") == 1


async def test_tasks_that_take_too_long_are_nobodys_verdict(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviewer, "TIME", 0.05)
    asking = await serve(tasks="admit.yml")
    asking.tasks.takes = 10
    assert (await asking.review())["status"]["code"] == 500


async def test_who_finds_no_turn_is_told_to_come_back(serve: Serve) -> None:
    asking = await serve(tasks="admit.yml")
    asking.tasks.comes = BusyError(BUSY)
    assert (await asking.review())["status"]["code"] == 429


async def test_a_review_that_is_too_large_is_refused(serve: Serve) -> None:
    asking = await serve()
    reader, writer = await asyncio.open_connection("127.0.0.1", asking.listener.port, ssl=asking.tls())
    head = f"POST {path('validate', GVK)} HTTP/1.1\r\nHost: a\r\nContent-Length: {bodies.LARGEST + 1}\r\n\r\n"
    writer.write(head.encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
    writer.write(b" " * (bodies.LARGEST + 1))  # the server waits for it, for some seconds
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def test_a_review_that_does_not_come_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "READ_WITHIN", 0.05)

    async def trickle() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(5)

    assert (await (await serve()).post(trickle()))[0] == 408


async def test_a_review_that_finds_no_memory_is_told_to_come_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "BODIES", 64)
    monkeypatch.setattr(server, "REVIEW_WAITS", 0.05)
    asking, over = await serve(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await over.wait()

    holding = asyncio.create_task(asking.post(slow()))
    url = f"https://127.0.0.1:{asking.listener.port}{path('validate', GVK)}"
    for _ in range(1000):
        async with asking.session.post(url, data=b"{}", ssl=asking.tls()) as refused:
            if refused.status == 429:
                break
    assert (refused.status, refused.headers.get("Retry-After")) == (429, "1")
    assert asking.counted("busy") == 1
    over.set()
    assert (await holding)[0] == 400
    assert (await asking.review())["allowed"]


@pytest.mark.parametrize("to", ["/", "/validate", path("mutate", GVK)])
async def test_nothing_else_is_served(serve: Serve, to: str) -> None:
    assert (await (await serve()).post(b"{}", to))[0] == 404


async def test_a_review_that_comes_again_is_answered_again(serve: Serve) -> None:
    asking = await serve()
    assert await asking.review() == await asking.review()


async def test_malformed_reviews_are_refused_and_leave_nothing(serve: Serve) -> None:
    asking, chance = await serve(), random.Random(20260101)
    good = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}})
    tls = asking.tls()
    for _ in range(300):
        raw = bytearray(good.encode())
        for _ in range(chance.randint(1, 20)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        assert (await asking.post(bytes(raw), tls=tls))[0] == 400
    assert asking.counted("malformed") == 300
    assert (await asking.review())["allowed"]


async def test_a_rotation_under_load_refuses_nobody(serve: Serve) -> None:
    asking = await serve()
    old, new = asking.certificate.authority, issued(["localhost", "127.0.0.1"])
    tls = ssl.create_default_context(cadata=(old + new.authority).decode())
    review = json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {"uid": "u", "operation": "CREATE", "object": OBJECT},
        }
    )

    async def ask() -> bool:
        status, text = await asking.post(review, tls=tls)
        return status == 200 and '"allowed": true' in text

    answers = []
    for round_ in range(10):
        if round_ == 5:
            asking.certificate.use(new)
            await asking.session.close()  # so that there are new handshakes
            asking.session = aiohttp.ClientSession()
        answers += await asyncio.gather(*(ask() for _ in range(20)))
    assert all(answers)
    assert asking.certificate.authority == new.authority


async def test_a_list_of_any_size_is_converted(serve: Serve) -> None:
    asking = await serve()
    objects = [{**OBJECT, "spec": {"size": number, "pad": "x" * 1000}} for number in range(10_000)]
    request = {"uid": "u", "desiredAPIVersion": "example.com/v2", "objects": objects}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    status, text = await asking.post(io.BytesIO(json.dumps(review).encode()), "/convert")
    assert status == 200
    converted = json.loads(text)["response"]["convertedObjects"]
    assert [body["spec"]["n"] for body in converted] == list(range(10_000))
