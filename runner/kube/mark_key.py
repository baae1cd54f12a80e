"""The key of marks: kept in a Secret in a pod, in a file of its user elsewhere, so that it survives restarts.

Without the key nothing is marked and nothing is pruned. A key that is lost is no harm: the next run of each custom
resource marks again what it writes.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog

from runner.config.settings import Settings
from runner.errors import ConflictError, KubeError, LeadershipLostError, NotFoundError, SettingsError
from runner.kube.client import Client
from runner.kube.clock import REAL, Clock
from runner.marks import Marks

SHORTEST = 32
"""Bytes of a key, at least."""
AGAIN_AFTER = 60.0
"""Seconds until a key that couldn't be read is looked for again."""
_FIELD = "key"
"""Of the Secret."""
log = structlog.get_logger(__name__)


def secret_name(settings: Settings) -> str:
    """The Secret with the key, in the operator's own namespace."""
    return f"{settings.leader_election_id or 'ansible-operator'}-prune-key"


class MarkKey:
    """Reads the key when it is first needed, and creates one where there is none."""

    def __init__(self, client: Client, settings: Settings, clock: Clock = REAL) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._marks: Marks | None = None
        self._failed_at = -math.inf
        self._logged = ""
        self._lock = asyncio.Lock()

    async def marks(self) -> Marks | None:
        """None while there is no key; the log says why. Raises LeadershipLostError."""
        async with self._lock:
            if self._marks is None and self._clock.now() - self._failed_at >= AGAIN_AFTER:
                try:
                    self._marks = Marks(await self._key())
                except LeadershipLostError:
                    raise
                except (KubeError, SettingsError) as error:
                    self._failed(str(error))
            return self._marks

    def _failed(self, why: str) -> None:
        self._failed_at = self._clock.now()
        if why != self._logged:
            self._logged = why
            hint = "allow it (docs/how-to/prune.md), or name a file with --prune-key-file"
            log.warning("Nothing is pruned: there is no key to mark objects with", why=why, hint=hint)

    async def _key(self) -> bytes:
        given, private = self._settings.prune_key_file, self._settings.state_directory
        if given:
            return await asyncio.to_thread(_read, Path(given))
        if self._settings.cluster.in_pod:
            return await self._secret()
        if private is None:
            raise SettingsError("neither HOME nor XDG_STATE_HOME says where to keep it")
        return await asyncio.to_thread(_read_or_create, private / "prune-key")

    async def _secret(self) -> bytes:
        namespace, name = await self._client.namespace(), secret_name(self._settings)
        path = f"/api/v1/namespaces/{namespace}/secrets"
        try:
            return _key_of(await self._client.request("GET", f"{path}/{name}"), f"{namespace}/{name}")
        except NotFoundError:
            pass
        body = _new_secret(name)
        try:
            return _key_of(await self._client.request("POST", path, body=body), f"{namespace}/{name}")
        except ConflictError:  # another replica created it first
            return _key_of(await self._client.request("GET", f"{path}/{name}"), f"{namespace}/{name}")


def _new_secret(name: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": "ansible-operator"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "immutable": True,
        "metadata": {"name": name, "labels": labels},
        "data": {_FIELD: b64encode(secrets.token_bytes(SHORTEST)).decode()},
    }


def _key_of(secret: Mapping[str, Any], where: str) -> bytes:
    """Raises SettingsError for a Secret without a key."""
    try:
        key = b64decode((secret.get("data") or {}).get(_FIELD, ""), validate=True)
    except (Base64Error, TypeError, ValueError):
        key = b""
    if len(key) < SHORTEST:
        raise SettingsError(f"the Secret {where} has no {_FIELD!r} of {SHORTEST} bytes or more: delete it")
    return key


def _read(file: Path) -> bytes:
    """Raises SettingsError for a file that can't be read, or holds too little."""
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise SettingsError(f"{file} can't be read: {error.strerror}") from error
    if len(key) < SHORTEST:
        raise SettingsError(f"{file} holds {len(key)} bytes: a key has {SHORTEST} or more")
    return key


def _read_or_create(file: Path) -> bytes:
    """Two operators that start at the same time end with one key. Raises SettingsError."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
        if not file.exists():
            try:
                descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "w") as stream:
                    stream.write(secrets.token_hex(SHORTEST))
                os.link(new, file)  # atomic, and fails where the file exists
            except FileExistsError:
                pass
            finally:
                new.unlink(missing_ok=True)
    except OSError as error:
        raise SettingsError(f"{file} can't be created: {error.strerror}") from error
    return _read(file)
