"""3. What one run gets."""

# fmt: off

from __future__ import annotations

import json
from typing import Any

from tests.parity.batches.values import SNAKE, SPEC
from tests.parity.rows import Facts, Row, in_order, within


def variables(facts: Facts, name: str) -> Any:
    return facts[name]["extravars"]


def whole(facts: Facts, kind: str) -> str:
    """The name of the variable that holds the whole object."""
    return f"_{facts['group']}_{kind}".replace(".", "_").replace("-", "_")


def argv(facts: Facts, name: str) -> list[str]:
    return list(facts[f"{name} files"]["command"]["command"])


def environment(facts: Facts, name: str) -> Any:
    return facts[name]["environment"]


def unsafe(text: str) -> dict[str, str]:
    return {"__ansible_unsafe": text}


def verbosity(facts: Facts, name: str) -> list[str]:
    return [word for word in argv(facts, name) if word.startswith("-v")]


def _snakes(place: int, key: str) -> Row:
    return Row(f"3.4-{key}", f"{key} becomes {SNAKE[key]}", "values", lambda f: list(variables(f, "full")["cases"][place]), [SNAKE[key]])


SNAKE_CASE = tuple(_snakes(place, key) for place, key in enumerate(SNAKE))

FILES = (
    Row("3.1-directory", "<runner>/<group>/<version>/<Kind>/<namespace>/<name>", "values", lambda f: f["full"]["directory"].removeprefix("/tmp/ansible-operator/runner/") == f"{f['group']}/v1/Full/{f['namespace']}/full"),
    Row("3.1-directory-cluster", "no namespace segment for a cluster-scoped CR", "values", lambda f: f["realm"]["directory"].endswith(f"/{f['group']}/v1/Realm/realm-{f['suffix']}")),
    Row("3.1-ident", "the run's ident is a decimal integer below 2^63", "values", lambda f: 0 <= int(f["full files"]["target"].rpartition("/")[2]) < 2**63),
    Row("3.1-modes", "directories 0777&umask, files 0644", reason="private by design: docs/decisions, tests/unit/execute/test_rundir.py"),
    Row("3.1-kept", "the directory survives the CR", reason="mended on purpose: removed with the CR, tests/robustness/test_operator_kills.py"),
    Row("3.2-envvars", "env/envvars names the kubeconfig twice", "values", lambda f: within(dict.fromkeys(("K8S_AUTH_KUBECONFIG", "KUBECONFIG"), environment(f, "full")["KUBECONFIG"]), json.loads(f["full"]["files"]["env/envvars"]))),
    Row("3.2-compact", "the JSON files are compact, their keys sorted", "values", lambda f: f["full"]["files"]["env/envvars"] == json.dumps(json.loads(f["full"]["files"]["env/envvars"]), separators=(",", ":"), sort_keys=True)),
    Row("3.2-kubeconfig-mode", "the kubeconfig has mode 0600", "values", lambda f: f["full"]["kubeconfig_mode"], "0o600"),
    Row("3.2-kubeconfig-removed", "the kubeconfig is deleted after the run", "values", lambda f: f["full files"]["kubeconfigs"], []),
    Row("3.2-kubeconfig-place", "kubeconfig<digits> in the temporary directory", reason="it is in the private run directory here, so that nobody can name it first"),
    Row("3.2-extravars", "env/extravars is the run's extra vars", "values", lambda f: "overlaid" in f["full"]["files"]["env/extravars"]),
    Row("3.2-settings", "env/settings names the event socket", reason="how the Go operator gets its events; no content reads it"),
    Row("3.2-cmdline", "env/cmdline holds ansible-args without the outer quotes", "values", lambda f: f["full"]["files"]["env/cmdline"], "--tags all -e overlaid=args -e only=args"),
    Row("3.2-no-cmdline", "no env/cmdline without ansible-args", "inputs", lambda f: "env/cmdline" in f["one"]["files"], False),
    Row("3.2-inventory", "the generated inventory is one line", "values", lambda f: f["full"]["files"]["inventory/hosts"], "localhost ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}"),
    Row("3.2-inventory-venv", "VIRTUAL_ENV is the interpreter in it", "inputs", lambda f: f["venv run"]["files"]["inventory/hosts"] == f"localhost ansible_connection=local ansible_python_interpreter={f['venv']}/bin/python3"),
    Row("3.2-inventory-file", "ANSIBLE_INVENTORY as a file is copied to inventory/hosts", "inputs", lambda f: f["one"]["files"]["inventory/hosts"].startswith("localhost marker=file")),
    Row("3.2-inventory-directory", "as a directory it is copied into inventory/", "inputs", lambda f: {name for name in f["directory run"]["files"] if name.startswith("inventory/")}, {"inventory/hosts.ini", "inventory/group_vars/all.yml"}),
    Row("3.2-inventory-missing", "not an existing path: Unable to run reconciliation", "inputs", lambda f: f["failure"]["message"].startswith("Unable to run reconciliation")),
    Row("3.2-playbook-copy", "project/playbook.yaml is a copy of the playbook", "values", lambda f: "hosts: localhost" in f["book"]["files"]["project/playbook.yaml"]),
    Row("3.2-role-play", "project/<32 hex> is the play of a role", "values", lambda f: [text for name, text in f["full"]["files"].items() if name.startswith("project/") and len(name) == 40], ['[{"hosts": "localhost", "gather_facts": false, "roles": [{"name": "tell"}]}]']),
    Row("3.2-role-play-removed", "which is removed after the run", "values", lambda f: f["full files"]["project"], []),
    Row("3.2-artifacts", "artifacts/<ident> has ansible-runner's files", "values", lambda f: {"command", "stdout", "stderr", "rc", "status", "job_events", "fact_cache"} - set(f["full files"]["names"]), set()),
    Row("3.2-latest", "artifacts/latest is an absolute link to the last run", "values", lambda f: f["full files"]["link"] and f["full files"]["target"].startswith(f"{f['full']['directory']}/artifacts/")),
    Row("3.2-stdout", "latest/stdout holds the run's output", "values", lambda f: "PLAY RECAP" in f["full files"]["stdout"]),
)

