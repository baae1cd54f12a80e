"""Everything `run` was asked to do, as one frozen value; all of the environment is read here, once."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from runner.config.flags import RUN_FLAGS, boolean
from runner.errors import SettingsError, UsageError
from runner.objects import GroupVersionKind

VARIABLES = {
    "KUBECONFIG": "kubeconfig files, joined by colons; empty: the pod's service account, then ~/.kube/config",
    "WATCH_NAMESPACE": "namespaces to watch, joined by commas; empty: all of them",
    "MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>": "runs of this kind at a time; upper case, dots as underscores",
    "WORKER_<KIND>_<GROUP>": "the same, where the one above is not set; deprecated",
    "ANSIBLE_VERBOSITY_<KIND>_<GROUP>": "verbosity of ansible-playbook for this kind, 0 to 7",
    "ANSIBLE_VERBOSITY": "above 0: the log shows what tasks print as it is",
    "ANSIBLE_ROLES_PATH": "where roles are looked for; a watch's role goes before it in a run",
    "ANSIBLE_COLLECTIONS_PATH": "where collections are looked for",
    "ANSIBLE_INVENTORY": "inventory file or directory, copied for each run in place of the generated one",
    "ANSIBLE_GATHERING": "`explicit` makes role watches skip fact gathering",
    "ANSIBLE_DEBUG_LOGS": "true prints the whole output of Ansible after each run",
    "HTTPS_PROXY": "the HTTP proxy before the API server, if any",
    "HTTP_PROXY": "the same for a server whose address begins with http://; runs reach the API proxy without it",
    "NO_PROXY": "what is reached without it: addresses, ranges of them and domains, joined by commas",
    "VIRTUAL_ENV": "Python of the generated inventory",
    "NO_COLOR": "not empty: no colours on a terminal",
}


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What leads to the API server; empty is what is not given. `kubeconfig` may be several, joined by `:`."""

    kubeconfig: str = ""
    home: str = ""
    service_host: str = ""
    service_port: str = "443"
    https_proxy: str = field(default="", repr=False)
    http_proxy: str = field(default="", repr=False)
    no_proxy: str = ""

    @property
    def in_pod(self) -> bool:
        """Whether the operator logs in as the pod that it runs in."""
        return bool(self.service_host) and not self.kubeconfig

    @classmethod
    def read(cls, environment: Mapping[str, str], kubeconfig: str = "") -> Self:
        """`kubeconfig` goes before the variable. Of proxy variables either case counts, the upper one first."""
        return cls(
            kubeconfig=kubeconfig or environment.get("KUBECONFIG", ""),
            home=environment.get("HOME", ""),
            service_host=environment.get("KUBERNETES_SERVICE_HOST", ""),
            service_port=environment.get("KUBERNETES_SERVICE_PORT", "443"),
            https_proxy=_either(environment, "HTTPS_PROXY", "https_proxy"),
            http_proxy=_either(environment, "HTTP_PROXY", "http_proxy"),
            no_proxy=_either(environment, "NO_PROXY", "no_proxy"),
        )


NOTHING_GIVEN = ClusterSettings()


@dataclass(frozen=True, slots=True)
class Settings:
    """Flags and environment. Durations are in seconds; an empty `namespaces` means all of them.

    `environment` is what runs inherit; per-kind numbers are looked up in it by `workers` and `verbosity`.
    `console_verbosity` and `debug_logs` say how much of the output of Ansible the console shows. `state_directory`
    is where this user's programs keep what outlives them; None where there is none.
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
    go_messages: bool = False
    metrics_bind_address: str = ":8443"
    metrics_secure: bool = False
    metrics_require_rbac: bool = False
    health_probe_bind_address: str = ":6789"
    user_metrics_bind_address: str = "127.0.0.1:5050"
    user_metrics_optional: bool = False
    leader_elect: bool = False
    leader_election_id: str = ""
    leader_election_namespace: str = ""
    leader_elect_lease_duration: float = 15.0
    leader_elect_renew_deadline: float = 10.0
    graceful_shutdown_timeout: float = 30.0
    proxy_port: int = 8888
    runner_dir: Path = Path("/tmp/ansible-operator/runner")  # noqa: S108  (the Go operator's place)
    runner_dir_limit: int = 768 << 20
    runner_dir_limit_per_object: int = 32 << 20
    executor: str = "auto"
    webhooks: str = "auto"
    webhook_port: int = 9443
    webhook_cert_path: str = ""
    webhook_cert_secret: str = ""
    prune_key_file: str = ""
    state_directory: Path | None = None
    reconcile_at_start: bool = True
    watch: bool = False
    cluster: ClusterSettings = NOTHING_GIVEN
    gather_facts: bool = True
    console_verbosity: int = 0
    debug_logs: bool = False
    temporary_directory: Path = Path("/tmp")  # noqa: S108  (as Go's os.TempDir)
    log_level: str = "info"
    log_encoder: str = ""
    log_stacktrace_level: str = "error"
    log_time_encoding: str = ""
    log_colors: bool = False

    @property
    def watches(self) -> str:
        """Whose a run is, as `run.json` says it: the watches file, with its whole path."""
        return str(self.watches_file.absolute())

    @property
    def runner_dir_limits(self) -> tuple[int, int]:
        """Bytes that all runs, and runs of one object, may leave."""
        return self.runner_dir_limit, self.runner_dir_limit_per_object

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


def _decimal(text: str) -> int:
    """0 for anything but digits."""
    return int(text) if text.isdecimal() else 0


def _switch(text: str) -> bool:
    """False for anything but one of Go's words for true."""
    try:
        return boolean(text)
    except ValueError:
        return False


