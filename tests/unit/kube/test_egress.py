"""Which proxy the environment puts before the API server: Go's rules."""

from __future__ import annotations

import pytest
from yarl import URL

from runner.config.settings import ClusterSettings
from runner.errors import CredentialsError
from runner.kube.connection import proxy_for

CLUSTER = URL("https://10.96.0.1:443")
NAMED = URL("https://api.cluster.example.com:6443")


def through(url: URL, no_proxy: str) -> bool:
    return proxy_for(url, ClusterSettings(https_proxy="http://egress:3128", no_proxy=no_proxy)) is not None


def test_without_a_variable_there_is_no_proxy() -> None:
    assert proxy_for(CLUSTER, ClusterSettings.read({})) is None


def test_each_scheme_has_its_own_proxy_variable_in_either_case() -> None:
    given = ClusterSettings.read({"HTTPS_PROXY": "http://secure:1", "http_proxy": "http://plain:2"})

    assert proxy_for(CLUSTER, given) == "http://secure:1"
    assert proxy_for(URL("http://10.96.0.1:80"), given) == "http://plain:2"


def test_a_proxy_without_a_scheme_is_an_http_one() -> None:
    assert proxy_for(CLUSTER, ClusterSettings(https_proxy="egress:3128")) == "http://egress:3128"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"])
def test_loopback_is_never_behind_a_proxy(host: str) -> None:
    assert not through(URL(f"https://{host}:6443"), "")


@pytest.mark.parametrize("entry", ["*", "10.96.0.1", "10.0.0.0/8", "a.example, 10.96.0.0/12", "10.96.0.1:443"])
def test_addresses_and_ranges_in_no_proxy_are_exempt(entry: str) -> None:
    assert not through(CLUSTER, entry)


@pytest.mark.parametrize("entry", ["", "10.96.0.2", "192.168.0.0/16", "10.96.0.1:8443", "10.96.0.0/99", ".svc"])
def test_addresses_that_are_not_in_no_proxy_are_not_exempt(entry: str) -> None:
    assert through(CLUSTER, entry)


@pytest.mark.parametrize(
    "entry", ["api.cluster.example.com", "example.com", ".example.com", "*.example.com", "EXAMPLE.com:6443"]
)
def test_domains_in_no_proxy_are_exempt_with_their_subdomains(entry: str) -> None:
    assert not through(NAMED, entry)


@pytest.mark.parametrize("entry", ["ample.com", "other.com", ".api.cluster.example.com", "example.com:443"])
def test_domains_that_are_not_in_no_proxy_are_not_exempt(entry: str) -> None:
    assert through(NAMED, entry)


def test_ranges_of_ipv6_in_no_proxy_are_exempt() -> None:
    assert not through(URL("https://[fd00::1]:443"), "fd00::/8")


def test_a_proxy_that_is_no_http_one_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(CredentialsError, match=r"HTTPS_PROXY names a socks5 proxy.*NO_PROXY"):
        proxy_for(CLUSTER, ClusterSettings(https_proxy="socks5://egress:1080"))
