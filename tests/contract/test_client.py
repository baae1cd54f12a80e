"""The client's contract: credentials, errors as one tree, retries that stay within bounds, and no secret told."""

from __future__ import annotations

import asyncio
import base64
import datetime
import ipaddress
import json
import ssl
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from multidict import CIMultiDict

from runner.config.settings import ClusterSettings
from runner.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    KubeError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
    UnreachableError,
)
from runner.kube.client import Client
from runner.kube.credentials import Credentials, find_login
from tests.fixtures.apiserver import ApiServer, Drop, Reply, Stream, failure, serving
from tests.fixtures.clock import FakeClock

SECRET = "s3cr3t-t0ken"
PATH = "/api/v1/namespaces/ns/configmaps/a"


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with serving() as server:
        yield server


@pytest.fixture
def time() -> FakeClock:
    return FakeClock()


@asynccontextmanager
async def connected(config: Path, time: FakeClock, *, http_proxy: str = "") -> AsyncIterator[Client]:
    client = await Client.connect(ClusterSettings(str(config), http_proxy=http_proxy), clock=time.clock())
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
async def client(server: ApiServer, time: FakeClock, tmp_path: Path) -> AsyncIterator[Client]:
    config = server.kubeconfig(tmp_path / "config", user={"token": SECRET})
    async with connected(config, time) as client:
        yield client


async def authorization(client: Client) -> str:
    return (await client.authorized({}))["Authorization"]


async def test_each_own_request_is_counted_and_those_of_runs_are_not(
    server: ApiServer, time: FakeClock, tmp_path: Path
) -> None:
    told: list[tuple[str, str, str]] = []
    cluster = ClusterSettings(str(server.kubeconfig(tmp_path / "config", user={"token": SECRET})))
    client = await Client.connect(cluster, clock=time.clock(), on_request=lambda *request: told.append(request))
    server.on("get", PATH, Reply({}), failure(404, "NotFound"), Drop(), Drop(), Reply({}), Reply({}))
    await client.request("GET", PATH)
    for error in (NotFoundError, UnreachableError):
        with pytest.raises(error):
            await client.request("GET", PATH, tries=1)
    async with client.stream(PATH, accept="*/*", silence=5.0):
        pass
    async with client.open("GET", PATH):
        pass
    await client.close()
    host = client.base_url.partition("://")[2]
    assert told == [("GET", host, code) for code in ("200", "404", "<error>", "200")]


async def test_the_client_sends_its_token_and_says_who_it_is(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, Reply({"kind": "ConfigMap"}))
    assert await client.request("GET", PATH, params={"a": "b"}) == {"kind": "ConfigMap"}
    asked = server.asked[0]
    assert asked.headers["Authorization"] == f"Bearer {SECRET}"
    assert asked.headers["User-Agent"] == "ansible-operator"
    assert asked.query == {"a": "b"}


async def test_repeated_headers_are_sent_repeated_and_the_clients_own_credentials_alone(
    server: ApiServer, client: Client
) -> None:
    server.on("get", PATH, Reply({}))
    groups = [("Impersonate-Group", "one"), ("impersonate-group", "two")]
    given = CIMultiDict([*groups, ("authorization", "Bearer x"), ("User-Agent", "role")])
    async with client.open("GET", PATH, headers=given) as answer:
        await answer.read()
    headers = CIMultiDict(server.asked[0].headers.items())
    assert headers.getall("Impersonate-Group") == ["one", "two"]
    assert headers.getall("Authorization") == [f"Bearer {SECRET}"]
    assert headers.getall("User-Agent") == ["role"]


