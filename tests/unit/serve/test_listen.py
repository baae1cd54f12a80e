"""Addresses as Go spells them."""

from __future__ import annotations

import pytest

from runner.errors import SettingsError
from runner.serve.listen import parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":6789", ("", 6789)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("localhost:80", ("localhost", 80)),
        ("[::1]:8443", ("::1", 8443)),
        ("0", None),
        ("", None),
    ],
)
def test_an_address_is_a_host_and_a_port_or_disabled(text: str, address: tuple[str, int] | None) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["6789", "host", "host:", "host:http", ":65536", "host:-1"])
def test_a_text_that_is_no_address_is_refused_and_named(text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        parse_address(text)
