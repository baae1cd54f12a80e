"""What a run gets: variables, command, environment, files; from one CR of many kinds, each with its own watch."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("values")