VARIABLES = (
    Row("3.3-spec", "spec keys are variables in snake case", "values", lambda f: variables(f, "full")["foo_bar"], "camel"),
    Row("3.3-spec-recursive", "through maps and lists, values untouched", "values", lambda f: variables(f, "full")["nested"], {"deep_key": [{"inner_key": 1}], "number_key": 1.5, "flag_key": True, "null_key": None}),
    Row("3.3-spec-verbatim", "verbatim when snakeCaseParameters is false", "inputs", lambda f: variables(f, "verbatim")["fooBar"], "x"),
    Row("3.3-meta", "ansible_operator_meta is name and namespace", "values", lambda f: variables(f, "full")["ansible_operator_meta"] == {"name": "full", "namespace": f["namespace"]}),
    Row("3.3-meta-wins", "whatever the spec says", "values", lambda f: isinstance(variables(f, "full")["ansible_operator_meta"], dict)),
    Row("3.3-meta-cluster", "namespace is empty for a cluster-scoped CR", "values", lambda f: variables(f, "realm")["ansible_operator_meta"]["namespace"], ""),
    Row("3.3-whole", "_<group>_<kind> is the whole object as it is", "values", lambda f: variables(f, "full")[whole(f, "full")]["spec"] == SPEC),
    Row("3.3-whole-name", "its name has no dots and dashes and is lower case", "values", lambda f: any("values_parity_example_com_full" in name for name in variables(f, "full"))),
    Row("3.3-whole-managed-fields", "with its managed fields", "values", lambda f: bool(variables(f, "full")[whole(f, "full")]["metadata"]["managedFields"])),
    Row("3.3-whole-running", "and the Running condition just written", "values", lambda f: within({"type": "Running", "status": "True", "reason": "Running"}, variables(f, "full")[whole(f, "full")]["status"]["conditions"][0])),
    Row("3.3-core", "a core kind's variable begins with two underscores", "inputs", lambda f: variables(f, "secret")["__secret"]["kind"], "Secret"),
    Row("3.3-spec-original", "_<group>_<kind>_spec is the spec as it is", "values", lambda f: variables(f, "full")[whole(f, "full") + "_spec"] == SPEC),
    Row("3.3-spec-absent", "which is {} without a spec", "values", lambda f: variables(f, "absent")[whole(f, "absent") + "_spec"], {}),
    Row("3.3-whole-absent", "a missing spec stays missing in the whole object", "values", lambda f: "spec" in variables(f, "absent")[whole(f, "absent")], False),
    Row("3.3-whole-absent-unmanaged", "but is {} there with manageStatus false", "values", lambda f: variables(f, "verbatim")[whole(f, "verbatim")]["spec"], {}),
    Row("3.3-watch-vars", "the watch's vars win over the spec", "values", lambda f: variables(f, "full")["overlaid"], "by the watch"),
    Row("3.3-watch-vars-jinja", "Jinja in them is rendered", "values", lambda f: f["full"]["extra"]["meta"] == {"name": "full", "namespace": f["namespace"]}),
    Row("3.3-jinja", "Jinja in a CR is rendered without markUnsafe", "values", lambda f: str(f["full"]["extra"]["text"]), "2"),
    Row("3.3-unsafe", "and not with it", "values", lambda f: f["unsafe"]["extra"]["text"], "{{ 1 + 1 }}"),
    Row("3.3-unsafe-spec", "markUnsafe wraps each string of the spec", "values", lambda f: variables(f, "unsafe")["foo_bar"], unsafe("camel")),
    Row("3.3-unsafe-nested", "and nothing else: numbers, booleans, null and keys stay", "values", lambda f: variables(f, "unsafe")["nested"], {"deep_key": [{"inner_key": 1}], "number_key": 1.5, "flag_key": True, "null_key": None}),
    Row("3.3-unsafe-whole", "also in the whole object", "values", lambda f: variables(f, "unsafe")[whole(f, "unsafe")]["metadata"]["annotations"]["note"], unsafe("{{ 5 + 5 }}")),
    Row("3.3-unsafe-original", "and in the original spec", "values", lambda f: variables(f, "unsafe")[whole(f, "unsafe") + "_spec"]["matchLabels"], {"appName": unsafe("x")}),
    Row("3.3-unsafe-not-meta", "but not in ansible_operator_meta", "values", lambda f: variables(f, "unsafe")["ansible_operator_meta"]["name"], "unsafe"),
    Row("3.3-unsafe-not-vars", "nor in the watch's vars", "values", lambda f: variables(f, "unsafe")["plain"], "{{ 2 + 2 }}"),
    Row("3.4-map-keys", "keys of data maps are converted too", "values", lambda f: variables(f, "full")["match_labels"], {"app_name": "x"}),
    Row("3.4-collision", "of two keys that meet, the one in snake form wins", "values", lambda f: variables(f, "full")["pod_ips"], "from pod_ips", mended=True),
    Row("3.4-empty", "an empty key passes through", "inputs", lambda f: variables(f, "emptykey").get(""), "value", mended=True),
)

