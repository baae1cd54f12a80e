"""The command line: subcommands and flags."""

from __future__ import annotations

import re

from tests.parity.rows import Facts, Row


def refused(facts: Facts, name: str) -> bool:
    """A flag error: exit code 1, `Error:` or a JSON record that is one, and the usage or where it is."""
    seen = facts[name]
    complains = "Error:" in seen["err"] or '"level": "error"' in seen["err"]
    return seen["code"] == 1 and complains and "usage" in seen["err"].lower()


def accepted(facts: Facts, name: str) -> bool:
    """All flags were read, for the operator came as far as listening."""
    return bool(facts[name]["reached the port"]) and "usage" not in facts[name]["err"].lower()


def _helps(name: str) -> Row:
    return Row(
        id=f"command-help-{name}",
        says=f"{name}: help on stdout",
        batch="cli",
        seen=lambda f: (f[name]["code"], "usage" in f[name]["out"].lower()),
        expected=(0, True),
    )


def _refuses(name: str) -> Row:
    return Row(
        id=f"command-{name.replace(' ', '-')}",
        says=f"{name}: Error and usage, exit code 1",
        batch="cli",
        seen=lambda f: refused(f, name),
    )


COMMANDS = (
    *(_helps(name) for name in ("nothing", "help", "-h")),
    Row(
        id="command-version",
        says="version: one line on stdout",
        batch="cli",
        seen=lambda f: (
            f["version"]["code"],
            bool(re.fullmatch(r'ansible-operator version: "v[^"]+", .*\n', f["version"]["out"])),
        ),
        expected=(0, True),
    ),
    Row(
        id="command-version-go",
        says="commit, kubernetes and go version in it",
        reason="there is no Go in it: the versions of ansible-core, ansible-runner and Python instead",
    ),
    Row(
        id="command-no-version-flag",
        says="--version says the same as version; Go knows no such flag",
        batch="cli",
        seen=lambda f: (f["--version"]["code"], f["--version"]["out"] == f["version"]["out"]),
        expected=(0, True),
        mended=True,
    ),
    Row(
        id="command-unknown-command",
        says="an unknown command: Error on stderr, exit code 1",
        batch="cli",
        seen=lambda f: (f["unknown command"]["code"], "Error:" in f["unknown command"]["err"]),
        expected=(1, True),
    ),
    Row(
        id="command-unknown-flag",
        says="an unknown flag: Error and usage",
        batch="cli",
        seen=lambda f: refused(f, "unknown flag"),
    ),
    Row(
        id="command-completion",
        says="completion: a script on stdout",
        batch="cli",
        seen=lambda f: [
            (f[f"completion {shell}"]["code"], "ansible-operator" in f[f"completion {shell}"]["out"])
            for shell in ("bash", "zsh", "fish", "powershell")
        ],
        expected=[(0, True)] * 4,
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
    Row(id="command-no-kubeconfig-flag", says="there is no --kubeconfig flag", reason="there is one here"),
)

FLAGS = (
    Row(id="flag-two-words", says="--f v", batch="cli", seen=lambda f: accepted(f, "two words")),
    Row(
        id="flag-positional",
        says="extra positional arguments are ignored",
        batch="cli",
        seen=lambda f: accepted(f, "positional"),
    ),
    Row(
        id="flag-bool-alone",
        says="a boolean does not take the next word",
        batch="cli",
        seen=lambda f: accepted(f, "bool alone"),
    ),
    Row(
        id="flag-bools", says="T, 0 and their like are booleans", batch="cli", seen=lambda f: accepted(f, "bools")
    ),
    Row(
        id="flag-durations", says=".5s and -5s are durations", batch="cli", seen=lambda f: accepted(f, "durations")
    ),
    Row(id="flag-duration-zero", says="a bare 0 is a duration", batch="cli", seen=lambda f: accepted(f, "zero")),
    Row(
        id="flag-strings",
        says="ansible-args, ansible-roles-path, ansible-collections-path",
        batch="cli",
        seen=lambda f: accepted(f, "strings"),
    ),
    Row(
        id="flag-numbers",
        says="workers below 1 and verbosity above 7 are not refused",
        batch="cli",
        seen=lambda f: accepted(f, "numbers"),
    ),
    Row(
        id="flag-log-events",
        says="an unknown ansible-log-events does not end the operator",
        batch="cli",
        seen=lambda f: accepted(f, "log events"),
    ),
    Row(
        id="flag-zap", says="zap-devel, zap-encoder, zap-log-level", batch="cli", seen=lambda f: accepted(f, "zap")
    ),
    Row(
        id="flag-zap-stacktrace",
        says="zap-stacktrace-level",
        batch="cli",
        seen=lambda f: accepted(f, "zap stacktrace"),
    ),
    Row(id="flag-zap-time", says="zap-time-encoding", batch="cli", seen=lambda f: accepted(f, "zap time")),
    Row(
        id="flag-metrics-addr",
        says="metrics-addr, deprecated",
        batch="cli",
        seen=lambda f: accepted(f, "metrics-addr"),
    ),
    Row(
        id="flag-metrics-addr-notice",
        says="with a notice on stderr",
        batch="cli",
        seen=lambda f: "deprecated" in f["metrics-addr"]["err"].lower(),
    ),
    Row(
        id="flag-metrics-addr-both",
        says="not beside metrics-bind-address",
        batch="cli",
        seen=lambda f: f["both metrics"]["code"],
        expected=1,
    ),
    Row(
        id="flag-leader",
        says="leader-elect, leader-election-id, leader-election-namespace",
        batch="cli",
        seen=lambda f: accepted(f, "leader"),
    ),
    Row(
        id="flag-leader-durations",
        says="leader-elect-lease-duration, leader-elect-renew-deadline",
        batch="cli",
        seen=lambda f: accepted(f, "leader durations"),
    ),
    Row(
        id="flag-leader-deprecated",
        says="enable-leader-election and leader-elect-resource-lock, deprecated",
        batch="cli",
        seen=lambda f: accepted(f, "leader deprecated"),
    ),
    Row(
        id="flag-leader-both",
        says="not both leader-elect and enable-leader-election",
        batch="cli",
        seen=lambda f: f["both elections"]["code"],
        expected=1,
    ),
    Row(
        id="flag-leader-no-id",
        says="no id: LeaderElectionID must be configured, exit code 1",
        batch="cli",
        seen=lambda f: (
            f["no election id"]["code"],
            "LeaderElectionID must be configured" in f["no election id"]["err"],
        ),
        expected=(1, True),
    ),
    Row(
        id="flag-leader-no-namespace",
        says="no namespace outside of a pod: exit code 1",
        batch="cli",
        seen=lambda f: f["no election namespace"]["code"],
        expected=1,
    ),
    Row(
        id="flag-metrics-secure",
        says="metrics-secure, metrics-require-rbac, enable-http2",
        batch="cli",
        seen=lambda f: accepted(f, "metrics secure"),
    ),
    Row(
        id="flag-metrics-rbac-alone",
        says="metrics-require-rbac needs metrics-secure",
        batch="cli",
        seen=lambda f: (
            refused(f, "rbac alone")
            and "--metrics-secure flag is required when --metrics-require-rbac is present"
            in f["rbac alone"]["err"]
        ),
    ),
    Row(
        id="flag-watches-default",
        says="watches-file is ./watches.yaml by default",
        batch="values",
        seen=lambda f: bool(f["full"]["extravars"]),
    ),
    Row(
        id="flag-watches-missing",
        says="a missing watches file: exit code 1",
        batch="cli",
        seen=lambda f: (f["no watches"]["code"], "none.yaml" in f["no watches"]["err"]),
        expected=(1, True),
    ),
    Row(
        id="flag-verbosity-flag",
        says="ansible-verbosity is the default of every kind",
        batch="values",
        seen=lambda f: [word for word in f["book files"]["command"]["command"] if word.startswith("-v")],
        expected=["-v"],
    ),
    Row(
        id="flag-inject-off",
        says="inject-owner-ref=false",
        batch="proxy",
        seen=lambda f: f["not injected"]["metadata"].get("ownerReferences", []),
        expected=[],
    ),
    Row(
        id="flag-proxy-port",
        says="proxy-port",
        batch="values",
        seen=lambda f: str(f["proxy port"]) in f["full"]["kubeconfig"],
        mended=True,
    ),
)

ROWS = (
    *COMMANDS,
    *FLAGS,
)