async def test_writes_carry_the_field_manager_and_their_content_type(server: ApiServer, client: Client) -> None:
    server.on("patch", PATH, Reply({}))
    await client.request("PATCH", PATH, body={"a": 1}, content_type="application/merge-patch+json")
    asked = server.asked[0]
    assert asked.query == {"fieldManager": "ansible-operator"}
    assert asked.headers["Content-Type"] == "application/merge-patch+json"
    assert asked.body == {"a": 1}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (401, UnauthorizedError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (410, GoneError),
        (422, InvalidError),
        (429, TooManyRequestsError),
        (500, ApiError),
    ],
)
async def test_a_refusal_is_the_error_of_its_status(
    server: ApiServer, client: Client, code: int, kind: type[ApiError]
) -> None:
    server.on("put", PATH, failure(code, "SomeReason", "some words"))
    with pytest.raises(kind) as caught:
        await client.request("PUT", PATH, body={})
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason, caught.value.message) == (code, "SomeReason", "some words")


async def test_an_error_that_is_no_status_keeps_its_text(server: ApiServer, client: Client) -> None:
    server.on("put", PATH, Reply(b"404 page not found\n", 404))
    with pytest.raises(NotFoundError, match="404 page not found"):
        await client.request("PUT", PATH, body={})


async def test_a_read_is_tried_again_after_a_transient_error(
    server: ApiServer, client: Client, time: FakeClock
) -> None:
    server.on("get", PATH, failure(503), failure(429, Retry_After="4"), Reply({"a": 1}))
    assert await client.request("GET", PATH) == {"a": 1}
    assert time.slept == [0.2, 4.0]


async def test_a_read_is_not_tried_for_ever(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, failure(500))
    with pytest.raises(ApiError):
        await client.request("GET", PATH)
    assert server.count("get") == 3


async def test_a_read_is_not_tried_again_where_that_cannot_help(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, failure(404))
    with pytest.raises(NotFoundError):
        await client.request("GET", PATH)
    assert server.count("get") == 1


async def test_a_long_wait_is_left_to_the_caller(server: ApiServer, client: Client, time: FakeClock) -> None:
    server.on("get", PATH, failure(429, Retry_After="120"))
    with pytest.raises(TooManyRequestsError) as caught:
        await client.request("GET", PATH)
    assert caught.value.retry_after == 120.0
    assert time.slept == []


async def test_a_write_is_never_tried_again(server: ApiServer, client: Client) -> None:
    server.on("post", PATH, failure(503))
    with pytest.raises(ApiError):
        await client.request("POST", PATH, body={})
    assert server.count("post") == 1


async def test_a_connection_that_is_dropped_is_an_unreachable_error(server: ApiServer, client: Client) -> None:
    server.on("post", PATH, Drop())
    with pytest.raises(UnreachableError, match=f"127.0.0.1:{server.port}"):
        await client.request("POST", PATH, body={})


async def test_an_answer_that_is_cut_is_an_unreachable_error(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, Stream(b'{"kind":', then="cut"))
    with pytest.raises(UnreachableError):
        await client.request("GET", PATH)


async def test_a_silent_server_is_an_unreachable_error(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, Stream(then="hang"))
    with pytest.raises(UnreachableError, match="Timeout"):
        await client.request("GET", PATH, timeout=0.05, tries=1)


async def test_a_page_that_is_no_json_is_not_taken_for_an_object(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, Reply(b"<html>welcome</html>"))
    with pytest.raises(UnreachableError, match="not JSON"):
        await client.request("GET", PATH, tries=1)


async def test_no_error_tells_the_token(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, failure(401))
    server.on("put", PATH, Drop())
    for method in ("GET", "PUT"):
        with pytest.raises(KubeError) as caught:
            await client.request(method, PATH)
        assert SECRET not in f"{caught.value!s}{caught.value!r}{caught.value.__cause__!r}"
    assert SECRET not in repr(vars(client))


