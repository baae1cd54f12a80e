"""What the status says at each moment of a run, for every way in which a run can end."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("status")
