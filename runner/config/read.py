"""From parsed flags and the process environment to Settings, by the precedence that existing manifests rely on."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from runner.config.flags import RUN_FLAGS
from runner.errors import SettingsError, UsageError
from runner.settings import Settings


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
        "log_level": flags["zap_log_level"] or ("debug" if flags["zap_devel"] else "info"),
        "log_encoder": flags["zap_encoder"] or ("console" if terminal or flags["zap_devel"] else "json"),
        "log_stacktrace_level": flags["zap_stacktrace_level"] or ("warning" if flags["zap_devel"] else "error"),
        "log_time_encoding": flags["zap_time_encoding"],
    }
    known = {field.name for field in fields(Settings)}
    return Settings(**{name: value for name, value in flags.items() if name in known} | converted)


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


def _namespaces(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _run_environment(environment: Mapping[str, str], flags: Mapping[str, Any]) -> dict[str, str]:
    paths = {
        "ANSIBLE_ROLES_PATH": flags["ansible_roles_path"],
        "ANSIBLE_COLLECTIONS_PATH": flags["ansible_collections_path"],
    }
    return {**environment, **{name: value for name, value in paths.items() if value}}
