"""Fixtures of the unit tests."""

from __future__ import annotations

from tests.fixtures.leaks import leaks_are_collected, only_new_objects_are_collected

__all__ = ["leaks_are_collected", "only_new_objects_are_collected"]
