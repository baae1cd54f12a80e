"""Mistakes in what the API server is given: CRDs, samples, roles of RBAC, and how watches go with them."""
