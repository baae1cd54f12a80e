"""What makes a custom resource run, and what does not: changes, periods, finalizers, workers."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("triggers")