async def test_a_refused_token_is_read_again_once(server: ApiServer, time: FakeClock, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    server.tokens = {"new"}
    server.on("put", PATH, Reply({}))
    async with connected(server.kubeconfig(tmp_path / "c", user={"tokenFile": "token"}), time) as client:
        (tmp_path / "token").write_text("new\n")
        time.advance(10)
        await client.request("PUT", PATH, body={})
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer old", "Bearer new"]


async def test_a_token_that_stays_refused_is_not_tried_again(
    server: ApiServer, client: Client, time: FakeClock
) -> None:
    server.tokens = {"another"}
    time.advance(10)
    with pytest.raises(UnauthorizedError):
        await client.request("GET", PATH)
    assert server.count("get") == 1


async def test_many_refusals_read_the_credentials_once(server: ApiServer, time: FakeClock, tmp_path: Path) -> None:
    found, readings = (
        find_login(ClusterSettings(str(server.kubeconfig(tmp_path / "c", user={"token": SECRET})))),
        [],
    )

    def login() -> Credentials:
        readings.append(time.now)
        return found()

    server.tokens = {"another"}
    client = await Client.connect(login=login, clock=time.clock())
    time.advance(10)
    calls = (client.request("GET", PATH) for _ in range(10))
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    await client.close()
    assert {type(outcome) for outcome in outcomes} == {UnauthorizedError}
    assert len(readings) == 2


async def test_a_token_file_is_read_again_after_a_minute(
    server: ApiServer, time: FakeClock, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    async with connected(server.kubeconfig(tmp_path / "c", user={"tokenFile": str(token)}), time) as client:
        token.write_text("new")
        assert await authorization(client) == "Bearer old"
        time.advance(61)
        assert await authorization(client) == "Bearer new"
        token.unlink()
        time.advance(61)
        assert await authorization(client) == "Bearer new"


async def test_basic_auth_logs_in(server: ApiServer, time: FakeClock, tmp_path: Path) -> None:
    config = server.kubeconfig(tmp_path / "c", user={"username": "me", "password": "pw"})
    async with connected(config, time) as client:
        assert await authorization(client) == "Basic bWU6cHc="


async def test_open_gives_the_answer_as_it_is(server: ApiServer, client: Client) -> None:
    server.on("get", "/x y", failure(418, "Teapot"))
    async with client.open("GET", "/x%20y?z=%2F", headers={"Accept": "text/plain"}) as answer:
        assert answer.status == 418
        assert json.loads(await answer.read())["reason"] == "Teapot"
    asked = server.asked[0]
    assert asked.query == {"z": "/"}
    assert asked.headers["Accept"] == "text/plain"
    assert "Accept-Encoding" not in asked.headers


async def test_a_proxy_url_is_used(server: ApiServer, time: FakeClock, tmp_path: Path) -> None:
    config = server.kubeconfig(
        tmp_path / "c", cluster={"server": "http://cluster.invalid", "proxy-url": server.url}
    )
    server.on("get", PATH, Reply({"by": "proxy"}))
    async with connected(config, time) as client:
        assert await client.request("GET", PATH) == {"by": "proxy"}


async def test_the_proxy_of_the_environment_is_used(server: ApiServer, time: FakeClock, tmp_path: Path) -> None:
    config = server.kubeconfig(tmp_path / "c", cluster={"server": "http://cluster.invalid"})
    server.on("get", PATH, Reply({"by": "proxy"}))
    async with connected(config, time, http_proxy=server.url) as client:
        assert await client.request("GET", PATH) == {"by": "proxy"}


async def test_dial_gives_a_raw_connection(server: ApiServer, client: Client) -> None:
    server.on("get", PATH, Reply({}))
    reader, writer = await client.dial()
    writer.write(f"GET {PATH} HTTP/1.0\r\n\r\n".encode())
    assert (await reader.readline()).startswith(b"HTTP/1.0 200")
    writer.close()
    await writer.wait_closed()


# ---- TLS


class Authority:
    """A certificate authority in a directory, with a certificate for 127.0.0.1 and one for a client."""

    def __init__(self, directory: Path) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
        self.ca = directory / "ca.crt"
        self.ca.write_bytes(self._certificate("ca", self.key).public_bytes(serialization.Encoding.PEM))
        self.server = self._pair(directory / "server")
        self.client = self._pair(directory / "client")

    def _pair(self, path: Path) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(path.name, key)
        pem = serialization.Encoding.PEM
        raw = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        files = path.with_suffix(".crt"), path.with_suffix(".key")
        files[0].write_bytes(certificate.public_bytes(pem))
        files[1].write_bytes(raw)
        return files

    def _certificate(self, name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("kube.example.com")]
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self.key, hashes.SHA256())
        )


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def secure(authority: Authority) -> AsyncIterator[ApiServer]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.ca))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_cert_chain(*authority.server)
    async with serving(tls) as server:
        server.on("get", PATH, Reply({"safe": True}))
        yield server


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


