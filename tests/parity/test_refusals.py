"""Watches files that are refused, and some that look as if they should be: one short process each."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("refusals")
