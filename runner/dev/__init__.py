"""A local Kubernetes control plane for role authors, tests and the demo: no container engine needed."""
