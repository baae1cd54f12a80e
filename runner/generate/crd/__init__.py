"""CRDs made of what roles and playbooks say of their variables."""
