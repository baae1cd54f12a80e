"""Which options to log in with a module sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.operator_sdk.util.plugins.module_utils.login import logged_in, login_options

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {token: abc}}]
"""


@pytest.mark.parametrize(
    ("params", "environment", "found"),
    [
        ({"host": "a"}, {"K8S_AUTH_HOST": "b"}, {"host": "a"}),
        ({"host": ""}, {"K8S_AUTH_HOST": "b"}, {"host": "b"}),
        ({"host": None}, {"K8S_AUTH_HOST": ""}, {}),
        ({}, {"K8S_AUTH_VERIFY_SSL": "no"}, {"validate_certs": False}),
        ({}, {"K8S_AUTH_VALIDATE_CERTS": "yes", "K8S_AUTH_VERIFY_SSL": "no"}, {"validate_certs": True}),
        ({"validate_certs": False}, {}, {}),
        ({}, {"K8S_AUTH_SSL_CA_CERT": "/ca"}, {"ca_cert": "/ca"}),
    ],
)
def test_an_option_goes_before_its_variables(
    params: dict[str, Any], environment: dict[str, str], found: dict[str, Any]
) -> None:
    assert login_options(params, environment) == found


def test_a_server_and_a_token_need_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", str(tmp_path / "absent"))
    client = logged_in({"host": "https://api", "api_key": "abc"})
    assert client.configuration.host == "https://api"
    assert client.configuration.auth_settings()["BearerToken"]["value"] == "Bearer abc"


def test_name_and_password_are_sent_as_basic_authentication() -> None:
    client = logged_in({"host": "https://api", "username": "me", "password": "pw"})
    assert client.configuration.auth_settings()["BearerToken"]["value"] == "Basic bWU6cHc="


def test_the_file_that_the_operator_names_is_read_and_options_change_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", str(tmp_path / "config"))
    client = logged_in({"ca_cert": "/ca"})
    assert (client.configuration.host, client.configuration.ssl_ca_cert) == ("http://127.0.0.1:1", "/ca")
    assert client.configuration.auth_settings()["BearerToken"]["value"] == "Bearer abc"
