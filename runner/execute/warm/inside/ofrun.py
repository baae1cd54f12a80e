"""The environment variables that differ between the runs of one operator; all others a zygote reads but once."""

from __future__ import annotations

ANSIBLE = frozenset(
    {
        "ANSIBLE_CACHE_PLUGIN",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION",
        "ANSIBLE_CALLBACK_PLUGINS",
        "ANSIBLE_HOST_KEY_CHECKING",
        "ANSIBLE_RETRY_FILES_ENABLED",
        "ANSIBLE_ROLES_PATH",
        "ANSIBLE_STDOUT_CALLBACK",
    }
)
"""Ansible's own: what was read from them is read again in every run."""

OTHERS = frozenset(
    {
        "AWX_ISOLATED_DATA_DIR",
        "K8S_AUTH_KUBECONFIG",
        "KUBECONFIG",
        "ORIGINAL_STDOUT_CALLBACK",
        "RUNNER_OMIT_EVENTS",
        "RUNNER_ONLY_FAILED_EVENTS",
        "TMPDIR",
    }
)
"""Those that nothing reads when it is imported."""
