"""What the API proxy does with a role's requests, and which changes of dependents run the owner again."""

from __future__ import annotations

from tests.parity.check import behaviour

test_behaviour = behaviour("proxy")
