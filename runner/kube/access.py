"""The credentials in use: shared by all requests, read again by one of them when they age or are refused."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass, field

import structlog
from yarl import URL

from runner.errors import CredentialsError
from runner.kube.clock import REAL, Clock
from runner.kube.egress import proxy_for
from runner.kube.login import Credentials, Login

log = structlog.get_logger(__name__)

FORCED_APART = 5.0
"""Least seconds between two readings because of a refusal, however many requests are refused."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one request needs to get in. `headers` holds secrets."""

    url: URL
    headers: dict[str, str] = field(repr=False)
    tls: ssl.SSLContext | None
    server_name: str | None
    proxy: str | None = field(repr=False)


class Access:
    """Hands out the current `Pass`."""

    def __init__(self, login: Login, clock: Clock = REAL) -> None:
        self._login = login
        self._clock = clock
        self._lock = asyncio.Lock()
        self._credentials: Credentials | None = None
        self._pass: Pass | None = None
        self._read_at = 0.0

    async def current(self) -> Pass:
        """The pass to use now. Raises CredentialsError only if there never was one that worked."""
        found = self._pass
        if found is not None and not self._stale():
            return found
        async with self._lock:
            if self._pass is None or self._stale():
                await self._read()
            assert self._pass is not None  # noqa: S101  (for the type checker: _read sets it or raises)
            return self._pass

    async def refused(self, used: Pass) -> bool:
        """Whether there is another pass to try than the one that was refused."""
        async with self._lock:
            due = self._clock.now() - self._read_at >= FORCED_APART
            if self._pass is used and due:
                await self._read(refused=True)
            return self._pass is not None and self._pass is not used

    def _stale(self) -> bool:
        fresh_for = self._credentials.fresh_for if self._credentials else 0.0
        return self._clock.now() - self._read_at >= max(fresh_for, FORCED_APART)

    async def _read(self, *, refused: bool = False) -> None:
        self._read_at = self._clock.now()
        try:
            found = await asyncio.to_thread(self._login)
            if self._changed(found, refused) or self._pass is None:
                self._pass = _pass(found)
            self._credentials = found
        except (CredentialsError, OSError) as error:
            if self._pass is None:
                raise
            log.warning("credentials could not be read again, the old ones stay in use", error=str(error))

    def _changed(self, found: Credentials, refused: bool) -> bool:
        info = found.info
        if self._credentials is None or self._credentials.info != info:
            return True
        # The path is the same, but the file behind it may not be: worth one new TLS context after a refusal.
        return refused and bool(info.ca_path or info.certificate_path)


def _pass(found: Credentials) -> Pass:
    info = found.info
    url = URL(info.server)
    if url.scheme not in ("http", "https") or not url.host:
        raise CredentialsError(f"the API server's address {info.server!r} must begin with https:// or http://")
    return Pass(
        url=url,
        headers=info.as_http_headers(),
        tls=_tls(found) if url.scheme == "https" else None,
        server_name=found.server_name or None,
        proxy=info.proxy_url or proxy_for(url, os.environ),
    )


def _tls(found: Credentials) -> ssl.SSLContext:
    try:
        return found.info.as_ssl_context()  # writes client key data to 0600 files, removed before it returns
    except (ValueError, OSError) as error:  # SSLError is an OSError
        raise CredentialsError(
            f"the certificates for {found.info.server} cannot be used ({type(error).__name__}): check the "
            "certificate-authority, client-certificate and client-key of the kubeconfig"
        ) from None
