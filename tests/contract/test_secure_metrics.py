"""/metrics over TLS, and only for accounts that RBAC lets get it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from prometheus_client import CollectorRegistry

from runner.errors import ApiError
from runner.serve.certificates import of_metrics
from runner.serve.metrics import Listener, Reviews, metrics

ALLOWED = {"allowed": True}
DENIED = {"allowed": False}
PROMETHEUS = {"username": "prometheus", "uid": "u1", "groups": ["monitors"], "extra": {"scopes": ["a"]}}


@pytest.fixture
async def listener(tmp_path: Path) -> AsyncIterator[Listener]:
    context = of_metrics(tmp_path).context
    listener = metrics("127.0.0.1:0", CollectorRegistry(), tls=context)
    await listener.start()
    yield listener
    await listener.stop()


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    directory = tmp_path / "k8s-metrics-server" / "serving-certs"
    directory.mkdir(parents=True)
    return directory


async def name_shown(port: int) -> tuple[str, str | None]:
    """The certificate's common name and the protocol agreed upon, for a client that names no server."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="")
    handshake = writer.get_extra_info("ssl_object")
    shown = x509.load_der_x509_certificate(handshake.getpeercert(binary_form=True))
    writer.close()
    await writer.wait_closed()
    return str(
        shown.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    ), handshake.selected_alpn_protocol()


def put(directory: Path, name: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    now = datetime.now(UTC)
    signed = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for file, content in (("tls.crt", signed.public_bytes(serialization.Encoding.PEM)), ("tls.key", private)):
        fresh = directory / f"{file}.new"
        fresh.write_bytes(content)
        fresh.replace(directory / file)


async def test_without_a_certificate_the_metrics_server_signs_its_own_and_speaks_http_1_1(
    listener: Listener,
) -> None:
    assert await name_shown(listener.port) == ("localhost", "http/1.1")
    async with aiohttp.ClientSession() as session:
        answer = await session.get(f"https://127.0.0.1:{listener.port}/metrics", ssl=False)
        assert answer.status == 200


async def test_a_certificate_for_metrics_is_used_as_soon_as_both_files_are_there(
    listener: Listener, certificates: Path
) -> None:
    (certificates / "tls.crt").write_text("half of it")
    assert (await name_shown(listener.port))[0] == "localhost"
    put(certificates, "mine")
    assert (await name_shown(listener.port))[0] == "mine"


async def test_a_certificate_that_was_replaced_is_read_again(listener: Listener, certificates: Path) -> None:
    for name in ("one", "two"):
        put(certificates, name)
        assert (await name_shown(listener.port))[0] == name


async def test_a_broken_certificate_leaves_the_one_before_in_use(listener: Listener, certificates: Path) -> None:
    put(certificates, "good")
    assert (await name_shown(listener.port))[0] == "good"
    (certificates / "tls.crt").write_text("broken")
    assert (await name_shown(listener.port))[0] == "good"


class FakeApi:
    """Answers reviews; `user` None is a token that nobody has."""

    def __init__(self) -> None:
        self.user: dict[str, Any] | None = PROMETHEUS
        self.right: dict[str, Any] = ALLOWED
        self.error: ApiError | None = None
        self.asked: list[dict[str, Any]] = []

    async def request(self, method: str, path: str, *, body: Any) -> Any:
        self.asked.append(body)
        if self.error:
            raise self.error
        if body["kind"] == "TokenReview":
            return {"status": {"authenticated": self.user is not None, "user": self.user}}
        return {"status": self.right}

    def kinds(self) -> list[str]:
        return [body["kind"] for body in self.asked]


class Guarded:
    """/metrics behind reviews, at a time that the test sets."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.time = 0.0
        guard = Reviews(self.api, lambda: self.time).guard
        self.listener = metrics("127.0.0.1:0", CollectorRegistry(), guard=guard)

    async def get(self, authorization: str = "Bearer good") -> int:
        headers = {"Authorization": authorization} if authorization else {}
        async with aiohttp.ClientSession(headers=headers) as session:
            answer = await session.get(f"http://127.0.0.1:{self.listener.port}/metrics")
            return answer.status


@pytest.fixture
async def guarded() -> AsyncIterator[Guarded]:
    it = Guarded()
    await it.listener.start()
    yield it
    await it.listener.stop()


async def test_an_account_that_may_get_metrics_is_let_in_and_reviewed_as_it_is(guarded: Guarded) -> None:
    assert await guarded.get() == 200
    token, access = guarded.api.asked
    assert token["spec"] == {"token": "good"}
    assert access["spec"] == {
        "user": "prometheus",
        "uid": "u1",
        "groups": ["monitors"],
        "extra": {"scopes": ["a"]},
        "nonResourceAttributes": {"verb": "get", "path": "/metrics"},
    }


@pytest.mark.parametrize("authorization", ["", "Basic Zm9v", "Bearer ", "Bearer"])
async def test_a_request_without_a_token_is_refused_without_asking_the_api_server(
    guarded: Guarded, authorization: str
) -> None:
    assert (await guarded.get(authorization), guarded.api.asked) == (401, [])


async def test_an_unknown_token_is_401(guarded: Guarded) -> None:
    guarded.api.user = None
    assert await guarded.get() == 401


async def test_an_account_that_may_not_get_metrics_is_403(guarded: Guarded) -> None:
    guarded.api.right = DENIED
    assert await guarded.get() == 403


async def test_an_api_server_that_does_not_answer_is_500_and_not_remembered(guarded: Guarded) -> None:
    guarded.api.error = ApiError(500, "", "no")
    assert await guarded.get() == 500
    guarded.api.error = None
    assert await guarded.get() == 200


@pytest.mark.parametrize(
    ("right", "seconds", "asked"),
    [
        (ALLOWED, 59.0, []),
        (ALLOWED, 61.0, ["TokenReview"]),
        (ALLOWED, 299.0, ["TokenReview"]),
        (ALLOWED, 301.0, ["TokenReview", "SubjectAccessReview"]),
        (DENIED, 29.0, []),
        (DENIED, 31.0, ["SubjectAccessReview"]),
    ],
)
async def test_answers_of_the_review_are_remembered_for_their_time(
    guarded: Guarded, right: dict[str, Any], seconds: float, asked: list[str]
) -> None:
    guarded.api.right = right
    before = await guarded.get()
    guarded.time += seconds
    guarded.api.asked.clear()
    assert (await guarded.get(), guarded.api.kinds()) == (before, asked)


async def test_the_right_of_one_account_lets_no_other_in(guarded: Guarded) -> None:
    assert await guarded.get("Bearer one") == 200
    guarded.api.user = {"username": "guest"}
    guarded.api.right = DENIED
    assert await guarded.get("Bearer two") == 403
