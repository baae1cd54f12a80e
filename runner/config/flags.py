"""The flags of `run`: the Go operator's names, types and defaults, and a few of our own.

Flags are GNU long ones. A boolean is given as `--flag` or `--flag=BOOL`, never as two words.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from runner import cgroup
from runner.config.golang import Bytes, parse_bytes, parse_duration

_TRUE = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}


def available_processors() -> int:
    """Processors this process may use: the affinity mask, cut to the container's CPU limit, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = cgroup.processors()
    return allowed if limit is None else max(1, min(allowed, round(limit)))


def boolean(text: str) -> bool:
    """Go's strconv.ParseBool; raises ValueError for anything else."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f'"{text}" is not one of 1, t, true, 0, f, false')


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: `reader` turns its text into a value and raises ValueError; `alias_of` marks a
    deprecated name, `ignored` a flag that manifests give and that changes nothing any more.
    """

    name: str
    reader: Callable[[str], Any]
    default: Any
    help: str
    alias_of: str = ""
    ours: bool = False
    ignored: bool = False

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")


def _choice(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f'"{text}" is not one of {", ".join(allowed)}')
        return text

    return read


def _level(text: str) -> str:
    if text in ("debug", "info", "error", "panic") or (text.isdigit() and int(text) > 0):
        return text
    raise ValueError(f'"{text}" is not one of debug, info, error, panic or a number above 0')


RUN_FLAGS = (
    Flag("watches-file", str, "./watches.yaml", "path to the watches file"),
    Flag("inject-owner-ref", boolean, True, "make what a run creates a dependent of its custom resource"),
    Flag(
        "ansible-verbosity",
        int,
        2,
        "verbosity of ansible-playbook, 0 to 7; a kind's environment variable goes first",
    ),
    Flag("ansible-roles-path", str, "", "ANSIBLE_ROLES_PATH for the runs, colon-separated"),
    Flag("ansible-collections-path", str, "", "ANSIBLE_COLLECTIONS_PATH for the runs, colon-separated"),
    Flag("ansible-args", str, "", "more arguments for ansible-playbook"),
    Flag(
        "ansible-log-events",
        str,
        "tasks",
        "which events of a run are logged: tasks, everything, or nothing but its recap and end",
    ),
    Flag(
        "reconcile-period",
        parse_duration,
        36000.0,
        "how often a custom resource is reconciled without a change; 0s: never",
    ),
    Flag("max-concurrent-reconciles", int, available_processors(), "runs at a time of one kind"),
    Flag("metrics-bind-address", str, ":8443", "where /metrics listens; 0: nowhere"),
    Flag("metrics-secure", boolean, False, "serve /metrics over TLS"),
    Flag(
        "metrics-require-rbac",
        boolean,
        False,
        "serve /metrics only to accounts that RBAC lets get it; needs --metrics-secure",
    ),
    Flag("enable-http2", boolean, False, "accepted; /metrics is served over HTTP/1.1 in any case"),
    Flag("health-probe-bind-address", str, ":6789", "where /healthz and /readyz listen; 0: nowhere"),
    Flag("leader-elect", boolean, False, "reconcile only while holding a Lease, so that replicas can stand by"),
    Flag("leader-election-id", str, "", "name of the Lease"),
    Flag("leader-election-namespace", str, "", "namespace of the Lease; default: the pod's own"),
    Flag(
        "leader-elect-lease-duration",
        parse_duration,
        15.0,
        "how long the others leave a Lease alone that is not renewed",
    ),
    Flag(
        "leader-elect-renew-deadline",
        parse_duration,
        10.0,
        "after how long without a renewal a leader ends itself",
    ),
    Flag(
        "graceful-shutdown-timeout",
        parse_duration,
        30.0,
        "how long runs may go on after SIGTERM; negative: for ever",
    ),
    Flag("proxy-port", int, 8888, "loopback port of the API proxy; 0: a free one"),
    Flag("zap-devel", boolean, False, "logs for a developer: sentences, and from level debug"),
    Flag(
        "zap-encoder",
        _choice("json", "console"),
        "",
        "how logs are written; default: console, in sentences, on a terminal, else json",
    ),
    Flag("zap-log-level", _level, "", "least level that is logged: debug, info, error, panic or a number above 0"),
    Flag(
        "zap-stacktrace-level",
        _choice("info", "error", "panic"),
        "",
        "least level at which a traceback is logged; default: error, with --zap-devel warn",
    ),
    Flag(
        "zap-time-encoding",
        _choice("epoch", "millis", "nanos", "iso8601", "rfc3339", "rfc3339nano"),
        "",
        "how times are logged; default: RFC 3339 with microseconds; in sentences the time of day",
    ),
    Flag(
        "kubeconfig", str, "", "kubeconfig file; default: KUBECONFIG, the pod's account, ~/.kube/config", ours=True
    ),
    Flag(
        "max-concurrent-runs",
        int,
        0,
        "runs of all kinds at a time; 0: four a processor, or as one kind may",
        ours=True,
    ),
    Flag(
        "min-reconcile-period",
        parse_duration,
        10.0,
        "shortest period that an annotation may ask for, unless that of the watch or flag is shorter still",
        ours=True,
    ),
    Flag(
        "max-runner-artifacts-limit",
        int,
        100,
        "most artifacts that an annotation may ask for, unless the watch keeps more; 0: any number",
        ours=True,
    ),
    Flag(
        "run-deadline",
        parse_duration,
        0.0,
        "end a run that takes longer, as a failure that names its task; 0s: never",
        ours=True,
    ),
    Flag("go-messages", boolean, False, "tell failures in the Go operator's words, to the letter", ours=True),
    Flag(
        "user-metrics-bind-address",
        str,
        "127.0.0.1:5050",
        "where runs report metrics of their own; 0: nowhere",
        ours=True,
    ),
    Flag(
        "executor",
        _choice("auto", "warm", "cold"),
        "auto",
        "how runs are started: cold, as the Go operator does; warm, forked from a process that has imported"
        " Ansible, or not at all; auto: warm where that can be, else cold",
        ours=True,
    ),
    Flag(
        "webhooks",
        _choice("auto", "on", "off", "dev"),
        "auto",
        "review and convert custom resources where a watch has admission or versions: on, off, auto (on in a pod),"
        " or dev: the API server is told of a URL of this machine, as long as the operator runs",
        ours=True,
    ),
    Flag("webhook-port", int, 9443, "where webhooks are served; 0: a free port", ours=True),
    Flag(
        "webhook-cert-path",
        str,
        "",
        "directory with the webhooks' tls.crt and tls.key; default: TMPDIR/k8s-webhook-server/serving-certs",
        ours=True,
    ),
    Flag(
        "webhook-cert-secret",
        str,
        "",
        "Secret in which the operator keeps a certificate of its own for the webhooks, where none is mounted;"
        " default: none",
        ours=True,
    ),
    Flag(
        "prune-key-file",
        str,
        "",
        "file with the key (32 bytes or more) that marks what runs create, for `prune`; default: in a pod the"
        " Secret LEADER_ELECTION_ID-prune-key, elsewhere ~/.local/state/ansible-operator-runner/prune-key",
        ours=True,
    ),
    Flag("runner-dir", str, "/tmp/ansible-operator/runner", "where runs keep their files", ours=True),  # noqa: S108
    Flag(
        "runner-dir-limit",
        parse_bytes,
        Bytes(768 << 20),
        "bytes that runs may leave in runner-dir; beyond three quarters the oldest artifacts go; 0: no limit",
        ours=True,
    ),
    Flag("runner-dir-limit-per-object", parse_bytes, Bytes(32 << 20), "as that, for one object", ours=True),
    Flag(
        "reconcile-at-start",
        boolean,
        True,
        "run every custom resource at start, not only those that are due",
        ours=True,
    ),
    Flag(
        "watch",
        boolean,
        False,
        "for development: take up changes of watches.yaml, roles and playbooks as they are saved",
        ours=True,
    ),
    Flag("metrics-addr", str, "", "deprecated", alias_of="metrics-bind-address"),
    Flag("enable-leader-election", boolean, False, "deprecated", alias_of="leader-elect"),
    Flag("leader-elect-resource-lock", str, "", "deprecated", ignored=True),
)


