"""1. Command line, environment, exit."""

# fmt: off

from __future__ import annotations

import re

from tests.parity.rows import Facts, Row


def refused(facts: Facts, name: str) -> bool:
    """A flag error: exit code 1, `Error:` and the usage."""
    seen = facts[name]
    return seen["code"] == 1 and "Error:" in seen["err"] and "usage" in seen["err"].lower()


def accepted(facts: Facts, name: str) -> bool:
    """All flags were read, for the operator came as far as listening."""
    return bool(facts[name]["reached the port"]) and "usage" not in facts[name]["err"].lower()


def _helps(name: str) -> Row:
    return Row(f"1-help-{name}", f"{name}: help on stdout", "cli", lambda f: (f[name]["code"], "usage" in f[name]["out"].lower()), (0, True))


def _refuses(name: str) -> Row:
    return Row(f"1-{name.replace(' ', '-')}", f"{name}: Error and usage, exit code 1", "cli", lambda f: refused(f, name))


COMMANDS = (
    *(_helps(name) for name in ("nothing", "help", "-h")),
    Row("1-version", "version: one line on stdout", "cli", lambda f: (f["version"]["code"], bool(re.fullmatch(r'ansible-operator version: "v[^"]+", .*\n', f["version"]["out"]))), (0, True)),
    Row("1-version-go", "commit, kubernetes and go version in it", reason="there is no Go in it: the versions of ansible-core, ansible-runner and Python instead"),
    Row("1-no-version-flag", "there is no --version", "cli", lambda f: f["--version"]["code"], 1),
    Row("1-unknown-command", "an unknown command: Error on stderr, exit code 1", "cli", lambda f: (f["unknown command"]["code"], "Error:" in f["unknown command"]["err"]), (1, True)),
    Row("1-unknown-flag", "an unknown flag: Error and usage", "cli", lambda f: refused(f, "unknown flag")),
    Row("1-completion", "completion: a script on stdout", "cli", lambda f: [(f[f"completion {shell}"]["code"], "ansible-operator" in f[f"completion {shell}"]["out"]) for shell in ("bash", "zsh", "fish", "powershell")], [(0, True)] * 4),
    *(_refuses(name) for name in ("bad bool", "bad int", "bare duration", "days", "empty duration", "spaced duration", "bad encoder", "bad level", "level 0", "bad stacktrace", "bad time")),
    Row("1-no-kubeconfig-flag", "there is no --kubeconfig flag", reason="there is one here"),
)

