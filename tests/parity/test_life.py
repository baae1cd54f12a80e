"""How an operator starts, lives and ends: its exit codes, and what it leaves behind."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("life")
