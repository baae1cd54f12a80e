"""Requests and answers as they pass the proxy: targets, headers, bodies, and upgraded connections."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, unquote_plus

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from runner.errors import UnreachableError
from runner.kube.client import Client

NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
STREAMS = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose answer is somebody else's bytes, perhaps without an end."""

_FORWARDED = re.compile(r"/[!-~]*")
_NOT_ESCAPED = re.compile("%(?![0-9A-Fa-f]{2})")


HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
        "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
Data = bytes | aiohttp.StreamReader | AsyncIterator[bytes] | None
"""A request's body on its way to the API server."""
NOT_FORWARDED = frozenset({"authorization", "host", "expect", "accept-encoding"})
"""Besides those: the credentials are ours, and what is compressed could not be looked at."""
CHUNK, MAX_ERROR_BODY = 64 * 1024, 1024 * 1024
END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Target:
    """The resource a request names. `namespace`, `name` and `subresource` are empty where the path has none."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False
    dry_run: bool = False


def parse_target(raw_path: str) -> Target | None:
    """The target of a raw path with query; None when it is not about a resource (`/version`, `/apis/apps/v1`)."""
    path, _, query = raw_path.partition("?")
    parts = unquote(path).strip("/").split("/")  # an encoded slash separates as well
    group, version, rest = _split_group(parts)
    if not rest:
        return None
    options = _options(query)
    watch = options.get("watch", "false").lower() not in {"false", "0"}
    if rest[0] == "watch":  # the old /api/v1/watch/... form
        rest, watch = rest[1:], True
    namespace, rest = _split_namespace(rest)
    if not rest or not rest[0]:
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    return Target(group, version, plural, namespace, name, subresource, watch, "dryRun" in options)


def forwardable(raw_path: str) -> bool:
    """Whether a request's target arrives as it is: a path of this server in ASCII, without a fragment."""
    return _FORWARDED.fullmatch(raw_path) is not None and "#" not in raw_path


def _options(query: str) -> dict[str, str]:
    """The first value of each, by Go's rules: what has a semicolon or a bad escape is no option."""
    pairs = [pair.partition("=") for pair in query.split("&") if ";" not in pair and not _NOT_ESCAPED.search(pair)]
    return {unquote_plus(name): unquote_plus(value) for name, _, value in reversed(pairs)}


def _split_group(parts: list[str]) -> tuple[str, str, list[str]]:
    match parts:
        case ["api", version, *rest]:
            return "", version, rest
        case ["apis", group, version, *rest]:
            return group, version, rest
        case _:
            return "", "", []


def _split_namespace(rest: list[str]) -> tuple[str, list[str]]:
    """`namespaces/x/pods/...` is about pods in x; `namespaces`, `namespaces/x[/status]` about a Namespace."""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in NAMESPACE_SUBRESOURCES:
        return rest[1], rest[2:]
    return "", rest


def tokens(headers: Mapping[str, str], name: str) -> frozenset[str]:
    """The comma-separated, case-insensitive words of a header, also where it is repeated."""
    values = (value for given, value in headers.items() if given.lower() == name.lower())
    return frozenset(word.strip().lower() for value in values for word in value.split(",") if word.strip())


def media_type(headers: Mapping[str, str]) -> str:
    """The content type without its parameters; empty if there is none."""
    return headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip().lower()


def request_headers(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """What of a client's headers goes on to the API server."""
    passed = end_to_end(headers, NOT_FORWARDED)
    passed[hdrs.ACCEPT_ENCODING] = "identity"
    return passed


def end_to_end(headers: Mapping[str, str], but: frozenset[str] = frozenset()) -> CIMultiDict[str]:
    """The headers that are meant for the other end, in order, repeated ones kept."""
    dropped = HOP_BY_HOP | but | tokens(headers, hdrs.CONNECTION)
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)


def is_json(headers: Mapping[str, str]) -> bool:
    return media_type(headers) == "application/json" and hdrs.CONTENT_ENCODING not in headers


def parsed(raw: bytes) -> object:
    """The JSON, or None if it is none."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


async def read_up_to(stream: aiohttp.StreamReader, limit: int) -> tuple[bytes, bool]:
    """What there is, and whether that is all; reading stops soon after `limit` bytes."""
    parts: list[bytes] = []
    size = 0
    async for part in stream.iter_any():
        parts.append(part)
        size += len(part)
        if size > limit:
            return b"".join(parts), False
    return b"".join(parts), True


async def rejoined(head: bytes, rest: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """A body of which the beginning was read already."""
    yield head
    async for part in rest.iter_any():
        yield part


def status_response(status: int, reason: str, message: str) -> web.Response:
    """An error of the proxy's own, in the shape that Kubernetes clients print."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": status,
    }
    return web.json_response(body, status=status)


