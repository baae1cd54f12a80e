"""The operator as a process: its environment, what it logs, and how it ends."""

from __future__ import annotations

from tests.parity.rows import cli, console, inputs, life, refusals, triggers, untested, values

ENVIRONMENT = (
    values("env-kubeconfig", "KUBECONFIG is used", lambda f: bool(f["full"])),
    cli("env-no-kubeconfig", "nothing found: exit code 1", lambda f: f["no kubeconfig"]["code"], 1),
    cli("env-bad-kubeconfig", "a bad one: exit code 1", lambda f: f["bad kubeconfig"]["code"], 1),
    inputs(
        "env-namespaces",
        "WATCH_NAMESPACE: one or more, spaces and empty parts dropped",
        lambda f: (bool(f["one"]), bool(f["two"])),
        (True, True),
    ),
    inputs("env-namespaces-others", "others are not watched", lambda f: f["unseen"], []),
    inputs("env-namespaces-cluster", "cluster-scoped kinds are", lambda f: bool(f["realm"])),
    untested(
        "env-workers-default",
        "workers are as many as processors, within the container's limit",
        "tests/unit/config/test_flags.py",
    ),
    triggers("env-workers", "MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>", lambda f: f["pair met"], [True, True]),
    triggers(
        "env-workers-first", "which goes before WORKER_<KIND>_<GROUP>", lambda f: f["single met"], [False, False]
    ),
    values(
        "env-verbosity",
        "ANSIBLE_VERBOSITY_<KIND>_<GROUP>",
        lambda f: [word for word in f["full files"]["command"]["command"] if word.startswith("-v")],
        ["-vvv"],
    ),
    untested(
        "env-verbosity-console",
        "ANSIBLE_VERBOSITY is for log printing",
        "as the annotation: console-verbosity; tests/unit/execute/test_console.py",
    ),
    values("env-roles-path", "ANSIBLE_ROLES_PATH", lambda f: f["direct"]["name"], "direct"),
    values("env-collections-path", "ANSIBLE_COLLECTIONS_PATH", lambda f: f["fqcn"]["name"], "fqcn"),
    values("env-gathering", "ANSIBLE_GATHERING=explicit", lambda f: f["full"]["extra"]["facts"], 0),
    console("env-debug-logs", "ANSIBLE_DEBUG_LOGS", lambda f: "Ansible Debug Result" in f["nothing out"]),
    values(
        "env-inherited",
        "the whole environment is inherited by ansible",
        lambda f: f["full"]["environment"]["RELATED_IMAGE_X"],
        "inherited",
    ),
    life(
        "env-operator-name",
        "OPERATOR_NAME is the id of leader election where the flag gives none",
        lambda f: bool(f["lease"]["holderIdentity"]),
    ),
)

LOGS = (
    console(
        "log-stderr",
        "logs are JSON objects with level, ts, logger and msg, on stderr",
        lambda f: all({"level", "ts", "logger", "msg"} <= set(record) for record in f["tasks records"]),
    ),
    console(
        "log-only",
        "and nothing else is there",
        lambda f: all(line.startswith("{") for line in f["everything stderr"].splitlines()),
    ),
    console(
        "log-blocks-stdout", "Ansible's output goes to stdout", lambda f: "Ansible Task StdOut" in f["tasks out"]
    ),
)

EXITS = (
    life("exit-sigterm", "SIGTERM: 0", lambda f: f["idle code"], 0),
    life("exit-sigint", "SIGINT: 0", lambda f: f["interrupted code"], 0),
    life("exit-grace", "grace period exceeded: 1", lambda f: f["cut short code"], 1),
    life("exit-second", "second signal: 1", lambda f: f["twice code"], 1),
    life("exit-second-left", "with nothing left running", lambda f: f["twice left"], []),
    untested("exit-leadership", "leadership lost: 1", "tests/robustness/test_leaders.py"),
    cli(
        "exit-proxy-port",
        "the proxy port is taken: 1",
        lambda f: (f["busy proxy-port"]["code"], f["busy proxy-port"]["reached the port"]),
        (1, True),
    ),
    cli(
        "exit-metrics-port",
        "the metrics port is taken: 1",
        lambda f: (
            f["busy metrics-bind-address"]["code"],
            f["busy metrics-bind-address"]["reached the port"],
        ),
        (1, True),
    ),
    cli(
        "exit-health-port",
        "the health port is taken: 1",
        lambda f: (
            f["busy health-probe-bind-address"]["code"],
            f["busy health-probe-bind-address"]["reached the port"],
        ),
        (1, True),
    ),
    untested("exit-5050", ":5050 is taken: 1", "tests/contract/test_user_metrics.py"),
    refusals("exit-watches", "bad watches: 1", lambda f: f["neither"]["code"], 1),
    refusals("exit-selector", "a bad selector: 1", lambda f: f["selector operator"]["code"], 1),
    life("exit-absent", "a missing CRD does not end the operator", lambda f: f["beside absent"], mended=True),
    life("exit-absent-ready", "which is not ready meanwhile", lambda f: f["absent ready"], 500, mended=True),
    life(
        "exit-absent-later",
        "and serves the kind once it is there",
        lambda f: (f["late"], f["late ready"]),
        (True, True),
        mended=True,
    ),
    life(
        "exit-two-groups", "same kind and version in two groups are fine", lambda f: f["two groups"], mended=True
    ),
    life("exit-empty", "a watches file without entries: keeps running, ready", lambda f: f["empty ready"]),
)

ROWS = (
    *ENVIRONMENT,
    *LOGS,
    *EXITS,
)
