"""Which artifacts stay: four runs of custom resources that ask for different numbers of them."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("rotation")
