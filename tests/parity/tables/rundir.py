"""The directory of a run, and how many of its artifacts are kept."""

from __future__ import annotations

import json

from tests.parity.rows import Row, within
from tests.parity.tables.playbook_command import environment

FILES = (
    Row(
        id="rundir-directory",
        says="<runner>/<group>/<version>/<Kind>/<namespace>/<name>",
        batch="values",
        seen=lambda f: (
            f["full"]["directory"].removeprefix("/tmp/ansible-operator/runner/")
            == f"{f['group']}/v1/Full/{f['namespace']}/full"
        ),
    ),
    Row(
        id="rundir-directory-cluster",
        says="no namespace segment for a cluster-scoped CR",
        batch="values",
        seen=lambda f: f["realm"]["directory"].endswith(f"/{f['group']}/v1/Realm/realm-{f['suffix']}"),
    ),
    Row(
        id="rundir-ident",
        says="the run's ident is a decimal integer below 2^63",
        batch="values",
        seen=lambda f: 0 <= int(f["full files"]["target"].rpartition("/")[2]) < 2**63,
    ),
    Row(
        id="rundir-modes",
        says="directories 0777&umask, files 0644",
        reason="private by design: docs/decisions, tests/unit/execute/test_rundir.py",
    ),
    Row(
        id="rundir-kept",
        says="the directory survives the CR",
        reason="mended on purpose: removed with the CR, tests/robustness/test_operator_kills.py",
    ),
    Row(
        id="rundir-envvars",
        says="env/envvars names the kubeconfig twice",
        batch="values",
        seen=lambda f: within(
            dict.fromkeys(("K8S_AUTH_KUBECONFIG", "KUBECONFIG"), environment(f, "full")["KUBECONFIG"]),
            json.loads(f["full"]["files"]["env/envvars"]),
        ),
    ),
    Row(
        id="rundir-compact",
        says="the JSON files are compact, their keys sorted",
        batch="values",
        seen=lambda f: (
            f["full"]["files"]["env/envvars"]
            == json.dumps(json.loads(f["full"]["files"]["env/envvars"]), separators=(",", ":"), sort_keys=True)
        ),
    ),
    Row(
        id="rundir-kubeconfig-mode",
        says="the kubeconfig has mode 0600",
        batch="values",
        seen=lambda f: f["full"]["kubeconfig_mode"],
        expected="0o600",
    ),
    Row(
        id="rundir-kubeconfig-removed",
        says="the kubeconfig is deleted after the run",
        batch="values",
        seen=lambda f: f["full files"]["kubeconfigs"],
        expected=[],
    ),
    Row(
        id="rundir-kubeconfig-place",
        says="kubeconfig<digits> in the temporary directory",
        reason="it is in the private run directory here, so that nobody can name it first",
    ),
    Row(
        id="rundir-extravars",
        says="env/extravars is the run's extra vars",
        batch="values",
        seen=lambda f: "overlaid" in f["full"]["files"]["env/extravars"],
    ),
    Row(
        id="rundir-settings",
        says="env/settings names the event socket",
        reason="how the Go operator gets its events; no content reads it",
    ),
    Row(
        id="rundir-cmdline",
        says="env/cmdline holds ansible-args without the outer quotes",
        batch="values",
        seen=lambda f: f["full"]["files"]["env/cmdline"],
        expected="--tags all -e overlaid=args -e only=args",
    ),
    Row(
        id="rundir-no-cmdline",
        says="no env/cmdline without ansible-args",
        batch="inputs",
        seen=lambda f: "env/cmdline" in f["one"]["files"],
        expected=False,
    ),
    Row(
        id="rundir-inventory",
        says="the generated inventory is one line",
        batch="values",
        seen=lambda f: f["full"]["files"]["inventory/hosts"],
        expected="localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}",
    ),
    Row(
        id="rundir-inventory-venv",
        says="VIRTUAL_ENV is the interpreter in it",
        batch="inputs",
        seen=lambda f: (
            f["venv run"]["files"]["inventory/hosts"]
            == f"localhost ansible_connection=local ansible_python_interpreter={f['venv']}/bin/python3"
        ),
    ),
    Row(
        id="rundir-inventory-file",
        says="ANSIBLE_INVENTORY as a file is copied to inventory/hosts",
        batch="inputs",
        seen=lambda f: f["one"]["files"]["inventory/hosts"].startswith("localhost marker=file"),
    ),
    Row(
        id="rundir-inventory-directory",
        says="as a directory it is copied into inventory/",
        batch="inputs",
        seen=lambda f: {name for name in f["directory run"]["files"] if name.startswith("inventory/")},
        expected={"inventory/hosts.ini", "inventory/group_vars/all.yml"},
    ),
    Row(
        id="rundir-inventory-missing",
        says="not an existing path: Unable to run reconciliation",
        batch="inputs",
        seen=lambda f: f["failure"]["message"].startswith("Unable to run reconciliation"),
    ),
    Row(
        id="rundir-playbook-copy",
        says="project/playbook.yaml is a copy of the playbook",
        batch="values",
        seen=lambda f: "hosts: localhost" in f["book"]["files"]["project/playbook.yaml"],
    ),
    Row(
        id="rundir-role-play",
        says="project/<32 hex> is the play of a role",
        batch="values",
        seen=lambda f: [
            text for name, text in f["full"]["files"].items() if name.startswith("project/") and len(name) == 40
        ],
        expected=['[{"hosts": "localhost", "gather_facts": false, "roles": [{"name": "tell"}]}]'],
    ),
    Row(
        id="rundir-role-play-removed",
        says="which is removed after the run",
        batch="values",
        seen=lambda f: f["full files"]["project"],
        expected=[],
    ),
    Row(
        id="rundir-artifacts",
        says="artifacts/<ident> has ansible-runner's files",
        batch="values",
        seen=lambda f: (
            {"command", "stdout", "stderr", "rc", "status", "job_events", "fact_cache"}
            - set(f["full files"]["names"])
        ),
        expected=set(),
    ),
    Row(
        id="rundir-latest",
        says="artifacts/latest is an absolute link to the last run",
        batch="values",
        seen=lambda f: (
            f["full files"]["link"]
            and f["full files"]["target"].startswith(f"{f['full']['directory']}/artifacts/")
        ),
    ),
    Row(
        id="rundir-stdout",
        says="latest/stdout holds the run's output",
        batch="values",
        seen=lambda f: "PLAY RECAP" in f["full files"]["stdout"],
    ),
)

