"""Operators in other environments: inventories, namespaces, defaults; one or a few runs of each."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("inputs")
