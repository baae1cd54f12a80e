"""The command line: subcommands and flags."""

from __future__ import annotations

import re

from tests.parity.rows import Facts, Row, cli, proxy, untested, values


def refused(facts: Facts, name: str) -> bool:
    """A flag error: exit code 1, `Error:` or a JSON record that is one, and the usage or where it is."""
    seen = facts[name]
    complains = "Error:" in seen["err"] or '"level": "error"' in seen["err"]
    return seen["code"] == 1 and complains and "usage" in seen["err"].lower()


def accepted(facts: Facts, name: str) -> bool:
    """All flags were read, for the operator came as far as listening."""
    return bool(facts[name]["reached the port"]) and "usage" not in facts[name]["err"].lower()


def _helps(name: str) -> Row:
    return cli(
        f"command-help-{name}",
        f"{name}: help on stdout",
        lambda f: (f[name]["code"], "usage" in f[name]["out"].lower()),
        (0, True),
    )


def _refuses(name: str) -> Row:
    return cli(
        f"command-{name.replace(' ', '-')}", f"{name}: Error and usage, exit code 1", lambda f: refused(f, name)
    )


COMMANDS = (
    *(_helps(name) for name in ("nothing", "help", "-h")),
    cli(
        "command-version",
        "version: one line on stdout",
        lambda f: (
            f["version"]["code"],
            bool(re.fullmatch(r'ansible-operator version: "v[^"]+", .*\n', f["version"]["out"])),
        ),
        (0, True),
    ),
    untested(
        "command-version-go",
        "commit, kubernetes and go version in it",
        "there is no Go in it: the versions of ansible-core, ansible-runner and Python instead",
    ),
    cli(
        "command-no-version-flag",
        "--version says the same as version; Go knows no such flag",
        lambda f: (f["--version"]["code"], f["--version"]["out"] == f["version"]["out"]),
        (0, True),
        mended=True,
    ),
    cli(
        "command-unknown-command",
        "an unknown command: Error on stderr, exit code 1",
        lambda f: (f["unknown command"]["code"], "Error:" in f["unknown command"]["err"]),
        (1, True),
    ),
    cli("command-unknown-flag", "an unknown flag: Error and usage", lambda f: refused(f, "unknown flag")),
    cli(
        "command-completion",
        "completion: a script on stdout",
        lambda f: [
            (f[f"completion {shell}"]["code"], "ansible-operator" in f[f"completion {shell}"]["out"])
            for shell in ("bash", "zsh", "fish", "powershell")
        ],
        [(0, True)] * 4,
    ),
    *(
        _refuses(name)
        for name in (
            "bad bool",
            "bad int",
            "bare duration",
            "days",
            "empty duration",
            "spaced duration",
            "bad encoder",
            "bad level",
            "level 0",
            "bad stacktrace",
            "bad time",
        )
    ),
    untested("command-no-kubeconfig-flag", "there is no --kubeconfig flag", "there is one here"),
)

FLAGS = (
    cli("flag-two-words", "--f v", lambda f: accepted(f, "two words")),
    cli("flag-positional", "extra positional arguments are ignored", lambda f: accepted(f, "positional")),
    cli("flag-bool-alone", "a boolean does not take the next word", lambda f: accepted(f, "bool alone")),
    cli("flag-bools", "T, 0 and their like are booleans", lambda f: accepted(f, "bools")),
    cli("flag-durations", ".5s and -5s are durations", lambda f: accepted(f, "durations")),
    cli("flag-duration-zero", "a bare 0 is a duration", lambda f: accepted(f, "zero")),
    cli(
        "flag-strings",
        "ansible-args, ansible-roles-path, ansible-collections-path",
        lambda f: accepted(f, "strings"),
    ),
    cli("flag-numbers", "workers below 1 and verbosity above 7 are not refused", lambda f: accepted(f, "numbers")),
    cli(
        "flag-log-events",
        "an unknown ansible-log-events does not end the operator",
        lambda f: accepted(f, "log events"),
    ),
    cli("flag-zap", "zap-devel, zap-encoder, zap-log-level", lambda f: accepted(f, "zap")),
    cli("flag-zap-stacktrace", "zap-stacktrace-level", lambda f: accepted(f, "zap stacktrace")),
    cli("flag-zap-time", "zap-time-encoding", lambda f: accepted(f, "zap time")),
    cli("flag-metrics-addr", "metrics-addr, deprecated", lambda f: accepted(f, "metrics-addr")),
    cli(
        "flag-metrics-addr-notice",
        "with a notice on stderr",
        lambda f: "deprecated" in f["metrics-addr"]["err"].lower(),
    ),
    cli("flag-metrics-addr-both", "not beside metrics-bind-address", lambda f: f["both metrics"]["code"], 1),
    cli(
        "flag-leader",
        "leader-elect, leader-election-id, leader-election-namespace",
        lambda f: accepted(f, "leader"),
    ),
    cli(
        "flag-leader-durations",
        "leader-elect-lease-duration, leader-elect-renew-deadline",
        lambda f: accepted(f, "leader durations"),
    ),
    cli(
        "flag-leader-deprecated",
        "enable-leader-election and leader-elect-resource-lock, deprecated",
        lambda f: accepted(f, "leader deprecated"),
    ),
    cli(
        "flag-leader-both",
        "not both leader-elect and enable-leader-election",
        lambda f: f["both elections"]["code"],
        1,
    ),
    cli(
        "flag-leader-no-id",
        "no id: LeaderElectionID must be configured, exit code 1",
        lambda f: (
            f["no election id"]["code"],
            "LeaderElectionID must be configured" in f["no election id"]["err"],
        ),
        (1, True),
    ),
    cli(
        "flag-leader-no-namespace",
        "no namespace outside of a pod: exit code 1",
        lambda f: f["no election namespace"]["code"],
        1,
    ),
    cli(
        "flag-metrics-secure",
        "metrics-secure, metrics-require-rbac, enable-http2",
        lambda f: accepted(f, "metrics secure"),
    ),
    cli(
        "flag-metrics-rbac-alone",
        "metrics-require-rbac needs metrics-secure",
        lambda f: (
            refused(f, "rbac alone")
            and "--metrics-secure flag is required when --metrics-require-rbac is present"
            in f["rbac alone"]["err"]
        ),
    ),
    values(
        "flag-watches-default", "watches-file is ./watches.yaml by default", lambda f: bool(f["full"]["extravars"])
    ),
    cli(
        "flag-watches-missing",
        "a missing watches file: exit code 1",
        lambda f: (f["no watches"]["code"], "none.yaml" in f["no watches"]["err"]),
        (1, True),
    ),
    values(
        "flag-verbosity-flag",
        "ansible-verbosity is the default of every kind",
        lambda f: [word for word in f["book files"]["command"]["command"] if word.startswith("-v")],
        ["-v"],
    ),
    proxy(
        "flag-inject-off",
        "inject-owner-ref=false",
        lambda f: f["not injected"]["metadata"].get("ownerReferences", []),
        [],
    ),
    values(
        "flag-proxy-port", "proxy-port", lambda f: str(f["proxy port"]) in f["full"]["kubeconfig"], mended=True
    ),
)

ROWS = (
    *COMMANDS,
    *FLAGS,
)
