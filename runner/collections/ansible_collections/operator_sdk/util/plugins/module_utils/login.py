"""How modules log in: options, else environment variables, else what the place they run in offers."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from typing import Any

try:
    from kubernetes import client, config
    from urllib3.util import make_headers

    MISSING = ""
except ImportError:
    MISSING = traceback.format_exc()

LOGIN_OPTIONS: dict[str, dict[str, Any]] = {
    "kubeconfig": {"type": "str"},
    "context": {"type": "str"},
    "host": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
    "ca_cert": {"type": "str", "aliases": ["ssl_ca_cert"]},
    "client_cert": {"type": "str", "aliases": ["cert_file"]},
    "client_key": {"type": "str", "aliases": ["key_file"], "no_log": False},
    "proxy": {"type": "str"},
    "persist_config": {"type": "bool"},
}
_FALSE = ("0", "false", "no")
_SETTINGS = {
    "host": "host",
    "validate_certs": "verify_ssl",
    "ca_cert": "ssl_ca_cert",
    "client_cert": "cert_file",
    "client_key": "key_file",
    "proxy": "proxy",
}
"""Options that are settings of the client, by the client's names for them."""


def login_options(params: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """The options that are given, by a parameter or else by a variable of the environment."""
    found = {}
    for name, option in LOGIN_OPTIONS.items():
        value = params.get(name) or _from_environment(name, option, environment)
        if value not in (None, ""):
            found[name] = value
    return found


def _from_environment(name: str, option: Mapping[str, Any], environment: Mapping[str, str]) -> Any:  # noqa: ANN401
    for spelling in (name, *option.get("aliases", ())):
        text = environment.get("K8S_AUTH_" + spelling.upper())
        if text:
            return text.lower() not in _FALSE if option["type"] == "bool" else text
    return None


def logged_in(params: Mapping[str, Any]) -> Any:  # noqa: ANN401  (kubernetes is not typed)
    """A `kubernetes.client.ApiClient`. Raises kubernetes' ConfigException when there is no way to log in."""
    options = login_options(params, os.environ)
    settings = client.Configuration()
    if not _names_a_server(options):
        _load(options, settings)
    for option, name in _SETTINGS.items():
        if option in options:
            setattr(settings, name, options[option])
    authorization = _authorization(options)
    if authorization:
        settings.api_key = {"authorization": authorization}
    return client.ApiClient(settings)


def _names_a_server(options: Mapping[str, Any]) -> bool:
    return "host" in options and ("api_key" in options or ("username" in options and "password" in options))


def _load(options: Mapping[str, Any], settings: Any) -> None:  # noqa: ANN401  (kubernetes is not typed)
    from_file = {
        "config_file": options.get("kubeconfig"),
        "context": options.get("context"),
        "client_configuration": settings,
        "persist_config": options.get("persist_config", False),
    }
    if "kubeconfig" in options or "context" in options:
        config.load_kube_config(**from_file)
        return
    try:
        config.load_incluster_config(client_configuration=settings)
    except config.ConfigException:
        config.load_kube_config(**from_file)


def _authorization(options: Mapping[str, Any]) -> str:
    if "api_key" in options:
        return "Bearer {}".format(options["api_key"])
    if "username" in options and "password" in options:
        both = "{}:{}".format(options["username"], options["password"])
        return str(make_headers(basic_auth=both)["authorization"])
    return ""
