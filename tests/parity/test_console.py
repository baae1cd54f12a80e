"""What an operator prints of a run, at each level of --ansible-log-events."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("console")
