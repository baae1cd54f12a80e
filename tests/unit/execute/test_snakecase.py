"""The names that a custom resource's keys become: the whole measured table, and what holds for every key."""

from __future__ import annotations

import time
import timeit
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.variables import to_snake

MEASURED = {
    "fooBar": "foo_bar",
    "FooBar": "_foo_bar",
    "foo-bar": "foo_bar",
    "K8s": "_k8s",
    "k8sVersion": "k8s_version",
    "sizeK8sBuckets": "size_k8s_buckets",
    "a1b2": "a_1_b2",
    "1a2b3c": "1a_2_b3c",
    "v1beta2Foo": "v1beta2_foo",
    "s3URL": "s3_url",
    "x509CertURL": "x509_cert_url",
    "oauth2Proxy": "oauth2_proxy",
    "HTTPServer": "http_server",
    "HTTPSPort": "http_s_port",
    "httpsPort": "https_port",
    "HTTP": "__http",
    "URL": "__url",
    "IP": "__ip",
    "IPs": "__ips",
    "HTTPURL": "http__url",
    "IPAddress": "ip_address",
    "podIPs": "pod_ips",
    "IPv6Address": "ip_v6_address",
    "userID": "user_id",
    "userIDs": "user_i_ds",
    "numCPUs": "num_cp_us",
    "JSONData": "_json_data",
    "TLSSecretName": "_tls_secret_name",
    "CPU": "_cpu",
    "ZIPCode": "_z_ip_code",
    "RECIPE": "_rec_ip_e",
    "XMLHTTPRequest": "_xml_http_request",
    "aB": "ab",
    "aBc": "a_bc",
    "ABc": "_a_bc",
    "fooBARBaz": "foo_bar_baz",
    "_Private": "_private",
    "dash-": "dash_",
    "foo__bar": "foo__bar",
    "kubernetes.io/hostname": "kubernetes.io/hostname",
    "888": "888",
}


@pytest.mark.parametrize(("key", "name"), MEASURED.items())
def test_a_key_becomes_the_name_that_the_go_operator_gives_it(key: str, name: str) -> None:
    assert to_snake(key) == name


@pytest.mark.parametrize("key", ["", " ", "   "])
def test_a_key_without_any_letter_stays_as_it_is(key: str) -> None:
    assert to_snake(key) == key


def test_a_plural_within_a_name_stays_with_its_word() -> None:
    assert to_snake("allIPsFound") == "all_ips_found"


def test_letters_that_are_not_ascii_break_no_word() -> None:
    assert to_snake("größeMax") == "größe_max"


@given(st.text())
def test_every_key_has_a_name_without_capitals(key: str) -> None:
    name = to_snake(key)
    assert not any("A" <= char <= "Z" for char in name)
    assert bool(name) == bool(key)


@given(st.from_regex(r"[a-z]+(_[a-z]+)*", fullmatch=True))
def test_a_name_in_snake_case_is_its_own(name: str) -> None:
    assert to_snake(name) == name


def test_long_keys_leave_nothing_in_memory() -> None:
    tracemalloc.start()
    for number in range(20):
        assert to_snake(f"{number}aB" + "x" * 20_000).endswith("x")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 100_000


@pytest.mark.parametrize("part", ["a", "aB", "Ab", "a1", "HTTP", "IPs", "_", " "])
def test_a_long_key_takes_time_in_proportion_to_its_length(part: str) -> None:
    def seconds(key: str) -> float:
        return min(timeit.repeat(lambda: to_snake(key), timer=time.process_time, number=1, repeat=3))

    assert seconds(part * 40_000) < 40 * max(seconds(part * 4_000), 0.0005)