async def test_client_certificates_are_taken_from_files(
    secure: ApiServer, authority: Authority, time: FakeClock, tmp_path: Path
) -> None:
    config = secure.kubeconfig(
        tmp_path / "c",
        cluster={"certificate-authority": "ca.crt"},
        user={"client-certificate": "client.crt", "client-key": "client.key"},
    )
    async with connected(config, time) as client:
        assert await client.request("GET", PATH) == {"safe": True}


async def test_client_certificates_in_the_kubeconfig_touch_the_disk_privately_and_briefly(
    secure: ApiServer, authority: Authority, time: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: dict[str, int] = {}
    load: Callable[..., None] = ssl.SSLContext.load_cert_chain

    def spy(self: ssl.SSLContext, certfile: str, keyfile: str) -> None:
        modes[keyfile] = stat.S_IMODE(Path(keyfile).stat().st_mode)
        load(self, certfile, keyfile)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    config = secure.kubeconfig(
        tmp_path / "c",
        cluster={"certificate-authority-data": _data(authority.ca)},
        user={
            "client-certificate-data": _data(authority.client[0]),
            "client-key-data": _data(authority.client[1]),
        },
    )
    async with connected(config, time) as client:
        assert await client.request("GET", PATH) == {"safe": True}
    assert list(modes.values()) == [0o600]
    assert not any(Path(path).exists() for path in modes)


async def test_the_server_may_be_known_by_another_name(
    secure: ApiServer, authority: Authority, time: FakeClock, tmp_path: Path
) -> None:
    user = {"client-certificate": "client.crt", "client-key": "client.key"}
    for name, works in (("kube.example.com", True), ("other.example.com", False)):
        cluster = {"certificate-authority": "ca.crt", "tls-server-name": name}
        async with connected(secure.kubeconfig(tmp_path / "c", cluster=cluster, user=user), time) as client:
            if works:
                assert await client.request("GET", PATH) == {"safe": True}
            else:
                with pytest.raises(UnreachableError, match="TLS"):
                    await client.request("GET", PATH)


async def test_a_server_of_an_unknown_authority_is_not_spoken_to(
    secure: ApiServer, authority: Authority, time: FakeClock, tmp_path: Path
) -> None:
    async with connected(secure.kubeconfig(tmp_path / "c", user={"token": SECRET}), time) as client:
        with pytest.raises(UnreachableError, match="TLS"):
            await client.request("GET", PATH, tries=1)
    assert secure.asked == []


async def test_an_authority_that_was_changed_is_read_again(time: FakeClock, tmp_path: Path) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*Authority(tmp_path).server)
    async with serving(tls) as server:
        server.on("get", PATH, Reply({"before": True}), Drop(), Reply({"after": True}))
        config = server.kubeconfig(
            tmp_path / "c", cluster={"certificate-authority": "ca.crt"}, user={"token": SECRET}
        )
        async with connected(config, time) as client:
            assert await client.request("GET", PATH) == {"before": True}
            time.advance(60)
            tls.load_cert_chain(*Authority(tmp_path).server)
            assert await client.request("GET", PATH) == {"after": True}


async def test_with_insecure_skip_tls_verify_any_server_is_spoken_to(
    secure: ApiServer, authority: Authority, time: FakeClock, tmp_path: Path
) -> None:
    config = secure.kubeconfig(
        tmp_path / "c",
        cluster={"insecure-skip-tls-verify": True},
        user={"client-certificate": "client.crt", "client-key": "client.key"},
    )
    async with connected(config, time) as client:
        assert await client.request("GET", PATH) == {"safe": True}
        reader, writer = await client.dial()
        writer.write(f"GET {PATH} HTTP/1.0\r\n\r\n".encode())
        assert b"200" in await reader.readline()
        writer.close()
        await writer.wait_closed()
