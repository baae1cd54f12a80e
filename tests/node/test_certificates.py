"""The operator's own certificate, in the Secret that its pods share: rotated while reviews are asked for."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import yaml

from runner.serve.admission.rotation import LEFT, SETTLES, Kept, to_secret
from runner.serve.certificates import LOCAL, issued
from tests.fixtures.manifests import CONFIG, NAMESPACE
from tests.node import operators, reviews
from tests.node.cluster import Cluster
from tests.node.waiting import wait_for

pytestmark = pytest.mark.cluster
SECRET = "secret/sample-operator-webhook-cert"
SERVICE = "sample-operator-webhook-service"
CONFIGURATION = "validatingwebhookconfiguration/sample-operator-webhooks"
ENOUGH = 20


@pytest.fixture
def old_certificate(cluster: Cluster, operator_image: None) -> Iterator[str]:
    """Two replicas show one that has less than LEFT to live; what the Secret holds of it."""
    operators.install(cluster)
    operators.stop(cluster)
    pair = issued((f"*.{NAMESPACE}.svc", *LOCAL), LEFT - timedelta(days=1))
    data = to_secret(Kept(current=pair, authorities=(pair.authority,)))
    cluster.kubectl("patch", SECRET, "-n", NAMESPACE, "--type=merge", f"--patch={json.dumps({'data': data})}")
    operators.scale(cluster, 2)
    yield data["tls.crt"]
    operators.scale(cluster, 1)


@pytest.mark.timeout(500)
def test_no_review_fails_while_the_certificate_is_rotated(
    cluster: Cluster, namespace: str, old_certificate: str
) -> None:
    body = yaml.safe_load((CONFIG.parent / "crds/samples/memcached.yaml").read_text())
    with operators.explained(cluster), reviews.under_way(cluster, namespace, "memcacheds", body) as asked:
        assert _shown(cluster) == old_certificate
        wait = SETTLES.total_seconds() + 90
        wait_for("the next one", lambda: _secret(cluster)["tls.crt"] != old_certificate, seconds=wait, every=1)
        shown_by_all = wait_for("it to be shown", lambda: _new(cluster), seconds=60, every=1)
        # New pods, so that each connection begins anew.
        cluster.kubectl("rollout", "restart", operators.DEPLOYMENT, "-n", NAMESPACE)
        operators.rolled_out(cluster, reviews=False)
        so_far = len(asked.seconds)
        wait_for("more reviews", lambda: len(asked.seconds) > so_far + ENOUGH, seconds=30)

    assert shown_by_all
    assert asked.failed == []


def _new(cluster: Cluster) -> bool:
    """Whether whoever answers shows what the Secret holds; by the authorities that the API server knows."""
    return bool(_shown(cluster) == _secret(cluster)["tls.crt"])


def _shown(cluster: Cluster) -> str:
    """The certificate that the Service shows; the handshake fails where the API server would not trust it."""
    address = cluster.kubectl("get", f"service/{SERVICE}", "-n", NAMESPACE, "-o=jsonpath={.spec.clusterIP}")
    bundle = cluster.kubectl("get", CONFIGURATION, "-o=jsonpath={.webhooks[0].clientConfig.caBundle}")
    trust = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    with (
        socket.create_connection((address, 443), timeout=10) as line,
        trust.wrap_socket(line, server_hostname=f"{SERVICE}.{NAMESPACE}.svc") as secure,
    ):
        shown = ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True) or b"")
    return base64.b64encode(shown.encode()).decode()


def _secret(cluster: Cluster) -> dict[str, Any]:
    return dict(json.loads(cluster.kubectl("get", SECRET, "-n", NAMESPACE, "-o=json"))["data"])
