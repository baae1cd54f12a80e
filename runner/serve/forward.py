"""Requests and answers as they pass the proxy: targets, headers, and bodies."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote, unquote_plus

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict

NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
STREAMS = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose answer is somebody else's bytes, perhaps without an end."""

_SELECTOR = "fieldSelector"
_FORWARDED = re.compile(r"/[!-~]*")
_ESCAPED_SEPARATOR = re.compile("%(?:2f|5c|25)", re.IGNORECASE)
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
    given = _options(query)
    watch = given.get("watch", "false").lower() not in {"false", "0"}
    if rest[0] == "watch":  # the old /api/v1/watch/... form
        rest, watch = rest[1:], True
    namespace, rest = _split_namespace(rest)
    if not rest or not rest[0]:
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    return Target(group, version, plural, namespace, name, subresource, watch, "dryRun" in given)


def forwardable(raw_path: str) -> bool:
    """Whether a request's target arrives as it is: a path of this server in ASCII, without a fragment."""
    return _FORWARDED.fullmatch(raw_path) is not None and "#" not in raw_path


def ambiguous(raw_path: str) -> bool:
    """Whether the API server, or a load balancer in front of it, may read another path than the proxy does."""
    path = raw_path.partition("?")[0]
    segments = unquote(path).removeprefix("/").removesuffix("/").split("/")
    odd = any(segment in {"", ".", ".."} or "\\" in segment for segment in segments)
    return _ESCAPED_SEPARATOR.search(path) is not None or (odd and path != "/")


def _options(query: str) -> dict[str, str]:
    """The first value of each, by Go's rules: what has a semicolon or a bad escape is no option."""
    pairs = [pair.partition("=") for pair in query.split("&") if ";" not in pair and not _NOT_ESCAPED.search(pair)]
    return {unquote_plus(name): unquote_plus(value) for name, _, value in reversed(pairs)}


def selecting(raw_path: str, terms: Sequence[str]) -> str:
    """The target of a list or watch with more terms in its field selector."""
    path, _, query = raw_path.partition("?")
    given = _options(query).get(_SELECTOR, "")
    others = [pair for pair in query.split("&") if pair and unquote_plus(pair.partition("=")[0]) != _SELECTOR]
    selector = quote(",".join([*([given] if given else []), *terms]), safe="")
    return f"{path}?{'&'.join([*others, f'{_SELECTOR}={selector}'])}"


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
    """Whether the request asks for another protocol; an offer of HTTP/2 may be ignored (RFC 9110, 7.8)."""
    return bool(tokens(headers, hdrs.UPGRADE) - {"h2c"}) and "upgrade" in tokens(headers, hdrs.CONNECTION)
