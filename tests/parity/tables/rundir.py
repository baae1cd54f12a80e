"""The directory of a run, and how many of its artifacts are kept."""

from __future__ import annotations

import json

from tests.parity.rows import inputs, rotation, untested, values, within
from tests.parity.tables.playbook_command import environment

FILES = (
    values(
        "rundir-directory",
        "<runner>/<group>/<version>/<Kind>/<namespace>/<name>",
        lambda f: (
            f["full"]["directory"].removeprefix("/tmp/ansible-operator/runner/")
            == f"{f['group']}/v1/Full/{f['namespace']}/full"
        ),
    ),
    values(
        "rundir-directory-cluster",
        "no namespace segment for a cluster-scoped CR",
        lambda f: f["realm"]["directory"].endswith(f"/{f['group']}/v1/Realm/realm-{f['suffix']}"),
    ),
    values(
        "rundir-ident",
        "the run's ident is a decimal integer below 2^63",
        lambda f: 0 <= int(f["full files"]["target"].rpartition("/")[2]) < 2**63,
    ),
    untested(
        "rundir-modes",
        "directories 0777&umask, files 0644",
        "private by design: docs/decisions, tests/unit/execute/test_rundir.py",
    ),
    untested(
        "rundir-kept",
        "the directory survives the CR",
        "mended on purpose: removed with the CR, tests/robustness/test_operator_kills.py",
    ),
    values(
        "rundir-envvars",
        "env/envvars names the kubeconfig twice",
        lambda f: within(
            dict.fromkeys(("K8S_AUTH_KUBECONFIG", "KUBECONFIG"), environment(f, "full")["KUBECONFIG"]),
            json.loads(f["full"]["files"]["env/envvars"]),
        ),
    ),
    values(
        "rundir-compact",
        "the JSON files are compact, their keys sorted",
        lambda f: (
            f["full"]["files"]["env/envvars"]
            == json.dumps(json.loads(f["full"]["files"]["env/envvars"]), separators=(",", ":"), sort_keys=True)
        ),
    ),
    values(
        "rundir-kubeconfig-mode", "the kubeconfig has mode 0600", lambda f: f["full"]["kubeconfig_mode"], "0o600"
    ),
    values(
        "rundir-kubeconfig-removed",
        "the kubeconfig is deleted after the run",
        lambda f: f["full files"]["kubeconfigs"],
        [],
    ),
    untested(
        "rundir-kubeconfig-place",
        "kubeconfig<digits> in the temporary directory",
        "it is in the private run directory here, so that nobody can name it first",
    ),
    values(
        "rundir-extravars",
        "env/extravars is the run's extra vars",
        lambda f: "overlaid" in f["full"]["files"]["env/extravars"],
    ),
    untested(
        "rundir-settings",
        "env/settings names the event socket",
        "how the Go operator gets its events; no content reads it",
    ),
    values(
        "rundir-cmdline",
        "env/cmdline holds ansible-args without the outer quotes",
        lambda f: f["full"]["files"]["env/cmdline"],
        "--tags all -e overlaid=args -e only=args",
    ),
    inputs(
        "rundir-no-cmdline",
        "no env/cmdline without ansible-args",
        lambda f: "env/cmdline" in f["one"]["files"],
        False,
    ),
    values(
        "rundir-inventory",
        "the generated inventory is one line",
        lambda f: f["full"]["files"]["inventory/hosts"],
        "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}",
    ),
    inputs(
        "rundir-inventory-venv",
        "VIRTUAL_ENV is the interpreter in it",
        lambda f: (
            f["venv run"]["files"]["inventory/hosts"]
            == f"localhost ansible_connection=local ansible_python_interpreter={f['venv']}/bin/python3"
        ),
    ),
    inputs(
        "rundir-inventory-file",
        "ANSIBLE_INVENTORY as a file is copied to inventory/hosts",
        lambda f: f["one"]["files"]["inventory/hosts"].startswith("localhost marker=file"),
    ),
    inputs(
        "rundir-inventory-directory",
        "as a directory it is copied into inventory/",
        lambda f: {name for name in f["directory run"]["files"] if name.startswith("inventory/")},
        {"inventory/hosts.ini", "inventory/group_vars/all.yml"},
    ),
    inputs(
        "rundir-inventory-missing",
        "not an existing path: Unable to run reconciliation",
        lambda f: f["failure"]["message"].startswith("Unable to run reconciliation"),
    ),
    values(
        "rundir-playbook-copy",
        "project/playbook.yaml is a copy of the playbook",
        lambda f: "hosts: localhost" in f["book"]["files"]["project/playbook.yaml"],
    ),
    values(
        "rundir-role-play",
        "project/<32 hex> is the play of a role",
        lambda f: [
            text for name, text in f["full"]["files"].items() if name.startswith("project/") and len(name) == 40
        ],
        ['[{"hosts": "localhost", "gather_facts": false, "roles": [{"name": "tell"}]}]'],
    ),
    values("rundir-role-play-removed", "which is removed after the run", lambda f: f["full files"]["project"], []),
    values(
        "rundir-artifacts",
        "artifacts/<ident> has ansible-runner's files",
        lambda f: (
            {"command", "stdout", "stderr", "rc", "status", "job_events", "fact_cache"}
            - set(f["full files"]["names"])
        ),
        set(),
    ),
    values(
        "rundir-latest",
        "artifacts/latest is an absolute link to the last run",
        lambda f: (
            f["full files"]["link"]
            and f["full files"]["target"].startswith(f"{f['full']['directory']}/artifacts/")
        ),
    ),
    values(
        "rundir-stdout",
        "latest/stdout holds the run's output",
        lambda f: "PLAY RECAP" in f["full files"]["stdout"],
    ),
)

ROTATION = (
    rotation("rotation-three", "maxRunnerArtifacts: N keeps N runs", lambda f: f["three"], 3, mended=True),
    rotation("rotation-one", "1 keeps one", lambda f: f["one"], 1, mended=True),
    rotation("rotation-one-runs", "and breaks no run", lambda f: f["one runs"], 4, mended=True),
    rotation("rotation-two", "2 keeps two", lambda f: f["two"], 2, mended=True),
    rotation("rotation-two-runs", "and breaks no run", lambda f: f["two runs"], 4, mended=True),
    rotation(
        "rotation-latest",
        "latest is not one of them and stays",
        lambda f: f["one latest"] and f["two latest"] and f["three latest"],
    ),
    rotation(
        "rotation-every",
        "the annotation 0 keeps all (here up to --max-runner-artifacts-limit)",
        lambda f: f["every"],
        4,
    ),
    rotation("rotation-all", "a negative maxRunnerArtifacts keeps all", lambda f: f["all"], 4),
    untested(
        "rotation-default",
        "0 and nothing mean 20",
        "twenty runs take too long here: tests/unit/config/test_watchesfile.py",
    ),
)

ROWS = (
    *FILES,
    *ROTATION,
)
