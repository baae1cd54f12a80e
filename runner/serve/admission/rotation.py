"""When the operator's own certificate is made and replaced, and what of it goes where. Pure.

A new one is announced before it is shown: first its authority stands beside the old one in everything that the API
server asks by, and only when that is settled do servers show the certificate. So no handshake ever fails.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.config.webhooks import CONVERT
from runner.objects import Body
from runner.serve.certificates import Pair, valid_until

VALIDITY = timedelta(days=90)
LEFT = timedelta(days=30)
"""So long before the end of a certificate the next is made."""
SETTLES = timedelta(minutes=2)
"""From the announcement of a certificate until it is shown: replicas look four times in that time."""
LONG_AGO = datetime.min.replace(tzinfo=UTC)
Operation = dict[str, Any]
"""One of a JSON patch."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the Secret holds: what is shown, what is announced and since when, and the authorities of both."""

    current: Pair | None = None
    following: Pair | None = field(default=None, repr=False)
    since: datetime = LONG_AGO
    authorities: tuple[bytes, ...] = ()

    @property
    def bundle(self) -> bytes:
        return b"".join(self.authorities)


def step(kept: Kept, now: datetime, make: Callable[[], Pair]) -> Kept:
    """What the Secret is to hold now; the same where nothing is to be done."""
    left = _left(kept.current, now)
    if kept.current is None or left <= timedelta(0):
        pair = make()
        return Kept(current=pair, authorities=(pair.authority,))
    if kept.following is not None:
        if now - kept.since < SETTLES:
            return kept
        return replace(kept, current=kept.following, following=None)
    if left > LEFT:
        return kept
    pair = make()
    return replace(kept, following=pair, since=now, authorities=(*kept.authorities[-1:], pair.authority))


def _left(pair: Pair | None, now: datetime) -> timedelta:
    try:
        return valid_until(pair.certificate) - now if pair else timedelta(0)
    except ValueError:
        return timedelta(0)


def to_secret(kept: Kept) -> dict[str, str]:
    """The `data` of the Secret."""
    data = {"ca.crt": kept.bundle}
    for name, pair in (("tls", kept.current), ("next", kept.following)):
        if pair is not None:
            data |= {f"{name}.crt": pair.certificate, f"{name}.key": pair.key}
    if kept.following is not None:
        data["next.since"] = kept.since.isoformat().encode()
    return {name: base64.b64encode(value).decode() for name, value in data.items()}


def of_secret(secret: Body) -> Kept:
    """What is in it; nothing where it is not ours, or broken."""
    try:
        data = {name: base64.b64decode(text, validate=True) for name, text in (secret.get("data") or {}).items()}
        authorities = tuple(_blocks(data.get("ca.crt", b"")))
        text = data.get("next.since", b"").decode()
        since = datetime.fromisoformat(text).astimezone(UTC) if text else LONG_AGO
        return Kept(_pair(data, "tls"), _pair(data, "next"), since, authorities)
    except (binascii.Error, ValueError, TypeError, AttributeError):
        return Kept()


def _pair(data: Mapping[str, bytes], name: str) -> Pair | None:
    certificate, key = data.get(f"{name}.crt", b""), data.get(f"{name}.key", b"")
    return Pair(certificate, key, data.get("ca.crt", b"")) if certificate and key else None


def _blocks(pem: bytes) -> Iterator[bytes]:
    end = b"-----END CERTIFICATE-----\n"
    for block in pem.split(end)[:-1]:
        yield block + end


def patch_of_configuration(body: Body, namespace: str, paths: Collection[str], bundle: bytes) -> list[Operation]:
    """What has to be changed in a webhook configuration, so that the API server trusts our Service there."""
    operations: list[Operation] = []
    for index, webhook in enumerate(body.get("webhooks") or ()):
        if _to_be_written(webhook.get("clientConfig"), namespace, paths, bundle):
            place = f"/webhooks/{index}"
            operations.append({"op": "test", "path": f"{place}/name", "value": webhook["name"]})
            operations.append(_add(f"{place}/clientConfig/caBundle", bundle))
    return operations


def patch_of_crd(body: Body, namespace: str, bundle: bytes) -> list[Operation]:
    """The same in the `conversion` of a CRD."""
    webhook = ((body.get("spec") or {}).get("conversion") or {}).get("webhook") or {}
    if not _to_be_written(webhook.get("clientConfig"), namespace, (CONVERT,), bundle):
        return []
    return [_add("/spec/conversion/webhook/clientConfig/caBundle", bundle)]


def asks_us(body: Body, namespace: str, paths: Collection[str]) -> bool:
    """Whether a webhook configuration has a webhook at our Service."""
    return any(_is_ours(webhook.get("clientConfig"), namespace, paths) for webhook in body.get("webhooks") or ())


def _to_be_written(config: object, namespace: str, paths: Collection[str], bundle: bytes) -> bool:
    if not isinstance(config, Mapping) or not _is_ours(config, namespace, paths):
        return False
    return bool(config.get("caBundle") != base64.b64encode(bundle).decode())


def _is_ours(config: object, namespace: str, paths: Collection[str]) -> bool:
    service = config.get("service") if isinstance(config, Mapping) else None
    return isinstance(service, Mapping) and service.get("namespace") == namespace and service.get("path") in paths


def _add(path: str, bundle: bytes) -> Operation:
    return {"op": "add", "path": path, "value": base64.b64encode(bundle).decode()}
