"""The command line by itself: short processes, none of which becomes an operator."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("cli")
