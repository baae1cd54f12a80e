"""Lists of Secrets without the operator's own."""

from __future__ import annotations

import pytest

from runner.serve.forward import parse_target
from runner.serve.protected import ProtectedObject, narrowed

SECRETS = "/api/v1/namespaces/operators/secrets"
OBJECTS = [
    ProtectedObject("", "secrets", "operators", "own"),
    ProtectedObject("", "secrets", "operators", "another"),
    ProtectedObject("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "webhooks"),
]
WITHOUT = "metadata.name%21%3Danother%2Cmetadata.name%21%3Down"


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        (SECRETS, f"{SECRETS}?fieldSelector={WITHOUT}"),
        ("/api/v1/secrets?limit=5&watch=1", f"/api/v1/secrets?limit=5&watch=1&fieldSelector={WITHOUT}"),
        (f"{SECRETS}?fieldSelector=type%3Da&limit=5", f"{SECRETS}?limit=5&fieldSelector=type%3Da%2C{WITHOUT}"),
        (f"{SECRETS}?fieldSelector=a&fieldSelector=b", f"{SECRETS}?fieldSelector=a%2C{WITHOUT}"),
        (f"{SECRETS}?%66ieldSelector=a", f"{SECRETS}?fieldSelector=a%2C{WITHOUT}"),
        (f"{SECRETS}?fieldSelector=", f"{SECRETS}?fieldSelector={WITHOUT}"),
        ("/api/v1/watch/namespaces/operators/secrets", f"/api/v1/watch{SECRETS[7:]}?fieldSelector={WITHOUT}"),
    ],
)
def test_a_list_asks_for_all_but_the_protected_secrets(path: str, sent: str) -> None:
    assert narrowed(OBJECTS, "GET", path, parse_target(path)) == sent


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/shop/secrets?fieldSelector=a",
        "/api/v1/namespaces/operators/configmaps?limit=5",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        f"{SECRETS}/password",
        "/version",
    ],
)
def test_every_other_request_is_sent_as_it_is(path: str) -> None:
    assert narrowed(OBJECTS, "GET", path, parse_target(path)) == path


def test_a_creation_is_sent_as_it_is() -> None:
    assert narrowed(OBJECTS, "POST", SECRETS, parse_target(SECRETS)) == SECRETS