FLAGS = (
    Row("1-two-words", "--f v", "cli", lambda f: accepted(f, "two words")),
    Row("1-positional", "extra positional arguments are ignored", "cli", lambda f: accepted(f, "positional")),
    Row("1-bool-alone", "a boolean does not take the next word", "cli", lambda f: accepted(f, "bool alone")),
    Row("1-bools", "T, 0 and their like are booleans", "cli", lambda f: accepted(f, "bools")),
    Row("1-durations", ".5s and -5s are durations", "cli", lambda f: accepted(f, "durations")),
    Row("1-duration-zero", "a bare 0 is a duration", "cli", lambda f: accepted(f, "zero")),
    Row("1-strings", "ansible-args, ansible-roles-path, ansible-collections-path", "cli", lambda f: accepted(f, "strings")),
    Row("1-numbers", "workers below 1 and verbosity above 7 are not refused", "cli", lambda f: accepted(f, "numbers")),
    Row("1-log-events", "an unknown ansible-log-events does not end the operator", "cli", lambda f: accepted(f, "log events")),
    Row("1-zap", "zap-devel, zap-encoder, zap-log-level", "cli", lambda f: accepted(f, "zap")),
    Row("1-zap-stacktrace", "zap-stacktrace-level", "cli", lambda f: accepted(f, "zap stacktrace")),
    Row("1-zap-time", "zap-time-encoding", "cli", lambda f: accepted(f, "zap time")),
    Row("1-metrics-addr", "metrics-addr, deprecated", "cli", lambda f: accepted(f, "metrics-addr")),
    Row("1-metrics-addr-notice", "with a notice on stderr", "cli", lambda f: "deprecated" in f["metrics-addr"]["err"].lower()),
    Row("1-metrics-addr-both", "not beside metrics-bind-address", "cli", lambda f: f["both metrics"]["code"], 1),
    Row("1-leader", "leader-elect, leader-election-id, leader-election-namespace", "cli", lambda f: accepted(f, "leader")),
    Row("1-leader-durations", "leader-elect-lease-duration, leader-elect-renew-deadline", "cli", lambda f: accepted(f, "leader durations")),
    Row("1-leader-deprecated", "enable-leader-election and leader-elect-resource-lock, deprecated", "cli", lambda f: accepted(f, "leader deprecated")),
    Row("1-leader-both", "not both leader-elect and enable-leader-election", "cli", lambda f: f["both elections"]["code"], 1),
    Row("1-leader-no-id", "no id: LeaderElectionID must be configured, exit code 1", "cli", lambda f: (f["no election id"]["code"], "LeaderElectionID must be configured" in f["no election id"]["err"]), (1, True)),
    Row("1-leader-no-namespace", "no namespace outside of a pod: exit code 1", "cli", lambda f: f["no election namespace"]["code"], 1),
    Row("1-metrics-secure", "metrics-secure, metrics-require-rbac, enable-http2", "cli", lambda f: accepted(f, "metrics secure")),
    Row("1-metrics-rbac-alone", "metrics-require-rbac needs metrics-secure", "cli", lambda f: refused(f, "rbac alone") and "--metrics-secure flag is required when --metrics-require-rbac is present" in f["rbac alone"]["err"]),
    Row("1-watches-default", "watches-file is ./watches.yaml by default", "values", lambda f: bool(f["full"]["extravars"])),
    Row("1-watches-missing", "a missing watches file: exit code 1", "cli", lambda f: (f["no watches"]["code"], "none.yaml" in f["no watches"]["err"]), (1, True)),
    Row("1-verbosity-flag", "ansible-verbosity is the default of every kind", "values", lambda f: [word for word in f["book files"]["command"]["command"] if word.startswith("-v")], ["-v"]),
    Row("1-inject-off", "inject-owner-ref=false", "proxy", lambda f: f["not injected"]["metadata"].get("ownerReferences", []), []),
    Row("1-proxy-port", "proxy-port", "values", lambda f: str(f["proxy port"]) in f["full"]["kubeconfig"], mended=True),
)

ENVIRONMENT = (
    Row("1-env-kubeconfig", "KUBECONFIG is used", "values", lambda f: bool(f["full"])),
    Row("1-env-no-kubeconfig", "nothing found: exit code 1", "cli", lambda f: f["no kubeconfig"]["code"], 1),
    Row("1-env-bad-kubeconfig", "a bad one: exit code 1", "cli", lambda f: f["bad kubeconfig"]["code"], 1),
    Row("1-env-namespaces", "WATCH_NAMESPACE: one or more, spaces and empty parts dropped", "inputs", lambda f: (bool(f["one"]), bool(f["two"])), (True, True)),
    Row("1-env-namespaces-others", "others are not watched", "inputs", lambda f: f["unseen"], []),
    Row("1-env-namespaces-cluster", "cluster-scoped kinds are", "inputs", lambda f: bool(f["realm"])),
    Row("1-workers-default", "workers are as many as processors, within the container's limit", reason="tests/unit/config/test_flags.py"),
    Row("1-env-workers", "MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>", "triggers", lambda f: f["pair met"], [True, True]),
    Row("1-env-workers-first", "which goes before WORKER_<KIND>_<GROUP>", "triggers", lambda f: f["single met"], [False, False]),
    Row("1-env-verbosity", "ANSIBLE_VERBOSITY_<KIND>_<GROUP>", "values", lambda f: [word for word in f["full files"]["command"]["command"] if word.startswith("-v")], ["-vvv"]),
    Row("1-env-verbosity-console", "ANSIBLE_VERBOSITY is for log printing", reason="as the annotation: 3.8-verbosity; tests/unit/execute/test_console.py"),
    Row("1-env-roles-path", "ANSIBLE_ROLES_PATH", "values", lambda f: f["direct"]["name"], "direct"),
    Row("1-env-collections-path", "ANSIBLE_COLLECTIONS_PATH", "values", lambda f: f["fqcn"]["name"], "fqcn"),
    Row("1-env-gathering", "ANSIBLE_GATHERING=explicit", "values", lambda f: f["full"]["extra"]["facts"], 0),
    Row("1-env-debug-logs", "ANSIBLE_DEBUG_LOGS", "console", lambda f: "Ansible Debug Result" in f["nothing out"]),
    Row("1-env-inherited", "the whole environment is inherited by ansible", "values", lambda f: f["full"]["environment"]["RELATED_IMAGE_X"], "inherited"),
    Row("1-env-operator-name", "OPERATOR_NAME is the id of leader election where the flag gives none", "life", lambda f: bool(f["lease"]["holderIdentity"])),
)

