"""What a connection costs."""

from __future__ import annotations

import asyncio
import ssl
import tracemalloc

from aiohttp import web

from runner.serve.certificates import ServingCertificate
from runner.serve.metrics import Listener

CONNECTIONS = 20
MOST = 160 * 1024
"""Bytes that both ends of one may take; with asyncio's own buffers they take 600 KiB."""


async def test_a_connection_over_tls_takes_little_memory() -> None:
    certificate = ServingCertificate("tests")
    listener = Listener("127.0.0.1:0", web.Application(), "--port", certificate.context)
    await listener.start()
    tls = ssl.create_default_context(cadata=certificate.authority.decode())
    tracemalloc.start()
    try:
        opened = [
            (await asyncio.open_connection("127.0.0.1", listener.port, ssl=tls))[1] for _ in range(CONNECTIONS)
        ]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    for writer in opened:
        writer.close()
        await writer.wait_closed()
    await listener.stop()
    assert taken / CONNECTIONS < MOST