ROTATION = (
    Row(
        id="rotation-three",
        says="maxRunnerArtifacts: N keeps N runs",
        batch="rotation",
        seen=lambda f: f["three"],
        expected=3,
        mended=True,
    ),
    Row(id="rotation-one", says="1 keeps one", batch="rotation", seen=lambda f: f["one"], expected=1, mended=True),
    Row(
        id="rotation-one-runs",
        says="and breaks no run",
        batch="rotation",
        seen=lambda f: f["one runs"],
        expected=4,
        mended=True,
    ),
    Row(id="rotation-two", says="2 keeps two", batch="rotation", seen=lambda f: f["two"], expected=2, mended=True),
    Row(
        id="rotation-two-runs",
        says="and breaks no run",
        batch="rotation",
        seen=lambda f: f["two runs"],
        expected=4,
        mended=True,
    ),
    Row(
        id="rotation-latest",
        says="latest is not one of them and stays",
        batch="rotation",
        seen=lambda f: f["one latest"] and f["two latest"] and f["three latest"],
    ),
    Row(
        id="rotation-every",
        says="the annotation 0 keeps all (here up to --max-runner-artifacts-limit)",
        batch="rotation",
        seen=lambda f: f["every"],
        expected=4,
    ),
    Row(
        id="rotation-all",
        says="a negative maxRunnerArtifacts keeps all",
        batch="rotation",
        seen=lambda f: f["all"],
        expected=4,
    ),
    Row(
        id="rotation-default",
        says="0 and nothing mean 20",
        reason="twenty runs take too long here: tests/unit/config/test_watchesfile.py",
    ),
)

ROWS = (
    *FILES,
    *ROTATION,
)
