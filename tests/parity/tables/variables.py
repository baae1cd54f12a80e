"""The extra vars of a run."""

from __future__ import annotations

from typing import Any

from tests.parity.batches.values import SNAKE, SPEC
from tests.parity.rows import Facts, Row, within


def variables(facts: Facts, name: str) -> Any:
    return facts[name]["extravars"]


def whole(facts: Facts, kind: str) -> str:
    """The name of the variable that holds the whole object."""
    return f"_{facts['group']}_{kind}".replace(".", "_").replace("-", "_")


def unsafe(text: str) -> dict[str, str]:
    return {"__ansible_unsafe": text}


def _snakes(place: int, key: str) -> Row:
    return Row(
        id=f"snake-case-{key}",
        says=f"{key} becomes {SNAKE[key]}",
        batch="values",
        seen=lambda f: list(variables(f, "full")["cases"][place]),
        expected=[SNAKE[key]],
    )


SNAKE_CASE = tuple(_snakes(place, key) for place, key in enumerate(SNAKE))

VARIABLES = (
    Row(
        id="variables-spec",
        says="spec keys are variables in snake case",
        batch="values",
        seen=lambda f: variables(f, "full")["foo_bar"],
        expected="camel",
    ),
    Row(
        id="variables-spec-recursive",
        says="through maps and lists, values untouched",
        batch="values",
        seen=lambda f: variables(f, "full")["nested"],
        expected={"deep_key": [{"inner_key": 1}], "number_key": 1.5, "flag_key": True, "null_key": None},
    ),
    Row(
        id="variables-spec-verbatim",
        says="verbatim when snakeCaseParameters is false",
        batch="inputs",
        seen=lambda f: variables(f, "verbatim")["fooBar"],
        expected="x",
    ),
    Row(
        id="variables-meta",
        says="ansible_operator_meta is name and namespace",
        batch="values",
        seen=lambda f: (
            variables(f, "full")["ansible_operator_meta"] == {"name": "full", "namespace": f["namespace"]}
        ),
    ),
    Row(
        id="variables-meta-wins",
        says="whatever the spec says",
        batch="values",
        seen=lambda f: isinstance(variables(f, "full")["ansible_operator_meta"], dict),
    ),
    Row(
        id="variables-meta-alone",
        says="and alone with the prefix of Ansible's own variables, but for ansible_operator_run, which is ours",
        batch="values",
        seen=lambda f: sorted(
            name for name in variables(f, "full") if name.startswith("ansible_") and name != "ansible_operator_run"
        ),
        expected=["ansible_operator_meta"],
    ),
    Row(
        id="variables-meta-cluster",
        says="namespace is empty for a cluster-scoped CR",
        batch="values",
        seen=lambda f: variables(f, "realm")["ansible_operator_meta"]["namespace"],
        expected="",
    ),
    Row(
        id="variables-whole",
        says="_<group>_<kind> is the whole object as it is",
        batch="values",
        seen=lambda f: variables(f, "full")[whole(f, "full")]["spec"] == SPEC,
    ),
    Row(
        id="variables-whole-name",
        says="its name has no dots and dashes and is lower case",
        batch="values",
        seen=lambda f: any("values_parity_example_com_full" in name for name in variables(f, "full")),
    ),
    Row(
        id="variables-whole-managed-fields",
        says="with its managed fields",
        batch="values",
        seen=lambda f: bool(variables(f, "full")[whole(f, "full")]["metadata"]["managedFields"]),
    ),
    Row(
        id="variables-whole-running",
        says="and the Running condition just written",
        batch="values",
        seen=lambda f: within(
            {"type": "Running", "status": "True", "reason": "Running"},
            variables(f, "full")[whole(f, "full")]["status"]["conditions"][0],
        ),
    ),
    Row(
        id="variables-core",
        says="a core kind's variable begins with two underscores",
        batch="inputs",
        seen=lambda f: variables(f, "secret")["__secret"]["kind"],
        expected="Secret",
    ),
    Row(
        id="variables-spec-original",
        says="_<group>_<kind>_spec is the spec as it is",
        batch="values",
        seen=lambda f: variables(f, "full")[whole(f, "full") + "_spec"] == SPEC,
    ),
    Row(
        id="variables-spec-absent",
        says="which is {} without a spec",
        batch="values",
        seen=lambda f: variables(f, "absent")[whole(f, "absent") + "_spec"],
        expected={},
    ),
    Row(
        id="variables-whole-absent",
        says="a missing spec stays missing in the whole object",
        batch="values",
        seen=lambda f: "spec" in variables(f, "absent")[whole(f, "absent")],
        expected=False,
    ),
    Row(
        id="variables-whole-absent-unmanaged",
        says="but is {} there with manageStatus false",
        batch="values",
        seen=lambda f: variables(f, "verbatim")[whole(f, "verbatim")]["spec"],
        expected={},
    ),
    Row(
        id="variables-watch-vars",
        says="the watch's vars win over the spec",
        batch="values",
        seen=lambda f: variables(f, "full")["overlaid"],
        expected="by the watch",
    ),
    Row(
        id="variables-watch-vars-jinja",
        says="Jinja in them is rendered",
        batch="values",
        seen=lambda f: f["full"]["extra"]["meta"] == {"name": "full", "namespace": f["namespace"]},
    ),
    Row(
        id="variables-jinja",
        says="Jinja in a CR is rendered without markUnsafe",
        batch="values",
        seen=lambda f: str(f["full"]["extra"]["text"]),
        expected="2",
    ),
    Row(
        id="variables-unsafe",
        says="and not with it",
        batch="values",
        seen=lambda f: f["unsafe"]["extra"]["text"],
        expected="{{ 1 + 1 }}",
    ),
    Row(
        id="variables-unsafe-spec",
        says="markUnsafe wraps each string of the spec",
        batch="values",
        seen=lambda f: variables(f, "unsafe")["foo_bar"],
        expected=unsafe("camel"),
    ),
    Row(
        id="variables-unsafe-nested",
        says="and nothing else: numbers, booleans, null and keys stay",
        batch="values",
        seen=lambda f: variables(f, "unsafe")["nested"],
        expected={"deep_key": [{"inner_key": 1}], "number_key": 1.5, "flag_key": True, "null_key": None},
    ),
    Row(
        id="variables-unsafe-whole",
        says="also in the whole object",
        batch="values",
        seen=lambda f: variables(f, "unsafe")[whole(f, "unsafe")]["metadata"]["annotations"]["note"],
        expected=unsafe("{{ 5 + 5 }}"),
    ),
    Row(
        id="variables-unsafe-original",
        says="and in the original spec",
        batch="values",
        seen=lambda f: variables(f, "unsafe")[whole(f, "unsafe") + "_spec"]["matchLabels"],
        expected={"appName": unsafe("x")},
    ),
    Row(
        id="variables-unsafe-not-meta",
        says="but not in ansible_operator_meta",
        batch="values",
        seen=lambda f: variables(f, "unsafe")["ansible_operator_meta"]["name"],
        expected="unsafe",
    ),
    Row(
        id="variables-unsafe-not-vars",
        says="nor in the watch's vars",
        batch="values",
        seen=lambda f: variables(f, "unsafe")["plain"],
        expected="{{ 2 + 2 }}",
    ),
    Row(
        id="snake-case-map-keys",
        says="keys of data maps are converted too",
        batch="values",
        seen=lambda f: variables(f, "full")["match_labels"],
        expected={"app_name": "x"},
    ),
    Row(
        id="snake-case-collision",
        says="of two keys that meet, the one in snake form wins",
        batch="values",
        seen=lambda f: variables(f, "full")["pod_ips"],
        expected="from pod_ips",
        mended=True,
    ),
    Row(
        id="snake-case-empty",
        says="an empty key passes through",
        batch="inputs",
        seen=lambda f: variables(f, "emptykey").get(""),
        expected="value",
        mended=True,
    ),
)

ROWS = (
    *VARIABLES,
    *SNAKE_CASE,
)
