"""Counters and histograms, under the names that existing dashboards ask for."""
