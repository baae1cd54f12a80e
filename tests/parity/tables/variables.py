"""The extra vars of a run."""

from __future__ import annotations

from typing import Any

from tests.parity.batches.values import SNAKE, SPEC
from tests.parity.rows import Facts, Row, inputs, values, within


def variables(facts: Facts, name: str) -> Any:
    return facts[name]["extravars"]


def whole(facts: Facts, kind: str) -> str:
    """The name of the variable that holds the whole object."""
    return f"_{facts['group']}_{kind}".replace(".", "_").replace("-", "_")


def unsafe(text: str) -> dict[str, str]:
    return {"__ansible_unsafe": text}


def _snakes(place: int, key: str) -> Row:
    return values(
        f"snake-case-{key}",
        f"{key} becomes {SNAKE[key]}",
        lambda f: list(variables(f, "full")["cases"][place]),
        [SNAKE[key]],
    )


SNAKE_CASE = tuple(_snakes(place, key) for place, key in enumerate(SNAKE))

VARIABLES = (
    values(
        "variables-spec",
        "spec keys are variables in snake case",
        lambda f: variables(f, "full")["foo_bar"],
        "camel",
    ),
    values(
        "variables-spec-recursive",
        "through maps and lists, values untouched",
        lambda f: variables(f, "full")["nested"],
        {"deep_key": [{"inner_key": 1}], "number_key": 1.5, "flag_key": True, "null_key": None},
    ),
    inputs(
        "variables-spec-verbatim",
        "verbatim when snakeCaseParameters is false",
        lambda f: variables(f, "verbatim")["fooBar"],
        "x",
    ),
    values(
        "variables-meta",
        "ansible_operator_meta is name and namespace",
        lambda f: variables(f, "full")["ansible_operator_meta"] == {"name": "full", "namespace": f["namespace"]},
    ),
    values(
        "variables-meta-wins",
        "whatever the spec says",
        lambda f: isinstance(variables(f, "full")["ansible_operator_meta"], dict),
    ),
    values(
        "variables-meta-alone",
        "and alone with the prefix of Ansible's own variables, but for ansible_operator_run, which is ours",
        lambda f: sorted(
            name for name in variables(f, "full") if name.startswith("ansible_") and name != "ansible_operator_run"
        ),
        ["ansible_operator_meta"],
    ),
    values(
        "variables-meta-cluster",
        "namespace is empty for a cluster-scoped CR",
        lambda f: variables(f, "realm")["ansible_operator_meta"]["namespace"],
        "",
    ),
    values(
        "variables-whole",
        "_<group>_<kind> is the whole object as it is",
        lambda f: variables(f, "full")[whole(f, "full")]["spec"] == SPEC,
    ),
    values(
        "variables-whole-name",
        "its name has no dots and dashes and is lower case",
        lambda f: any("values_parity_example_com_full" in name for name in variables(f, "full")),
    ),
    values(
        "variables-whole-managed-fields",
        "with its managed fields",
        lambda f: bool(variables(f, "full")[whole(f, "full")]["metadata"]["managedFields"]),
    ),
    values(
        "variables-whole-running",
        "and the Running condition just written",
        lambda f: within(
            {"type": "Running", "status": "True", "reason": "Running"},
            variables(f, "full")[whole(f, "full")]["status"]["conditions"][0],
        ),
    ),
    inputs(
        "variables-core",
        "a core kind's variable begins with two underscores",
        lambda f: variables(f, "secret")["__secret"]["kind"],
        "Secret",
    ),
    values(
        "variables-spec-original",
        "_<group>_<kind>_spec is the spec as it is",
        lambda f: variables(f, "full")[whole(f, "full") + "_spec"] == SPEC,
    ),
    values(
        "variables-spec-absent",
        "which is {} without a spec",
        lambda f: variables(f, "absent")[whole(f, "absent") + "_spec"],
        {},
    ),
    values(
        "variables-whole-absent",
        "a missing spec stays missing in the whole object",
        lambda f: "spec" in variables(f, "absent")[whole(f, "absent")],
        False,
    ),
    values(
        "variables-whole-absent-unmanaged",
        "but is {} there with manageStatus false",
        lambda f: variables(f, "verbatim")[whole(f, "verbatim")]["spec"],
        {},
    ),
    values(
        "variables-watch-vars",
        "the watch's vars win over the spec",
        lambda f: variables(f, "full")["overlaid"],
        "by the watch",
    ),
    values(
        "variables-watch-vars-jinja",
        "Jinja in them is rendered",
        lambda f: f["full"]["extra"]["meta"] == {"name": "full", "namespace": f["namespace"]},
    ),
    values(
        "variables-jinja",
        "Jinja in a CR is rendered without markUnsafe",
        lambda f: str(f["full"]["extra"]["text"]),
        "2",
    ),
    values("variables-unsafe", "and not with it", lambda f: f["unsafe"]["extra"]["text"], "{{ 1 + 1 }}"),
    values(
        "variables-unsafe-spec",
        "markUnsafe wraps each string of the spec",
        lambda f: variables(f, "unsafe")["foo_bar"],
        unsafe("camel"),
    ),
    values(
        "variables-unsafe-nested",
        "and nothing else: numbers, booleans, null and keys stay",
        lambda f: variables(f, "unsafe")["nested"],
        {"deep_key": [{"inner_key": 1}], "number_key": 1.5, "flag_key": True, "null_key": None},
    ),
    values(
        "variables-unsafe-whole",
        "also in the whole object",
        lambda f: variables(f, "unsafe")[whole(f, "unsafe")]["metadata"]["annotations"]["note"],
        unsafe("{{ 5 + 5 }}"),
    ),
    values(
        "variables-unsafe-original",
        "and in the original spec",
        lambda f: variables(f, "unsafe")[whole(f, "unsafe") + "_spec"]["matchLabels"],
        {"appName": unsafe("x")},
    ),
    values(
        "variables-unsafe-not-meta",
        "but not in ansible_operator_meta",
        lambda f: variables(f, "unsafe")["ansible_operator_meta"]["name"],
        "unsafe",
    ),
    values(
        "variables-unsafe-not-vars",
        "nor in the watch's vars",
        lambda f: variables(f, "unsafe")["plain"],
        "{{ 2 + 2 }}",
    ),
    values(
        "snake-case-map-keys",
        "keys of data maps are converted too",
        lambda f: variables(f, "full")["match_labels"],
        {"app_name": "x"},
    ),
    values(
        "snake-case-collision",
        "of two keys that meet, the one in snake form wins",
        lambda f: variables(f, "full")["pod_ips"],
        "from pod_ips",
        mended=True,
    ),
    inputs(
        "snake-case-empty",
        "an empty key passes through",
        lambda f: variables(f, "emptykey").get(""),
        "value",
        mended=True,
    ),
)

ROWS = (
    *VARIABLES,
    *SNAKE_CASE,
)
