"""Mistakes in what Ansible runs: roles, playbooks, templates, and what they need to be installed."""