def whole_response(upstream: aiohttp.ClientResponse, body: bytes) -> web.Response:
    """An answer that was read to its end."""
    headers = end_to_end(upstream.headers, frozenset({"content-length"}))
    return web.Response(status=upstream.status, reason=upstream.reason, headers=headers, body=body)


async def stream_response(
    request: web.BaseRequest, upstream: aiohttp.ClientResponse, head: bytes = b""
) -> web.StreamResponse:
    """Send an answer on as it comes, each piece at once; `head` was read already."""
    response = web.StreamResponse(
        status=upstream.status, reason=upstream.reason, headers=end_to_end(upstream.headers)
    )
    await response.prepare(request)
    try:
        if head:
            await response.write(head)
        async for part in upstream.content.iter_any():
            await response.write(part)
        await response.write_eof()
    except (aiohttp.ClientPayloadError, aiohttp.ClientOSError, aiohttp.ServerTimeoutError):
        if request.transport is not None:
            request.transport.abort()  # an answer cut short must not look complete
    return response


def is_upgrade(headers: Mapping[str, str]) -> bool:
    return hdrs.UPGRADE in headers and "upgrade" in tokens(headers, hdrs.CONNECTION)


async def upgrade(client: Client, request: web.BaseRequest) -> web.StreamResponse:
    """Ask the API server over a connection of its own; splice the two if it agrees, else pass its answer on.

    Raises UnreachableError if there is no answer.
    """
    asked = await _asking(client, request)
    reader, writer = await client.dial()
    try:
        writer.write(asked)
        head = await reader.readuntil(END)
        status, reason, headers = _parse_head(head)
        if status != 101:
            body = await asyncio.wait_for(_error_body(reader, headers), 10)
            passed = end_to_end(headers, frozenset({"content-length"}))
            return web.Response(status=status, reason=reason, headers=passed, body=body)
        await _splice(request, head, reader, writer)
        return web.Response(status=101)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, OSError) as error:
        raise UnreachableError(f"the API server gave no usable answer to an upgrade: {error}") from error
    finally:
        writer.close()


async def _asking(client: Client, request: web.BaseRequest) -> bytes:
    """The request as the API server is to see it: our credentials in place of the client's."""
    base = URL(client.base_url)
    headers = end_to_end(request.headers, frozenset({"authorization", "host", "expect", "content-length"}))
    headers[hdrs.HOST] = base.host_port_subcomponent or ""
    headers = await client.authorized(headers)
    headers[hdrs.CONNECTION] = "Upgrade"
    headers[hdrs.UPGRADE] = request.headers[hdrs.UPGRADE]
    body = await request.read()
    if body or request.method not in {"GET", "HEAD"}:
        headers[hdrs.CONTENT_LENGTH] = str(len(body))
    target = base.raw_path.rstrip("/") + request.raw_path
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode(errors="surrogateescape") + END + body


def _parse_head(head: bytes) -> tuple[int, str, CIMultiDict[str]]:
    first, *lines = head.removesuffix(END).decode(errors="surrogateescape").split("\r\n")
    _, status, reason = [*first.split(" ", 2), ""][:3]
    pairs = (line.partition(":") for line in lines)
    return int(status), reason, CIMultiDict((name.strip(), value.strip()) for name, _, value in pairs)


async def _error_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """The body of an answer that refuses the upgrade; the connection ends with it."""
    if "chunked" in tokens(headers, hdrs.TRANSFER_ENCODING):
        return await _chunks(reader)
    if hdrs.CONTENT_LENGTH in headers:
        return await reader.readexactly(min(int(headers[hdrs.CONTENT_LENGTH]), MAX_ERROR_BODY))
    return await reader.read(MAX_ERROR_BODY)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).partition(b";")[0], 16):
        if len(body) + size > MAX_ERROR_BODY:
            raise ValueError("its body is too long")
        body += await reader.readexactly(size)
        await reader.readline()
    return body


async def _splice(
    request: web.BaseRequest, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Take the client's connection out of the HTTP server's hands and pass bytes until either side ends."""
    transport, server = request.transport, request.protocol
    if transport is None:
        return
    loop = asyncio.get_running_loop()
    from_client = asyncio.StreamReader(limit=CHUNK)
    protocol = asyncio.StreamReaderProtocol(from_client)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    transport.resume_reading()
    to_client = asyncio.StreamWriter(transport, protocol, from_client, loop)
    to_client.write(head)
    pumps = {
        asyncio.create_task(_pump(from_client, writer)),
        asyncio.create_task(_pump(reader, to_client)),
    }
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        try:
            await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            to_client.close()
            server.connection_lost(None)  # the server still counts it among its own


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
