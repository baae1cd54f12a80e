"""What a started control plane can do: pods, Jobs, tokens and rights, as in a real cluster."""

from __future__ import annotations

import pytest

from runner.dev.api import Api

pytestmark = pytest.mark.cluster


def test_namespace_is_there(admin: Api, namespace: str) -> None:
    status, _ = admin.call("GET", f"/api/v1/namespaces/{namespace}")

    assert status == 200
