"""A local control plane for role authors, tests and the demo."""
