"""Rules between options are rules in CEL, and say in a sentence what is to be set."""

from __future__ import annotations

from typing import Any

import pytest

from runner.generate.crd.hidden import junctors
from runner.generate.crd.options import Options, Rule, read_options
from runner.generate.crd.rules import hidden, validations

FIELDS = {"host": "host", "tls_cert": "tlsCert", "tls_key": "tlsKey", "mode": "mode", "in": "in", "data": "data"}
RAW: dict[str, dict[str, Any]] = {
    "host": {},
    "tls_cert": {},
    "tls_key": {},
    "mode": {"default": "plain"},
    "in": {"type": "int"},
    "data": {"type": "raw"},
}


def level(*rules: Rule) -> Options:
    return Options(read_options(RAW, lambda *_: None), rules)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            Rule("mutually_exclusive", ("host", "tls_key")),
            ("(has(self.host) ? 1 : 0) + (has(self.tlsKey) ? 1 : 0) <= 1", "set at most one of host and tlsKey"),
        ),
        (
            Rule("required_together", ("tls_cert", "tls_key")),
            (
                "(has(self.tlsCert) && has(self.tlsKey)) || (!has(self.tlsCert) && !has(self.tlsKey))",
                "set tlsCert and tlsKey together, or none of them",
            ),
        ),
        (
            Rule("required_one_of", ("host", "in")),
            ("has(self.host) || has(self.__in__)", "set one of host and in"),
        ),
        (
            Rule("required_if", ("tls_cert", "tls_key"), "mode", "tls"),
            (
                '!(self.mode == "tls") || (has(self.tlsCert) && has(self.tlsKey))',
                'set tlsCert and tlsKey where mode is "tls"',
            ),
        ),
        (
            Rule("required_if", ("tls_cert", "tls_key"), "in", 3, any_of=True),
            (
                "!(has(self.__in__) && self.__in__ == 3) || (has(self.tlsCert) || has(self.tlsKey))",
                "set one of tlsCert and tlsKey where in is 3",
            ),
        ),
        (
            Rule("required_by", ("tls_key",), "tls_cert"),
            ("!has(self.tlsCert) || (has(self.tlsKey))", "tlsCert needs tlsKey"),
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Rule) else "",
)
def test_a_rule_is_said_in_cel(rule: Rule, said: tuple[str, str]) -> None:
    assert validations(level(rule), FIELDS) == [dict(zip(("rule", "message"), said, strict=True))]


@pytest.mark.parametrize(
    "rule",
    [
        Rule("required_one_of", ("host", "mode")),
        Rule("required_by", ("mode",), "host"),
        Rule("required_together", ("mode",)),
        Rule("mutually_exclusive", ("host",)),
        Rule("required_if", ("host",), "in", "3"),
    ],
    ids=["one of", "by", "together", "exclusive", "if"],
)
def test_a_rule_that_defaults_or_types_meet_is_left_out(rule: Rule) -> None:
    assert validations(level(rule), FIELDS) == []


def test_an_exclusive_option_counts_only_where_it_is_set() -> None:
    exclusive, conditional = (
        Rule("mutually_exclusive", ("mode", "host")),
        Rule("required_if", ("in",), "mode", "plain"),
    )
    said = validations(level(exclusive, conditional), FIELDS)
    assert said[1]["rule"] == '!((!has(self.mode) || self.mode == "plain")) || (has(self.__in__))'


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule("mutually_exclusive", ("host", "data")), [{"not": {"required": ["data", "host"]}}]),
        (
            Rule("required_together", ("host", "data")),
            [
                {
                    "anyOf": [
                        {"required": ["host", "data"]},
                        {"not": {"anyOf": [{"required": ["host"]}, {"required": ["data"]}]}},
                    ]
                }
            ],
        ),
        (Rule("required_one_of", ("host", "data")), [{"anyOf": [{"required": ["host"]}, {"required": ["data"]}]}]),
        (Rule("required_one_of", ("mode", "data")), []),
        (
            Rule("required_if", ("data",), "in", 3),
            [
                {
                    "anyOf": [
                        {"not": {"required": ["in"], "properties": {"in": {"enum": [3]}}}},
                        {"required": ["data"]},
                    ]
                }
            ],
        ),
        (
            Rule("required_by", ("host",), "data"),
            [{"anyOf": [{"not": {"required": ["data"]}}, {"required": ["host"]}]}],
        ),
    ],
    ids=["exclusive", "together", "one of", "one of a default", "if", "by"],
)
def test_a_rule_of_what_cel_cannot_see_is_said_by_junctors(rule: Rule, said: list[dict[str, Any]]) -> None:
    options = level(rule)
    assert validations(options, FIELDS) == []
    assert junctors(options, hidden(options), FIELDS) == said
