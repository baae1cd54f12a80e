"""The operator's own certificate, in a Secret of a real API server, announced and rotated."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.observer import Observer, wait_for
from runner.config.admission import Admission, Conversion
from runner.config.settings import ClusterSettings
from runner.config.watches import Content, Watch
from runner.config.webhooks import Endpoint, configurations, conversion
from runner.dev.controlplane import ControlPlane
from runner.kube.client import Client
from runner.objects import GroupVersionKind
from runner.serve.admission.rotation import LEFT, SETTLES, VALIDITY
from runner.serve.admission.secret import SecretCertificate
from runner.serve.certificates import ServingCertificate
from tests.fixtures.operators import GROUP, definition

pytestmark = pytest.mark.cluster

WATCH = Watch(
    GroupVersionKind.of(GROUP, "Certified"),
    Content(Path("/roles/thing"), is_role=True),
    admission=Admission(tasks="admit.yml"),
    conversions={"v1alpha1": Conversion()},
)
NAME = "certifieds.test.example.com"
KIND, CRD = "ValidatingWebhookConfiguration", "CustomResourceDefinition"
PLURALS = {WATCH.gvk: "certifieds"}


class Replicas:
    """Replicas of one operator, and their clock."""

    def __init__(self, client: Client) -> None:
        self.now = datetime.now(UTC)
        self.serving = [ServingCertificate("webhooks") for _ in range(2)]
        self._parts = [
            SecretCertificate(client, [WATCH], one, "cert", now=lambda: self.now) for one in self.serving
        ]

    async def look(self) -> None:
        for part in self._parts:
            await part.look()


@pytest.fixture
def registered(observer: Observer) -> Iterator[Observer]:
    """The API server asks a Service in the test's namespace."""
    endpoint = Endpoint(service="webhook-service", namespace=observer.namespace)
    (body,) = configurations([WATCH], PLURALS, endpoint, name=observer.namespace, namespaces=["nowhere"])
    observer.apply(body)
    crd = definition("Certified")
    (version,) = crd["spec"]["versions"]
    crd["spec"]["versions"].append({**version, "name": "v1alpha1", "storage": False})
    crd["spec"]["conversion"] = conversion(WATCH, endpoint)
    observer.apply(crd)
    wait_for("it to be served", partial(observer.serves, GROUP, "Certified"), seconds=30)
    yield observer
    observer.delete("admissionregistration.k8s.io/v1", KIND, observer.namespace)
    observer.undefine(NAME)


@pytest.fixture
async def replicas(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> AsyncIterator[Replicas]:
    kubeconfig = tmp_path / "kubeconfig"
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = namespace
    kubeconfig.write_text(yaml.safe_dump(config))
    client = await Client.connect(ClusterSettings(kubeconfig=str(kubeconfig)))
    yield Replicas(client)
    await client.close()


def bundles(observer: Observer) -> list[bytes]:
    found: Any = observer.get("admissionregistration.k8s.io/v1", KIND, observer.namespace)
    crd: Any = observer.get("apiextensions.k8s.io/v1", CRD, NAME)
    configs = [found["webhooks"][0]["clientConfig"], crd["spec"]["conversion"]["webhook"]["clientConfig"]]
    return [base64.b64decode(config["caBundle"]) for config in configs]


async def test_every_replica_shows_what_the_secret_holds_and_the_api_server_is_told(
    registered: Observer, replicas: Replicas
) -> None:
    await replicas.look()

    secret: Any = registered.get("v1", "Secret", "cert")
    assert secret["type"] == "kubernetes.io/tls"
    authority = base64.b64decode(secret["data"]["ca.crt"])
    assert [one.authority for one in replicas.serving] == [authority, authority]
    assert bundles(registered) == [authority, authority]


async def test_a_rotation_is_announced_before_it_is_shown(registered: Observer, replicas: Replicas) -> None:
    await replicas.look()
    before: Any = registered.get("v1", "Secret", "cert")

    replicas.now += VALIDITY - LEFT + timedelta(hours=1)
    await replicas.look()
    announced: Any = registered.get("v1", "Secret", "cert")
    assert announced["data"]["tls.crt"] == before["data"]["tls.crt"]
    assert all(found.count(b"BEGIN CERTIFICATE") == 2 for found in bundles(registered))

    replicas.now += SETTLES
    await replicas.look()
    shown: Any = registered.get("v1", "Secret", "cert")
    assert shown["data"]["tls.crt"] == announced["data"]["next.crt"]
