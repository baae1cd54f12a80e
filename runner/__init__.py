"""A Kubernetes operator whose controller logic is written as Ansible roles and playbooks."""
