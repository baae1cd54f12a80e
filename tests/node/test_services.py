"""Where connections to Services go on a kernel without NAT."""

from __future__ import annotations

from typing import Any

import pytest

from tests.node.services import table

SERVICE: dict[str, Any] = {
    "metadata": {"namespace": "shop", "name": "web"},
    "spec": {"clusterIP": "10.0.0.7", "ports": [{"name": "https", "port": 443, "targetPort": 9443}]},
}


def endpoints(*, ready: bool = True, port: str = "https") -> dict[str, Any]:
    return {
        "metadata": {"namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}},
        "endpoints": [{"addresses": ["172.31.98.2"], "conditions": {"ready": ready}}],
        "ports": [{"name": port, "port": 9443}],
    }


def test_a_service_s_port_leads_to_its_ready_endpoints() -> None:
    assert table([SERVICE], [endpoints()]) == {("10.0.0.7", 443): [("172.31.98.2", 9443)]}


@pytest.mark.parametrize("other", [endpoints(ready=False), endpoints(port="metrics")], ids=["not-ready", "port"])
def test_it_leads_nowhere_else(other: dict[str, Any]) -> None:
    assert table([SERVICE], [other]) == {("10.0.0.7", 443): []}


def test_a_headless_service_has_no_address_to_listen_on() -> None:
    headless = {**SERVICE, "spec": {"clusterIP": "None"}}

    assert table([headless], [endpoints()]) == {}
