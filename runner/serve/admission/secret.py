"""Keeps the operator's own certificate in a Secret, and its authority where the API server asks by it.

All replicas do the same: a write that names an old resourceVersion is refused, so one of them is first, and the
others read what it wrote.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any

import structlog

from runner.config.watches import Watch
from runner.config.webhooks import path
from runner.errors import ConflictError, KindAbsentError, KubeError, NotFoundError
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.serve.admission.rotation import (
    VALIDITY,
    Kept,
    asks_us,
    of_secret,
    patch_of_configuration,
    patch_of_crd,
    step,
    to_secret,
)
from runner.serve.certificates import LOCAL, Pair, ServingCertificate, issued
from runner.serve.protected import EVERY, ProtectedObject

LOOK_EVERY = 30.0
"""Seconds."""
AGAIN_AFTER = 2.0
"""Seconds after something failed, twice as many each time up to LOOK_EVERY."""
CONFIGURATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
LOST = "The webhooks' certificate is not kept in its Secret"
HINT = (
    "allow what config/own-certificate allows (docs/how-to/admission.md), or mount a certificate in place of"
    " --webhook-cert-secret"
)
_ADMISSION = "admissionregistration.k8s.io"
_GROUP = f"/apis/{_ADMISSION}/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_JSON_PATCH = "application/json-patch+json"

log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class SecretCertificate:
    """Makes, rotates and announces what `serving` shows; `name` is the Secret's.

    `protect` is given the objects that no run may change: the Secret, and the webhook configurations that name the
    operator's Service. Until those are known, none may be changed.
    """

    def __init__(
        self,
        client: Client,
        watches: Collection[Watch],
        serving: ServingCertificate,
        name: str,
        protect: Callable[[Iterable[ProtectedObject]], None] = lambda _: None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._client = client
        self._discovery = Discovery(client)
        self._watches = watches
        self._paths = {path(verb, watch.gvk) for watch in watches for verb in ("mutate", "validate")}
        self._serving = serving
        self._name = name
        self._protect = protect
        self._now = now
        self._configurations = {ProtectedObject(_ADMISSION, plural, "", EVERY) for plural in CONFIGURATIONS}
        protect(self._configurations)
        self._shown: Pair | None = None
        self.trouble = "not shown yet"
        """Why the API server cannot trust the certificate yet; empty once it could."""

    async def run(self) -> None:
        """For ever."""
        pause, said = AGAIN_AFTER, ""
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001  (else it would expire in months, and nobody be told)
                expected = isinstance(error, KubeError | ssl.SSLError)
                if str(error) != said:
                    said = str(error)
                    log.warning(LOST, why=said, hint=HINT, **({} if expected else {"exc_info": error}))
                self.trouble = said if self.trouble else ""
                await asyncio.sleep(pause)
                pause = min(2 * pause, LOOK_EVERY)
            else:
                pause, said, self.trouble = AGAIN_AFTER, "", ""
                await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        """Do what is due. Raises KubeError."""
        namespace = await self._client.namespace()
        self._protect({self._secret(namespace), *self._configurations})
        kept = await self._kept(namespace)
        if kept.current is not None and kept.current != self._shown:
            self._serving.use(kept.current)
            self._shown = kept.current
            log.info("Showing a certificate to those who ask for reviews", secret=f"{namespace}/{self._name}")
        await self._announce(namespace, kept.bundle)

    async def _kept(self, namespace: str) -> Kept:
        """What the Secret holds, after what is due; another replica may have been first."""
        place = f"/api/v1/namespaces/{namespace}/secrets"
        while True:
            try:
                secret = await self._client.request("GET", f"{place}/{self._name}")
            except NotFoundError:
                secret = None
            kept = of_secret(secret or {})
            wanted = step(kept, self._now(), lambda: issued((f"*.{namespace}.svc", *LOCAL), VALIDITY))
            if wanted is kept:
                return kept
            if kept.following is not None:  # it is shown only where all who ask know of it
                await self._announce(namespace, kept.bundle)
            try:
                await self._write(place, secret, to_secret(wanted))
            except ConflictError:
                continue
            return wanted

    def _secret(self, namespace: str) -> ProtectedObject:
        return ProtectedObject("", "secrets", namespace, self._name)

    async def _write(self, place: str, secret: dict[str, Any] | None, data: dict[str, str]) -> None:
        if secret is not None:
            await self._client.request("PUT", f"{place}/{self._name}", body={**secret, "data": data})
            return
        metadata = {"name": self._name, "labels": {"app.kubernetes.io/managed-by": "ansible-operator"}}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": metadata,
            "data": data,
        }
        await self._client.request("POST", place, body=body)

    async def _announce(self, namespace: str, bundle: bytes) -> None:
        """To the API server, wherever it is told of our Service."""
        ours = set[ProtectedObject]()
        for plural in CONFIGURATIONS:
            found = await self._client.request("GET", f"{_GROUP}/{plural}")
            for body in found.get("items") or ():
                name = body["metadata"]["name"]
                if asks_us(body, namespace, self._paths):
                    ours.add(ProtectedObject(_ADMISSION, plural, "", name))
                operations = patch_of_configuration(body, namespace, self._paths, bundle)
                await self._patch(f"{_GROUP}/{plural}/{name}", operations)
        self._configurations = ours
        self._protect({self._secret(namespace), *ours})
        for watch in self._watches:
            if watch.conversions:
                await self._announce_conversion(watch, namespace, bundle)

    async def _announce_conversion(self, watch: Watch, namespace: str, bundle: bytes) -> None:
        try:
            resource = await self._discovery.resource(watch.gvk)
        except KindAbsentError:
            return
        place = f"{_CRDS}/{resource.plural}.{watch.gvk.group}"
        await self._patch(place, patch_of_crd(await self._client.request("GET", place), namespace, bundle))

    async def _patch(self, place: str, operations: list[dict[str, Any]]) -> None:
        if operations:
            await self._client.request("PATCH", place, body=operations, content_type=_JSON_PATCH)
            log.info("Told the API server whose certificates to trust", object=place.rpartition("/v1/")[2])
