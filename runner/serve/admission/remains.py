"""What the API server is told of webhooks at a URL of this machine: how it is found again, and removed.

An operator that was killed leaves it. A review that nobody answers is let through, but a custom resource that
nobody converts cannot even be read: so whoever begins to develop removes what leads nowhere.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from contextlib import suppress

import structlog

from runner.config.webhooks import CONVERT
from runner.errors import KubeError, NotFoundError
from runner.kube.client import Client
from runner.objects import Body, Json

GROUP = "/apis/admissionregistration.k8s.io/v1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
LABELS = {"app.kubernetes.io/managed-by": "ansible-operator-dev"}
MERGE = "application/merge-patch+json"
HOST = "127.0.0.1"
_URL = re.compile(rf"https://{re.escape(HOST)}:(\d+)(/.*)")
_NO_CONVERSION: Json = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
_ANSWERS_WITHIN = 1.0
"""Seconds; on one machine, where a connection is refused or made at once."""

log = structlog.get_logger(__name__)


async def clear(client: Client) -> None:
    """Remove what has the API server ask where nobody answers. What cannot be removed is said."""
    try:
        for place, body in await _found(client):
            if not any([await _answers(config) for config in by_url(body)]):
                await remove(client, place)
                log.info("Removed webhooks of an operator that was killed", object=place.rpartition("/v1/")[2])
    except KubeError as error:
        log.warning("The webhooks of operators that were killed are not removed", why=str(error))


def by_url(body: Body) -> list[Json]:
    """The `clientConfig`s with a URL of a webhook configuration, or of a CRD's conversion."""
    converting = (body.get("spec") or {}).get("conversion", {}).get("webhook")
    hooks = body.get("webhooks") or ([converting] if converting else [])
    return [hook["clientConfig"] for hook in hooks if "url" in hook.get("clientConfig", {})]


async def remove(client: Client, place: str) -> None:
    """Delete the configuration, or have the custom resources of the CRD converted by nobody. Raises KubeError."""
    with suppress(NotFoundError):
        if place.startswith(CRDS):
            await client.request("PATCH", place, body=_NO_CONVERSION, content_type=MERGE)
        else:
            await client.request("DELETE", place)


async def _found(client: Client) -> list[tuple[str, Body]]:
    """What operators under development have told, each with its path."""
    selector = ",".join(f"{name}={value}" for name, value in LABELS.items())
    found: list[tuple[str, Body]] = []
    for plural in PLURALS.values():
        listed = await client.request("GET", f"{GROUP}/{plural}", params={"labelSelector": selector})
        found += [(f"{GROUP}/{plural}/{body['metadata']['name']}", body) for body in listed.get("items") or ()]
    crds = (await client.request("GET", CRDS)).get("items") or ()
    return found + [(f"{CRDS}/{body['metadata']['name']}", body) for body in crds if _is_converted_here(body)]


def _is_converted_here(crd: Body) -> bool:
    found = [_URL.fullmatch(config["url"]) for config in by_url(crd)]
    return any(url is not None and url[2] == CONVERT for url in found)


async def _answers(config: Json) -> bool:
    """Whether somebody listens there who has the key that the API server is told to trust."""
    url = _URL.fullmatch(config["url"])
    if url is None:
        return False
    try:
        trusted = base64.b64decode(config.get("caBundle") or "").decode()
        context = ssl.create_default_context(cadata=trusted)
        async with asyncio.timeout(_ANSWERS_WITHIN):
            _, writer = await asyncio.open_connection(HOST, int(url[1]), ssl=context)
            writer.close()
            await writer.wait_closed()
    except (OSError, ValueError):  # of which those of TLS and of time are
        return False
    return True
