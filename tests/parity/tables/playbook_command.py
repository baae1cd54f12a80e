"""The command that a run is, and its environment."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row, in_order


def argv(facts: Facts, name: str) -> list[str]:
    return list(facts[f"{name} files"]["command"]["command"])


def verbosity(facts: Facts, name: str) -> list[str]:
    return [word for word in argv(facts, name) if word.startswith("-v")]


def environment(facts: Facts, name: str) -> Any:
    return facts[name]["environment"]


COMMAND = (
    Row(
        id="playbook-command-role-play",
        says="a role runs by a play in <dir>/project",
        batch="values",
        seen=lambda f: argv(f, "full")[-1].startswith(f"{f['full']['directory']}/project/"),
    ),
    Row(
        id="playbook-command-playbook",
        says="a playbook runs from where it is",
        batch="values",
        seen=lambda f: argv(f, "book")[-1] == f"{f['project']}/playbooks/book.yml",
    ),
    Row(
        id="playbook-command-playbook-dir",
        says="playbook_dir is the original playbook's",
        batch="values",
        seen=lambda f: f["book"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks",
    ),
    Row(
        id="playbook-command-playbook-dir-role",
        says="or <dir>/project for a role",
        batch="values",
        seen=lambda f: f["full"]["extra"]["playbook_dir"] == f"{f['full']['directory']}/project",
    ),
    Row(
        id="playbook-command-program",
        says="ansible-playbook is what runs",
        batch="values",
        seen=lambda f: argv(f, "full")[0].rpartition("/")[2],
        expected="ansible-playbook",
    ),
    Row(
        id="playbook-command-inventory",
        says="-i <dir>/inventory",
        batch="values",
        seen=lambda f: in_order(["-i", f"{f['full']['directory']}/inventory"], argv(f, "full")),
    ),
    Row(
        id="playbook-command-extravars",
        says="-e @<dir>/env/extravars",
        batch="values",
        seen=lambda f: in_order(["-e", f"@{f['full']['directory']}/env/extravars"], argv(f, "full")),
    ),
    Row(
        id="playbook-command-cwd",
        says="the working directory is <dir>/project",
        batch="values",
        seen=lambda f: f["full"]["cwd"] == f"{f['full']['directory']}/project",
    ),
    Row(
        id="playbook-command-args",
        says="ansible-args are shell-split, their outer quotes removed",
        batch="values",
        seen=lambda f: in_order(["--tags", "all", "-e", "overlaid=args"], argv(f, "full")),
    ),
    Row(
        id="playbook-command-args-first",
        says="and come before -e @extravars",
        batch="values",
        seen=lambda f: in_order(["overlaid=args", f"@{f['full']['directory']}/env/extravars"], argv(f, "full")),
    ),
    Row(
        id="playbook-command-args-in-effect",
        says="so their own -e is there",
        batch="values",
        seen=lambda f: "only=args" in argv(f, "full"),
    ),
    Row(
        id="playbook-command-verbosity-kind",
        says="ANSIBLE_VERBOSITY_<KIND>_<GROUP> is the kind's verbosity",
        batch="values",
        seen=lambda f: verbosity(f, "full"),
        expected=["-vvv"],
    ),
    Row(
        id="playbook-command-verbosity-zero",
        says="0: no -v",
        batch="values",
        seen=lambda f: verbosity(f, "coerced"),
        expected=[],
    ),
    Row(
        id="playbook-command-verbosity-range",
        says="above 7: the flag's",
        batch="values",
        seen=lambda f: verbosity(f, "unsafe"),
        expected=["-v"],
    ),
    Row(
        id="playbook-command-verbosity-flag",
        says="otherwise the flag's",
        batch="values",
        seen=lambda f: verbosity(f, "book"),
        expected=["-v"],
    ),
    Row(
        id="playbook-command-verbosity-default",
        says="which is 2",
        batch="inputs",
        seen=lambda f: [word for word in f["one files"]["command"]["command"] if word.startswith("-v")],
        expected=["-vv"],
    ),
    Row(
        id="playbook-command-verbosity-annotation",
        says="the CR's annotation goes first",
        batch="values",
        seen=lambda f: verbosity(f, "noisy"),
        expected=["-vvvvv"],
    ),
    Row(
        id="playbook-command-verbosity-unparsable",
        says="an unparsable one is ignored",
        batch="values",
        seen=lambda f: verbosity(f, "odd"),
        expected=["-vvv"],
    ),
    Row(
        id="playbook-command-skip-facts",
        says="ANSIBLE_GATHERING=explicit: a role's play gathers no facts",
        batch="values",
        seen=lambda f: f["full"]["extra"]["facts"],
        expected=0,
    ),
    Row(
        id="playbook-command-facts",
        says="otherwise it does",
        batch="inputs",
        seen=lambda f: f["one"]["extra"]["facts"] > 0,
    ),
)

ENVIRONMENT = (
    Row(
        id="playbook-env-kubeconfig",
        says="KUBECONFIG and K8S_AUTH_KUBECONFIG are the run's own",
        batch="values",
        seen=lambda f: environment(f, "full")["KUBECONFIG"] == environment(f, "full")["K8S_AUTH_KUBECONFIG"],
    ),
    Row(
        id="playbook-env-inherited",
        says="the operator's environment is inherited",
        batch="values",
        seen=lambda f: environment(f, "full")["RELATED_IMAGE_X"],
        expected="inherited",
    ),
    Row(
        id="playbook-env-roles-path",
        says="ANSIBLE_ROLES_PATH begins with the role's parent directory",
        batch="values",
        seen=lambda f: environment(f, "full")["ANSIBLE_ROLES_PATH"].split(":")[0] == f"{f['project']}/roles/",
    ),
    Row(
        id="playbook-env-roles-path-kept",
        says="and what it was is kept after that",
        batch="values",
        seen=lambda f: (
            environment(f, "full")["ANSIBLE_ROLES_PATH"].split(":")[1:]
            == [f"{f['project']}/elsewhere", f"{f['project']}/more"]
        ),
        mended=True,
    ),
    Row(
        id="playbook-env-roles-path-playbook",
        says="a playbook gets the inherited one",
        batch="values",
        seen=lambda f: (
            environment(f, "book")["ANSIBLE_ROLES_PATH"] == f"{f['project']}/elsewhere:{f['project']}/more"
        ),
    ),
    Row(
        id="playbook-env-callback",
        says="ANSIBLE_STDOUT_CALLBACK=awx_display, the previous value kept",
        batch="values",
        seen=lambda f: (
            environment(f, "full")["ANSIBLE_STDOUT_CALLBACK"],
            environment(f, "full")["ORIGINAL_STDOUT_CALLBACK"],
        ),
        expected=("awx_display", "default"),
    ),
    Row(
        id="playbook-env-callback-plugins",
        says="ANSIBLE_CALLBACK_PLUGINS names ansible-runner's",
        batch="values",
        seen=lambda f: "ansible_runner" in environment(f, "full")["ANSIBLE_CALLBACK_PLUGINS"],
    ),
    Row(
        id="playbook-env-retry-files",
        says="ANSIBLE_RETRY_FILES_ENABLED=False",
        batch="values",
        seen=lambda f: environment(f, "full")["ANSIBLE_RETRY_FILES_ENABLED"],
        expected="False",
    ),
    Row(
        id="playbook-env-host-keys",
        says="ANSIBLE_HOST_KEY_CHECKING as given",
        batch="values",
        seen=lambda f: environment(f, "full")["ANSIBLE_HOST_KEY_CHECKING"],
        expected="True",
    ),
    Row(
        id="playbook-env-host-keys-default",
        says="or False",
        batch="inputs",
        seen=lambda f: environment(f, "one")["ANSIBLE_HOST_KEY_CHECKING"],
        expected="False",
    ),
    Row(
        id="playbook-env-cache",
        says="facts are cached as JSON files of this very run",
        batch="values",
        seen=lambda f: (
            environment(f, "full")["ANSIBLE_CACHE_PLUGIN"],
            environment(f, "full")["ANSIBLE_CACHE_PLUGIN_CONNECTION"].endswith("/fact_cache"),
        ),
        expected=("jsonfile", True),
    ),
    Row(
        id="playbook-env-runner",
        says="AWX_ISOLATED_DATA_DIR, RUNNER_OMIT_EVENTS and RUNNER_ONLY_FAILED_EVENTS are set",
        batch="values",
        seen=lambda f: (
            {"AWX_ISOLATED_DATA_DIR", "RUNNER_OMIT_EVENTS", "RUNNER_ONLY_FAILED_EVENTS"}
            <= set(environment(f, "full"))
        ),
    ),
)

ROWS = (
    *COMMAND,
    *ENVIRONMENT,
)
