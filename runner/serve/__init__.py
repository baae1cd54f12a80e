"""Listening: the API proxy of the runs, probes and metrics."""