COMMAND = (
    Row("3.5-role-play", "a role runs by a play in <dir>/project", "values", lambda f: argv(f, "full")[-1].startswith(f"{f['full']['directory']}/project/")),
    Row("3.5-playbook", "a playbook runs from where it is", "values", lambda f: argv(f, "book")[-1] == f"{f['project']}/playbooks/book.yml"),
    Row("3.5-playbook-dir", "playbook_dir is the original playbook's", "values", lambda f: f["book"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks"),
    Row("3.5-playbook-dir-role", "or <dir>/project for a role", "values", lambda f: f["full"]["extra"]["playbook_dir"] == f"{f['full']['directory']}/project"),
    Row("3.5-program", "ansible-playbook is what runs", "values", lambda f: argv(f, "full")[0].rpartition("/")[2], "ansible-playbook"),
    Row("3.5-inventory", "-i <dir>/inventory", "values", lambda f: in_order(["-i", f"{f['full']['directory']}/inventory"], argv(f, "full"))),
    Row("3.5-extravars", "-e @<dir>/env/extravars", "values", lambda f: in_order(["-e", f"@{f['full']['directory']}/env/extravars"], argv(f, "full"))),
    Row("3.5-cwd", "the working directory is <dir>/project", "values", lambda f: f["full"]["cwd"] == f"{f['full']['directory']}/project"),
    Row("3.5-args", "ansible-args are shell-split, their outer quotes removed", "values", lambda f: in_order(["--tags", "all", "-e", "overlaid=args"], argv(f, "full"))),
    Row("3.5-args-first", "and come before -e @extravars", "values", lambda f: in_order(["overlaid=args", f"@{f['full']['directory']}/env/extravars"], argv(f, "full"))),
    Row("3.5-args-in-effect", "so their own -e is there", "values", lambda f: "only=args" in argv(f, "full")),
    Row("3.5-verbosity-kind", "ANSIBLE_VERBOSITY_<KIND>_<GROUP> is the kind's verbosity", "values", lambda f: verbosity(f, "full"), ["-vvv"]),
    Row("3.5-verbosity-zero", "0: no -v", "values", lambda f: verbosity(f, "coerced"), []),
    Row("3.5-verbosity-range", "above 7: the flag's", "values", lambda f: verbosity(f, "unsafe"), ["-v"]),
    Row("3.5-verbosity-flag", "otherwise the flag's", "values", lambda f: verbosity(f, "book"), ["-v"]),
    Row("3.5-verbosity-default", "which is 2", "inputs", lambda f: [word for word in f["one files"]["command"]["command"] if word.startswith("-v")], ["-vv"]),
    Row("3.5-verbosity-annotation", "the CR's annotation goes first", "values", lambda f: verbosity(f, "noisy"), ["-vvvvv"]),
    Row("3.5-verbosity-unparsable", "an unparsable one is ignored", "values", lambda f: verbosity(f, "odd"), ["-vvv"]),
    Row("3.5-skip-facts", "ANSIBLE_GATHERING=explicit: a role's play gathers no facts", "values", lambda f: f["full"]["extra"]["facts"], 0),
    Row("3.5-facts", "otherwise it does", "inputs", lambda f: f["one"]["extra"]["facts"] > 0),
)

ENVIRONMENT = (
    Row("3.6-kubeconfig", "KUBECONFIG and K8S_AUTH_KUBECONFIG are the run's own", "values", lambda f: environment(f, "full")["KUBECONFIG"] == environment(f, "full")["K8S_AUTH_KUBECONFIG"]),
    Row("3.6-inherited", "the operator's environment is inherited", "values", lambda f: environment(f, "full")["RELATED_IMAGE_X"], "inherited"),
    Row("3.6-roles-path", "ANSIBLE_ROLES_PATH begins with the role's parent directory", "values", lambda f: environment(f, "full")["ANSIBLE_ROLES_PATH"].split(":")[0] == f"{f['project']}/roles/"),
    Row("3.6-roles-path-kept", "and what it was is kept after that", "values", lambda f: environment(f, "full")["ANSIBLE_ROLES_PATH"].split(":")[1:] == [f"{f['project']}/elsewhere", f"{f['project']}/more"], mended=True),
    Row("3.6-roles-path-playbook", "a playbook gets the inherited one", "values", lambda f: environment(f, "book")["ANSIBLE_ROLES_PATH"] == f"{f['project']}/elsewhere:{f['project']}/more"),
    Row("3.6-callback", "ANSIBLE_STDOUT_CALLBACK=awx_display, the previous value kept", "values", lambda f: (environment(f, "full")["ANSIBLE_STDOUT_CALLBACK"], environment(f, "full")["ORIGINAL_STDOUT_CALLBACK"]), ("awx_display", "default")),
    Row("3.6-callback-plugins", "ANSIBLE_CALLBACK_PLUGINS names ansible-runner's", "values", lambda f: "ansible_runner" in environment(f, "full")["ANSIBLE_CALLBACK_PLUGINS"]),
    Row("3.6-retry-files", "ANSIBLE_RETRY_FILES_ENABLED=False", "values", lambda f: environment(f, "full")["ANSIBLE_RETRY_FILES_ENABLED"], "False"),
    Row("3.6-host-keys", "ANSIBLE_HOST_KEY_CHECKING as given", "values", lambda f: environment(f, "full")["ANSIBLE_HOST_KEY_CHECKING"], "True"),
    Row("3.6-host-keys-default", "or False", "inputs", lambda f: environment(f, "one")["ANSIBLE_HOST_KEY_CHECKING"], "False"),
    Row("3.6-cache", "facts are cached as JSON files of this very run", "values", lambda f: (environment(f, "full")["ANSIBLE_CACHE_PLUGIN"], environment(f, "full")["ANSIBLE_CACHE_PLUGIN_CONNECTION"].endswith("/fact_cache")), ("jsonfile", True)),
    Row("3.6-runner", "AWX_ISOLATED_DATA_DIR, RUNNER_OMIT_EVENTS and RUNNER_ONLY_FAILED_EVENTS are set", "values", lambda f: {"AWX_ISOLATED_DATA_DIR", "RUNNER_OMIT_EVENTS", "RUNNER_ONLY_FAILED_EVENTS"} <= set(environment(f, "full"))),
)

ROTATION = (
    Row("3.7-three", "maxRunnerArtifacts: N keeps N runs", "rotation", lambda f: f["three"], 3, mended=True),
    Row("3.7-one", "1 keeps one", "rotation", lambda f: f["one"], 1, mended=True),
    Row("3.7-one-runs", "and breaks no run", "rotation", lambda f: f["one runs"], 4, mended=True),
    Row("3.7-two", "2 keeps two", "rotation", lambda f: f["two"], 2, mended=True),
    Row("3.7-two-runs", "and breaks no run", "rotation", lambda f: f["two runs"], 4, mended=True),
    Row("3.7-latest", "latest is not one of them and stays", "rotation", lambda f: f["one latest"] and f["two latest"] and f["three latest"]),
    Row("3.7-every", "the annotation 0 keeps all (here up to --max-runner-artifacts-limit)", "rotation", lambda f: f["every"], 4),
    Row("3.7-all", "a negative maxRunnerArtifacts keeps all", "rotation", lambda f: f["all"], 4),
    Row("3.7-default", "0 and nothing mean 20", reason="twenty runs take too long here: tests/unit/config/test_watchesfile.py"),
)

SECTION_3 = (*FILES, *VARIABLES, *SNAKE_CASE, *COMMAND, *ENVIRONMENT, *ROTATION)
