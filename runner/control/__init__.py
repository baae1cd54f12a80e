"""Deciding what to reconcile, when, and what to say about it."""
