"""Upgraded connections (exec, attach, port-forward): asked for over a connection of their own, then spliced."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from runner.errors import UnreachableError
from runner.kube.client import Client
from runner.serve.forward import end_to_end, tokens

CHUNK, MAX_ERROR_BODY = 64 * 1024, 1024 * 1024
END = b"\r\n\r\n"


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