def add_flags(parser: argparse.ArgumentParser, flags: Iterable[Flag] = RUN_FLAGS) -> None:
    """Declares `flags`; the default of each is None, so that the caller can tell what was given."""
    for flag in flags:
        hidden = flag.alias_of or flag.ignored
        shown = argparse.SUPPRESS if hidden else f"{flag.help} (default: {_shown(flag.default)})"
        metavar = "BOOL" if flag.reader is boolean else "VALUE"
        parser.add_argument(f"--{flag.name}", type=_typed(flag), metavar=metavar, help=shown.replace("%", "%%"))


def spell_out_booleans(arguments: Iterable[str], flags: Iterable[Flag] = RUN_FLAGS) -> list[str]:
    """`--flag` as `--flag=true`, so that a boolean never takes the next word as its value."""
    names = {f"--{flag.name}" for flag in flags if flag.reader is boolean}
    return [f"{argument}=true" if argument in names else argument for argument in arguments]


def join_values(arguments: Iterable[str], flags: Iterable[Flag] = RUN_FLAGS) -> list[str]:
    """`--flag value` as `--flag=value`, so that a value may begin with a dash; without what follows `--`."""
    names = {f"--{flag.name}" for flag in flags if flag.reader is not boolean}
    joined: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            break
        value = next(words, None) if word in names else None
        joined.append(word if value is None else f"{word}={value}")
    return joined


def deprecations(parsed: argparse.Namespace, flags: Iterable[Flag] = RUN_FLAGS) -> list[str]:
    """A notice for each deprecated flag that was given."""
    return [
        f"Flag --{flag.name} has been deprecated, "
        + ("it changes nothing" if flag.ignored else f"use --{flag.alias_of} instead")
        for flag in flags
        if (flag.alias_of or flag.ignored) and getattr(parsed, flag.attribute, None) is not None
    ]


def _typed(flag: Flag) -> Callable[[str], Any]:
    def read(text: str) -> Any:  # noqa: ANN401  (each flag has its own type)
        try:
            return flag.reader(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f'invalid value "{text}": {error}') from error

    return read


def _shown(default: Any) -> str:  # noqa: ANN401  (each flag has its own type)
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, float):
        return f"{default:g}s"
    return str(default) or '""'
