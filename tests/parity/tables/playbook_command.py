"""The command that a run is, and its environment."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, in_order, inputs, values


def argv(facts: Facts, name: str) -> list[str]:
    return list(facts[f"{name} files"]["command"]["command"])


def verbosity(facts: Facts, name: str) -> list[str]:
    return [word for word in argv(facts, name) if word.startswith("-v")]


def environment(facts: Facts, name: str) -> Any:
    return facts[name]["environment"]


COMMAND = (
    values(
        "playbook-command-role-play",
        "a role runs by a play in <dir>/project",
        lambda f: argv(f, "full")[-1].startswith(f"{f['full']['directory']}/project/"),
    ),
    values(
        "playbook-command-playbook",
        "a playbook runs from where it is",
        lambda f: argv(f, "book")[-1] == f"{f['project']}/playbooks/book.yml",
    ),
    values(
        "playbook-command-playbook-dir",
        "playbook_dir is the original playbook's",
        lambda f: f["book"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks",
    ),
    values(
        "playbook-command-playbook-dir-role",
        "or <dir>/project for a role",
        lambda f: f["full"]["extra"]["playbook_dir"] == f"{f['full']['directory']}/project",
    ),
    values(
        "playbook-command-program",
        "ansible-playbook is what runs",
        lambda f: argv(f, "full")[0].rpartition("/")[2],
        "ansible-playbook",
    ),
    values(
        "playbook-command-inventory",
        "-i <dir>/inventory",
        lambda f: in_order(["-i", f"{f['full']['directory']}/inventory"], argv(f, "full")),
    ),
    values(
        "playbook-command-extravars",
        "-e @<dir>/env/extravars",
        lambda f: in_order(["-e", f"@{f['full']['directory']}/env/extravars"], argv(f, "full")),
    ),
    values(
        "playbook-command-cwd",
        "the working directory is <dir>/project",
        lambda f: f["full"]["cwd"] == f"{f['full']['directory']}/project",
    ),
    values(
        "playbook-command-args",
        "ansible-args are shell-split, their outer quotes removed",
        lambda f: in_order(["--tags", "all", "-e", "overlaid=args"], argv(f, "full")),
    ),
    values(
        "playbook-command-args-first",
        "and come before -e @extravars",
        lambda f: in_order(["overlaid=args", f"@{f['full']['directory']}/env/extravars"], argv(f, "full")),
    ),
    values(
        "playbook-command-args-in-effect", "so their own -e is there", lambda f: "only=args" in argv(f, "full")
    ),
    values(
        "playbook-command-verbosity-kind",
        "ANSIBLE_VERBOSITY_<KIND>_<GROUP> is the kind's verbosity",
        lambda f: verbosity(f, "full"),
        ["-vvv"],
    ),
    values("playbook-command-verbosity-zero", "0: no -v", lambda f: verbosity(f, "coerced"), []),
    values("playbook-command-verbosity-range", "above 7: the flag's", lambda f: verbosity(f, "unsafe"), ["-v"]),
    values("playbook-command-verbosity-flag", "otherwise the flag's", lambda f: verbosity(f, "book"), ["-v"]),
    inputs(
        "playbook-command-verbosity-default",
        "which is 2",
        lambda f: [word for word in f["one files"]["command"]["command"] if word.startswith("-v")],
        ["-vv"],
    ),
    values(
        "playbook-command-verbosity-annotation",
        "the CR's annotation goes first",
        lambda f: verbosity(f, "noisy"),
        ["-vvvvv"],
    ),
    values(
        "playbook-command-verbosity-unparsable",
        "an unparsable one is ignored",
        lambda f: verbosity(f, "odd"),
        ["-vvv"],
    ),
    values(
        "playbook-command-skip-facts",
        "ANSIBLE_GATHERING=explicit: a role's play gathers no facts",
        lambda f: f["full"]["extra"]["facts"],
        0,
    ),
    inputs("playbook-command-facts", "otherwise it does", lambda f: f["one"]["extra"]["facts"] > 0),
)

ENVIRONMENT = (
    values(
        "playbook-env-kubeconfig",
        "KUBECONFIG and K8S_AUTH_KUBECONFIG are the run's own",
        lambda f: environment(f, "full")["KUBECONFIG"] == environment(f, "full")["K8S_AUTH_KUBECONFIG"],
    ),
    values(
        "playbook-env-inherited",
        "the operator's environment is inherited",
        lambda f: environment(f, "full")["RELATED_IMAGE_X"],
        "inherited",
    ),
    values(
        "playbook-env-roles-path",
        "ANSIBLE_ROLES_PATH begins with the role's parent directory",
        lambda f: environment(f, "full")["ANSIBLE_ROLES_PATH"].split(":")[0] == f"{f['project']}/roles/",
    ),
    values(
        "playbook-env-roles-path-kept",
        "and what it was is kept after that",
        lambda f: (
            environment(f, "full")["ANSIBLE_ROLES_PATH"].split(":")[1:]
            == [f"{f['project']}/elsewhere", f"{f['project']}/more"]
        ),
        mended=True,
    ),
    values(
        "playbook-env-roles-path-playbook",
        "a playbook gets the inherited one",
        lambda f: environment(f, "book")["ANSIBLE_ROLES_PATH"] == f"{f['project']}/elsewhere:{f['project']}/more",
    ),
    values(
        "playbook-env-callback",
        "ANSIBLE_STDOUT_CALLBACK=awx_display, the previous value kept",
        lambda f: (
            environment(f, "full")["ANSIBLE_STDOUT_CALLBACK"],
            environment(f, "full")["ORIGINAL_STDOUT_CALLBACK"],
        ),
        ("awx_display", "default"),
    ),
    values(
        "playbook-env-callback-plugins",
        "ANSIBLE_CALLBACK_PLUGINS names ansible-runner's",
        lambda f: "ansible_runner" in environment(f, "full")["ANSIBLE_CALLBACK_PLUGINS"],
    ),
    values(
        "playbook-env-retry-files",
        "ANSIBLE_RETRY_FILES_ENABLED=False",
        lambda f: environment(f, "full")["ANSIBLE_RETRY_FILES_ENABLED"],
        "False",
    ),
    values(
        "playbook-env-host-keys",
        "ANSIBLE_HOST_KEY_CHECKING as given",
        lambda f: environment(f, "full")["ANSIBLE_HOST_KEY_CHECKING"],
        "True",
    ),
    inputs(
        "playbook-env-host-keys-default",
        "or False",
        lambda f: environment(f, "one")["ANSIBLE_HOST_KEY_CHECKING"],
        "False",
    ),
    values(
        "playbook-env-cache",
        "facts are cached as JSON files of this very run",
        lambda f: (
            environment(f, "full")["ANSIBLE_CACHE_PLUGIN"],
            environment(f, "full")["ANSIBLE_CACHE_PLUGIN_CONNECTION"].endswith("/fact_cache"),
        ),
        ("jsonfile", True),
    ),
    values(
        "playbook-env-runner",
        "AWX_ISOLATED_DATA_DIR, RUNNER_OMIT_EVENTS and RUNNER_ONLY_FAILED_EVENTS are set",
        lambda f: (
            {"AWX_ISOLATED_DATA_DIR", "RUNNER_OMIT_EVENTS", "RUNNER_ONLY_FAILED_EVENTS"}
            <= set(environment(f, "full"))
        ),
    ),
)

ROWS = (
    *COMMAND,
    *ENVIRONMENT,
)
