from __future__ import annotations

import base64
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.dev import certificates
from runner.dev.layout import Layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    made = Layout(tmp_path_factory.mktemp("plane"))
    certificates.create_certificates(made.certificates)
    certificates.write_kubeconfig(made.kubeconfig, made, "https://127.0.0.1:1001", "admin")
    return made


def only(layout: Layout, kind: str) -> Any:
    (entry,) = yaml.safe_load(layout.kubeconfig.read_text())[f"{kind}s"]
    return entry[kind]


def test_kubeconfig_is_for_its_owner_only(layout: Layout) -> None:
    assert stat.S_IMODE(layout.kubeconfig.stat().st_mode) == 0o600


def test_kubeconfig_verifies_the_server_by_our_authority(layout: Layout) -> None:
    cluster = only(layout, "cluster")

    assert cluster["server"] == "https://127.0.0.1:1001"
    assert base64.b64decode(cluster["certificate-authority-data"]) == layout.certificate("ca").read_bytes()
    assert "insecure-skip-tls-verify" not in cluster


def test_kubeconfig_logs_in_with_a_client_certificate(layout: Layout) -> None:
    user = only(layout, "user")

    assert base64.b64decode(user["client-certificate-data"]) == layout.certificate("admin").read_bytes()
    assert base64.b64decode(user["client-key-data"]) == layout.key("admin").read_bytes()


def test_existing_kubeconfig_is_replaced(layout: Layout, tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("old")

    certificates.write_kubeconfig(tmp_path / "kubeconfig", layout, "https://127.0.0.1:1002", "kwok")

    assert yaml.safe_load((tmp_path / "kubeconfig").read_text())["users"][0]["name"] == "kwok"
