"""Logs that a person reads on a terminal and a machine parses off it."""
