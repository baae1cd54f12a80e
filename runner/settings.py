"""Flags and environment, read once into one frozen value that everything else is built from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """What `run` was asked to do. Durations are in seconds; an empty `namespaces` means all of them.

    The names and defaults are those of the Go ansible-operator's flags.
    """

    watches_file: Path = Path("watches.yaml")
    namespaces: tuple[str, ...] = ()
    inject_owner_ref: bool = True
    ansible_verbosity: int = 2
    ansible_roles_path: str = ""
    ansible_collections_path: str = ""
    ansible_args: str = ""
    ansible_log_events: str = "tasks"
    reconcile_period: float = 36000.0
    max_concurrent_reconciles: int = 1
    max_concurrent_runs: int = 2
    run_deadline: float | None = None
    metrics_bind_address: str = ":8443"
    health_probe_bind_address: str = ":6789"
    graceful_shutdown_timeout: float = 30.0
    proxy_port: int = 8888
    runner_dir: Path = Path("/tmp/ansible-operator/runner")  # noqa: S108  (the Go operator's place)
    kubeconfig: str = ""
    log_level: str = "info"
    log_encoder: str = ""
