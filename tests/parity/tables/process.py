"""The operator as a process: its environment, what it logs, and how it ends."""

from __future__ import annotations

from tests.parity.rows import Row

ENVIRONMENT = (
    Row(id="env-kubeconfig", says="KUBECONFIG is used", batch="values", seen=lambda f: bool(f["full"])),
    Row(
        id="env-no-kubeconfig",
        says="nothing found: exit code 1",
        batch="cli",
        seen=lambda f: f["no kubeconfig"]["code"],
        expected=1,
    ),
    Row(
        id="env-bad-kubeconfig",
        says="a bad one: exit code 1",
        batch="cli",
        seen=lambda f: f["bad kubeconfig"]["code"],
        expected=1,
    ),
    Row(
        id="env-namespaces",
        says="WATCH_NAMESPACE: one or more, spaces and empty parts dropped",
        batch="inputs",
        seen=lambda f: (bool(f["one"]), bool(f["two"])),
        expected=(True, True),
    ),
    Row(
        id="env-namespaces-others",
        says="others are not watched",
        batch="inputs",
        seen=lambda f: f["unseen"],
        expected=[],
    ),
    Row(
        id="env-namespaces-cluster",
        says="cluster-scoped kinds are",
        batch="inputs",
        seen=lambda f: bool(f["realm"]),
    ),
    Row(
        id="env-workers-default",
        says="workers are as many as processors, within the container's limit",
        reason="tests/unit/config/test_flags.py",
    ),
    Row(
        id="env-workers",
        says="MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>",
        batch="triggers",
        seen=lambda f: f["pair met"],
        expected=[True, True],
    ),
    Row(
        id="env-workers-first",
        says="which goes before WORKER_<KIND>_<GROUP>",
        batch="triggers",
        seen=lambda f: f["single met"],
        expected=[False, False],
    ),
    Row(
        id="env-verbosity",
        says="ANSIBLE_VERBOSITY_<KIND>_<GROUP>",
        batch="values",
        seen=lambda f: [word for word in f["full files"]["command"]["command"] if word.startswith("-v")],
        expected=["-vvv"],
    ),
    Row(
        id="env-verbosity-console",
        says="ANSIBLE_VERBOSITY is for log printing",
        reason="as the annotation: console-verbosity; tests/unit/execute/test_console.py",
    ),
    Row(
        id="env-roles-path",
        says="ANSIBLE_ROLES_PATH",
        batch="values",
        seen=lambda f: f["direct"]["name"],
        expected="direct",
    ),
    Row(
        id="env-collections-path",
        says="ANSIBLE_COLLECTIONS_PATH",
        batch="values",
        seen=lambda f: f["fqcn"]["name"],
        expected="fqcn",
    ),
    Row(
        id="env-gathering",
        says="ANSIBLE_GATHERING=explicit",
        batch="values",
        seen=lambda f: f["full"]["extra"]["facts"],
        expected=0,
    ),
    Row(
        id="env-debug-logs",
        says="ANSIBLE_DEBUG_LOGS",
        batch="console",
        seen=lambda f: "Ansible Debug Result" in f["nothing out"],
    ),
    Row(
        id="env-inherited",
        says="the whole environment is inherited by ansible",
        batch="values",
        seen=lambda f: f["full"]["environment"]["RELATED_IMAGE_X"],
        expected="inherited",
    ),
    Row(
        id="env-operator-name",
        says="OPERATOR_NAME is the id of leader election where the flag gives none",
        batch="life",
        seen=lambda f: bool(f["lease"]["holderIdentity"]),
    ),
)

LOGS = (
    Row(
        id="log-stderr",
        says="logs are JSON objects with level, ts, logger and msg, on stderr",
        batch="console",
        seen=lambda f: all({"level", "ts", "logger", "msg"} <= set(record) for record in f["tasks records"]),
    ),
    Row(
        id="log-only",
        says="and nothing else is there",
        batch="console",
        seen=lambda f: all(line.startswith("{") for line in f["everything stderr"].splitlines()),
    ),
    Row(
        id="log-blocks-stdout",
        says="Ansible's output goes to stdout",
        batch="console",
        seen=lambda f: "Ansible Task StdOut" in f["tasks out"],
    ),
)

EXITS = (
    Row(id="exit-sigterm", says="SIGTERM: 0", batch="life", seen=lambda f: f["idle code"], expected=0),
    Row(id="exit-sigint", says="SIGINT: 0", batch="life", seen=lambda f: f["interrupted code"], expected=0),
    Row(
        id="exit-grace",
        says="grace period exceeded: 1",
        batch="life",
        seen=lambda f: f["cut short code"],
        expected=1,
    ),
    Row(id="exit-second", says="second signal: 1", batch="life", seen=lambda f: f["twice code"], expected=1),
    Row(
        id="exit-second-left",
        says="with nothing left running",
        batch="life",
        seen=lambda f: f["twice left"],
        expected=[],
    ),
    Row(id="exit-leadership", says="leadership lost: 1", reason="tests/robustness/test_leaders.py"),
    Row(
        id="exit-proxy-port",
        says="the proxy port is taken: 1",
        batch="cli",
        seen=lambda f: (f["busy proxy-port"]["code"], f["busy proxy-port"]["reached the port"]),
        expected=(1, True),
    ),
    Row(
        id="exit-metrics-port",
        says="the metrics port is taken: 1",
        batch="cli",
        seen=lambda f: (
            f["busy metrics-bind-address"]["code"],
            f["busy metrics-bind-address"]["reached the port"],
        ),
        expected=(1, True),
    ),
    Row(
        id="exit-health-port",
        says="the health port is taken: 1",
        batch="cli",
        seen=lambda f: (
            f["busy health-probe-bind-address"]["code"],
            f["busy health-probe-bind-address"]["reached the port"],
        ),
        expected=(1, True),
    ),
    Row(id="exit-5050", says=":5050 is taken: 1", reason="tests/contract/test_user_metrics.py"),
    Row(
        id="exit-watches", says="bad watches: 1", batch="refusals", seen=lambda f: f["neither"]["code"], expected=1
    ),
    Row(
        id="exit-selector",
        says="a bad selector: 1",
        batch="refusals",
        seen=lambda f: f["selector operator"]["code"],
        expected=1,
    ),
    Row(
        id="exit-absent",
        says="a missing CRD does not end the operator",
        batch="life",
        seen=lambda f: f["beside absent"],
        mended=True,
    ),
    Row(
        id="exit-absent-ready",
        says="which is not ready meanwhile",
        batch="life",
        seen=lambda f: f["absent ready"],
        expected=500,
        mended=True,
    ),
    Row(
        id="exit-absent-later",
        says="and serves the kind once it is there",
        batch="life",
        seen=lambda f: (f["late"], f["late ready"]),
        expected=(True, True),
        mended=True,
    ),
    Row(
        id="exit-two-groups",
        says="same kind and version in two groups are fine",
        batch="life",
        seen=lambda f: f["two groups"],
        mended=True,
    ),
    Row(
        id="exit-empty",
        says="a watches file without entries: keeps running, ready",
        batch="life",
        seen=lambda f: f["empty ready"],
    ),
)

ROWS = (
    *ENVIRONMENT,
    *LOGS,
    *EXITS,
)