EXITS = (
    Row("1-exit-sigterm", "SIGTERM: 0", "life", lambda f: f["idle code"], 0),
    Row("1-exit-sigint", "SIGINT: 0", "life", lambda f: f["interrupted code"], 0),
    Row("1-exit-grace", "grace period exceeded: 1", "life", lambda f: f["cut short code"], 1),
    Row("1-exit-second", "second signal: 1", "life", lambda f: f["twice code"], 1),
    Row("1-exit-second-left", "with nothing left running", "life", lambda f: f["twice left"], []),
    Row("1-exit-leadership", "leadership lost: 1", reason="tests/robustness/test_leaders.py"),
    Row("1-exit-proxy-port", "the proxy port is taken: 1", "cli", lambda f: (f["busy proxy-port"]["code"], f["busy proxy-port"]["reached the port"]), (1, True)),
    Row("1-exit-metrics-port", "the metrics port is taken: 1", "cli", lambda f: (f["busy metrics-bind-address"]["code"], f["busy metrics-bind-address"]["reached the port"]), (1, True)),
    Row("1-exit-health-port", "the health port is taken: 1", "cli", lambda f: (f["busy health-probe-bind-address"]["code"], f["busy health-probe-bind-address"]["reached the port"]), (1, True)),
    Row("1-exit-5050", ":5050 is taken: 1", reason="tests/contract/test_user_metrics.py"),
    Row("1-exit-watches", "bad watches: 1", "refusals", lambda f: f["neither"]["code"], 1),
    Row("1-exit-selector", "a bad selector: 1", "refusals", lambda f: f["selector operator"]["code"], 1),
    Row("1-exit-absent", "a missing CRD does not end the operator", "life", lambda f: f["beside absent"], mended=True),
    Row("1-exit-absent-ready", "which is not ready meanwhile", "life", lambda f: f["absent ready"], 500, mended=True),
    Row("1-exit-absent-later", "and serves the kind once it is there", "life", lambda f: (f["late"], f["late ready"]), (True, True), mended=True),
    Row("1-exit-two-groups", "same kind and version in two groups are fine", "life", lambda f: f["two groups"], mended=True),
    Row("1-exit-empty", "a watches file without entries: keeps running, ready", "life", lambda f: f["empty ready"]),
    Row("1-logs-stderr", "logs are JSON objects with level, ts, logger and msg, on stderr", "console", lambda f: all({"level", "ts", "logger", "msg"} <= set(record) for record in f["tasks records"])),
    Row("1-logs-only", "and nothing else is there", "console", lambda f: all(line.startswith("{") for line in f["everything stderr"].splitlines())),
    Row("1-blocks-stdout", "Ansible's output goes to stdout", "console", lambda f: "Ansible Task StdOut" in f["tasks out"]),
)

SECTION_1 = (*COMMANDS, *FLAGS, *ENVIRONMENT, *EXITS)
