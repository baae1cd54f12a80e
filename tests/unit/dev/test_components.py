from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.dev.components import NAMES, AuditLevel, Options, all_components, audit_policy
from runner.dev.layout import Layout, Ports

LAYOUT = Layout(Path("/plane"))
PORTS = Ports(api=1001, etcd=1002, etcd_peer=1003)


def flags(component: str, options: Options | None = None) -> dict[str, str]:
    components = {c.name: c.arguments for c in all_components(LAYOUT, PORTS, options or Options())}
    return dict(argument.split("=", 1) for argument in components[component])


def test_components_are_started_from_the_data_store_upwards() -> None:
    assert tuple(c.name for c in all_components(LAYOUT, PORTS, Options())) == NAMES
    assert NAMES[:2] == ("etcd", "kube-apiserver")


@pytest.mark.parametrize("url", ["listen-client-urls", "listen-peer-urls", "advertise-client-urls"])
def test_etcd_listens_with_tls_on_the_loopback_only(url: str) -> None:
    assert flags("etcd")[f"--{url}"].startswith("https://127.0.0.1:")


@pytest.mark.parametrize("prefix", ["", "peer-"])
def test_etcd_demands_a_certificate_of_its_own_authority(prefix: str) -> None:
    assert flags("etcd")[f"--{prefix}client-cert-auth"] == "true"
    assert flags("etcd")[f"--{prefix}trusted-ca-file"] == "/plane/certificates/etcd-ca.crt"


def test_etcd_skips_syncing_data_that_is_thrown_away() -> None:
    assert flags("etcd")["--unsafe-no-fsync"] == "true"


def test_etcd_syncs_data_that_is_kept() -> None:
    assert "--unsafe-no-fsync" not in flags("etcd", Options(keep=True))


def test_apiserver_listens_on_the_loopback_only() -> None:
    assert flags("kube-apiserver")["--bind-address"] == "127.0.0.1"
    assert flags("kube-apiserver")["--secure-port"] == "1001"


def test_apiserver_needs_no_default_route() -> None:
    assert flags("kube-apiserver")["--advertise-address"] == "127.0.0.1"


def test_apiserver_enforces_rbac() -> None:
    assert flags("kube-apiserver")["--authorization-mode"] == "Node,RBAC"


def test_apiserver_writes_no_audit_log_unless_asked() -> None:
    assert not [flag for flag in flags("kube-apiserver") if flag.startswith("--audit")]


def test_apiserver_never_rotates_the_audit_log_away() -> None:
    audited = flags("kube-apiserver", Options(audit=AuditLevel.REQUEST))

    assert audited["--audit-log-path"] == "/plane/audit.log"
    assert int(audited["--audit-log-maxsize"]) > 0  # 0 means 100 MB


def test_audit_policy_keeps_the_content_of_secrets_out() -> None:
    rules = audit_policy(AuditLevel.REQUEST_RESPONSE)["rules"]

    assert isinstance(rules, list)
    assert {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]} in rules
    assert rules[-1] == {"level": "RequestResponse"}


@pytest.mark.parametrize("component", ["kube-controller-manager", "kube-scheduler"])
def test_controllers_open_no_port(component: str) -> None:
    assert flags(component)["--secure-port"] == "0"


@pytest.mark.parametrize("component", NAMES[2:])
def test_each_client_logs_in_as_itself(component: str) -> None:
    assert flags(component)["--kubeconfig"] == f"/plane/config/{component}.kubeconfig"


def test_node_lifecycle_controller_stays_on() -> None:
    # It takes the not-ready taint off the node, without which no pod is scheduled.
    assert "--controllers" not in flags("kube-controller-manager")


def test_a_real_node_takes_the_place_of_the_simulated_one() -> None:
    started = tuple(c.name for c in all_components(LAYOUT, PORTS, Options(address="10.1.1.1")))

    assert started == tuple(name for name in NAMES if name != "kwok")


def test_a_real_node_reaches_the_api_server_at_its_address() -> None:
    components = all_components(LAYOUT, replace(PORTS, host="10.1.1.1"), Options(address="10.1.1.1"))
    arguments = next(c.arguments for c in components if c.name == "kube-apiserver")

    assert {"--bind-address=10.1.1.1", "--advertise-address=10.1.1.1"} <= set(arguments)
    assert "--endpoint-reconciler-type=none" not in arguments
