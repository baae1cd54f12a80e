"""Everything `run` was asked to do, as one frozen value that all the rest is built from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.objects import GroupVersionKind


@dataclass(frozen=True, slots=True)
class Settings:
    """Flags and environment. Durations are in seconds; an empty `namespaces` means all of them.

    `environment` is what runs inherit; per-kind numbers are looked up in it by `workers` and `verbosity`.
    """

    watches_file: Path = Path("watches.yaml")
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    namespaces: tuple[str, ...] = ()
    inject_owner_ref: bool = True
    ansible_verbosity: int = 2
    ansible_args: str = ""
    ansible_log_events: str = "tasks"
    reconcile_period: float = 36000.0
    max_concurrent_reconciles: int = 1
    max_concurrent_runs: int = 0
    min_reconcile_period: float = 10.0
    max_runner_artifacts_limit: int = 100
    run_deadline: float | None = None
    metrics_bind_address: str = ":8443"
    metrics_secure: bool = False
    metrics_require_rbac: bool = False
    health_probe_bind_address: str = ":6789"
    user_metrics_bind_address: str = "127.0.0.1:5050"
    leader_elect: bool = False
    leader_election_id: str = ""
    leader_election_namespace: str = ""
    leader_elect_lease_duration: float = 15.0
    leader_elect_renew_deadline: float = 10.0
    graceful_shutdown_timeout: float = 30.0
    proxy_port: int = 8888
    runner_dir: Path = Path("/tmp/ansible-operator/runner")  # noqa: S108  (the Go operator's place)
    executor: str = "auto"
    reconcile_at_start: bool = True
    kubeconfig: str = ""
    log_level: str = "info"
    log_encoder: str = ""
    log_stacktrace_level: str = "error"
    log_time_encoding: str = ""

    def workers(self, gvk: GroupVersionKind) -> int:
        """How many runs of this kind may go on at a time, at least 1."""
        for prefix in ("MAX_CONCURRENT_RECONCILES", "WORKER"):
            text = self.environment.get(f"{prefix}_{_suffix(gvk)}")
            if text is not None:
                number = _integer(text)
                return number if number is not None and number > 0 else max(1, self.max_concurrent_reconciles)
        return max(1, self.max_concurrent_reconciles)

    def total_workers(self, gvks: Iterable[GroupVersionKind]) -> int:
        """How many runs of all kinds may go on at a time; by default never fewer than one kind may by itself."""
        if self.max_concurrent_runs > 0:
            return self.max_concurrent_runs
        return max([4 * max(1, self.max_concurrent_reconciles), *map(self.workers, gvks)])

    def verbosity(self, gvk: GroupVersionKind) -> int:
        """The verbosity of ansible-playbook for this kind, 0 to 7; a CR's annotation goes before it."""
        number = _integer(self.environment.get(f"ANSIBLE_VERBOSITY_{_suffix(gvk)}", ""))
        return number if number is not None and 0 <= number <= 7 else min(max(self.ansible_verbosity, 0), 7)


def _suffix(gvk: GroupVersionKind) -> str:
    """Kind and group upper-cased; only dots become underscores, as manifests in the wild rely on."""
    return f"{gvk.kind}_{gvk.group}".upper().replace(".", "_")


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