def _either(environment: Mapping[str, str], *names: str) -> str:
    """The first that is not empty, without spaces around it."""
    return next((environment[name].strip() for name in names if environment.get(name)), "")


def read_settings(parsed: Namespace, environment: Mapping[str, str], *, terminal: bool) -> Settings:
    """Settings from the flags of `run`; `terminal` says whether a person reads the log.

    Raises SettingsError where two flags contradict each other, UsageError where one needs another.
    """
    flags = _values(parsed)
    if flags["metrics_require_rbac"] and not flags["metrics_secure"]:
        raise UsageError("--metrics-secure flag is required when --metrics-require-rbac is present")
    converted = {
        "watches_file": Path(flags["watches_file"]),
        "runner_dir": Path(flags["runner_dir"]),
        "environment": _run_environment(environment, flags),
        "namespaces": _namespaces(environment.get("WATCH_NAMESPACE", "")),
        "run_deadline": flags["run_deadline"] if flags["run_deadline"] > 0 else None,
        "leader_election_id": _election_id(parsed, environment),
        "cluster": ClusterSettings.read(environment, flags["kubeconfig"]),
        "gather_facts": environment.get("ANSIBLE_GATHERING") != "explicit",
        "console_verbosity": _decimal(environment.get("ANSIBLE_VERBOSITY", "")),
        "debug_logs": _switch(environment.get("ANSIBLE_DEBUG_LOGS", "")),
        "temporary_directory": Path(environment.get("TMPDIR") or "/tmp"),  # noqa: S108  (as Go's os.TempDir)
        "state_directory": _state_directory(environment),
        "log_level": flags["zap_log_level"] or ("debug" if flags["zap_devel"] else "info"),
        "log_encoder": flags["zap_encoder"] or _usual_encoder(terminal=terminal, devel=flags["zap_devel"]),
        "log_stacktrace_level": flags["zap_stacktrace_level"] or ("warning" if flags["zap_devel"] else "error"),
        "log_time_encoding": flags["zap_time_encoding"],
        "log_colors": terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb",
    }
    known = {field.name for field in fields(Settings)}
    return Settings(**{name: value for name, value in flags.items() if name in known} | converted)


def encoder(words: Iterable[str], *, terminal: bool) -> str:
    """How the log of a `run` with these words is written, also where they cannot all be understood."""
    given = {name: value for name, _, value in (word.partition("=") for word in words)}
    return given.get("--zap-encoder") or _usual_encoder(
        terminal=terminal, devel=_switch(given.get("--zap-devel", ""))
    )


def _usual_encoder(*, terminal: bool, devel: bool) -> str:
    return "console" if terminal or devel else "json"


def _values(parsed: Namespace) -> dict[str, Any]:
    values = {flag.attribute: flag.default for flag in RUN_FLAGS if not flag.alias_of}
    for flag in RUN_FLAGS:
        given = getattr(parsed, flag.attribute, None)
        if given is None:
            continue
        target = (flag.alias_of or flag.name).replace("-", "_")
        if flag.alias_of and getattr(parsed, target, None) is not None:
            raise SettingsError(f"only one of --{flag.alias_of} and --{flag.name} may be given")
        values[target] = given
    return values


def _election_id(parsed: Namespace, environment: Mapping[str, str]) -> str:
    """OPERATOR_NAME is a deprecated way to give it."""
    given = getattr(parsed, "leader_election_id", None)
    return environment.get("OPERATOR_NAME", "") if given is None else str(given)


def _state_directory(environment: Mapping[str, str]) -> Path | None:
    """By the XDG base directory specification, which ignores relative paths."""
    home = environment.get("HOME", "")
    state = environment.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home else "")
    return Path(state) / "ansible-operator-runner" if state.startswith("/") else None


def _namespaces(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _run_environment(environment: Mapping[str, str], flags: Mapping[str, Any]) -> dict[str, str]:
    paths = {
        "ANSIBLE_ROLES_PATH": flags["ansible_roles_path"],
        "ANSIBLE_COLLECTIONS_PATH": flags["ansible_collections_path"],
    }
    return {**environment, **{name: value for name, value in paths.items() if value}}
