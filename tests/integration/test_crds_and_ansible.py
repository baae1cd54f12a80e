"""What a generated CRD accepts and what Ansible's own validator of argument specs accepts are the same.

But where Ansible guesses: the CRD may be stricter with values that Ansible would turn into others.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from kubernetes import config

from bench.observer import wait_for
from runner.config.watches import Definition
from runner.dev.controlplane import ControlPlane
from runner.execute.variables import to_snake
from runner.generate.crd.definition import Version, custom_resource_definition, version_entry
from runner.generate.crd.names import field_name
from runner.generate.crd.options import Options, read_options
from runner.generate.crd.schema import Maker
from runner.objects import GroupVersionKind
from tests.fixtures.operators import PATIENCE

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]
NAMES = ["size", "image", "http_port", "namespace", "in", "a_b_c", "base_url", "dns_name", "v", "x_1"]
TEXTS = ["", "a", "b", "yes", "1", "0.5", "a,b", "k=v", "{}", "true", "ü"]
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "str": st.sampled_from(TEXTS),
    "path": st.sampled_from(["/tmp", "a/b", ""]),
    "int": st.integers(-3, 3) | st.just(2**40),
    "float": st.integers(-2, 2) | st.sampled_from([0.5, -1.25, 1e20]),
    "bool": st.booleans(),
    "bytes": st.sampled_from([0, 1024, "1", "10K", "1.5 MB", "3kilobyte", "2b"]),
    "bits": st.sampled_from([0, 7, "1Mb", "2megabit", "4G"]),
    "json": st.sampled_from(["{}", "[1]", "x"]),
}
ANY = st.recursive(
    st.sampled_from([*TEXTS, 0, 1, -7, 0.5, True, False]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["k", "v"]), inner, max_size=2),
    max_leaves=4,
)
GUESSED = ("bytes", "bits", "json")
"""Types whose values Ansible always turns into others."""


@st.composite
def specs(draw: st.DrawFn, depth: int = 2) -> Raw:
    """The options of one level, with rules between them: what a dict of options has."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    options = {name: draw(options_of(depth)) for name in names}
    return {"type": "dict", "options": options, **draw(rules(options))}


@st.composite
def options_of(draw: st.DrawFn, depth: int) -> Raw:
    kind = draw(st.sampled_from([*SCALARS, "raw", "dict", "list", *(["options", "items"] * 2 if depth else [])]))
    if kind in ("options", "items"):
        inner = draw(specs(depth - 1))
        if kind == "items":
            return {**inner, "type": "list", "elements": "dict", "required": draw(st.booleans())}
        return {**inner, **draw(st.sampled_from([{}, {"required": True}, {"apply_defaults": True}]))}
    option: Raw = {"type": kind}
    if kind == "list":
        option["elements"] = draw(st.sampled_from([*SCALARS, "dict", "raw"]))
    item = option.get("elements", kind)
    if item in SCALARS and item not in GUESSED and draw(st.booleans()):
        option["choices"] = draw(st.lists(SCALARS[item], min_size=1, max_size=3, unique=True))
    match draw(st.sampled_from(["required", "default", ""])):
        case "required":
            option["required"] = True
        case "default" if kind in SCALARS and kind not in GUESSED:
            option["default"] = draw(st.sampled_from(option.get("choices") or [draw(SCALARS[kind])]))
    return option


@st.composite
def rules(draw: st.DrawFn, options: Raw) -> Raw:
    """Rules between options."""
    names = list(options)
    if len(names) < 2 or draw(st.booleans()):
        return {}
    group = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    keys = [name for name in names if options[name]["type"] in ("str", "int", "bool", "float")]
    kind = draw(
        st.sampled_from(["mutually_exclusive", "required_together", "required_one_of", "required_by", "if"])
    )
    if kind == "required_by":
        return {kind: {draw(st.sampled_from(names)): draw(group)}}
    if kind != "if":
        return {kind: draw(st.lists(group, min_size=1, max_size=2))}
    if not keys:
        return {}
    key = draw(st.sampled_from(keys))
    value = draw(st.sampled_from(options[key].get("choices") or [draw(SCALARS[options[key]["type"]])]))
    return {"required_if": [[key, value, draw(group), draw(st.booleans())]]}


@st.composite
def values(draw: st.DrawFn, spec: Raw) -> Any:
    """A value for a dict of options; mostly a good one."""
    if draw(st.integers(0, 40)) == 0:
        return draw(ANY)
    options = spec["options"]
    found = {}
    for name, option in options.items():
        if draw(st.integers(0, 9)) < (9 if option.get("required") else 5):
            found[name] = draw(value_of(option))
    if draw(st.integers(0, 40)) == 0:
        found["stranger"] = 1
    return found


@st.composite
def value_of(draw: st.DrawFn, option: Raw) -> Any:
    if draw(st.integers(0, 15)) == 0:
        return draw(ANY)
    kind = option["type"]
    if kind == "list":
        item = {**option, "type": option["elements"]}
        return draw(st.lists(value_of(item), max_size=2))
    if "options" in option:
        return draw(values(option))
    if option.get("choices") and draw(st.integers(0, 9)):
        return draw(st.sampled_from(option["choices"]))
    if kind == "dict":
        return draw(st.dictionaries(st.sampled_from(["k", "some_key"]), st.integers(), max_size=2))
    return draw(SCALARS.get(kind, ANY))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Raw, list[Any]]:
    spec = draw(specs())
    return spec, draw(st.lists(values(spec), min_size=12, max_size=12))


class Api:
    """The API server, over one connection: a thousand objects are to take seconds."""

    def __init__(self, kubeconfig: Path) -> None:
        client = config.new_client_from_config(config_file=str(kubeconfig))
        self._host = client.configuration.host
        self._pool = client.rest_client.pool_manager

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        payload = None if body is None else json.dumps(body)
        answer = self._pool.request(
            method, self._host + path, body=payload, headers={"Content-Type": "application/json"}
        )
        return answer.status, json.loads(answer.data) if answer.data.startswith(b"{") else {}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    return Api(control_plane.kubeconfig)


@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
)
@given(drawn=st.lists(cases(), min_size=20, max_size=20))
def test_the_crd_accepts_what_ansible_accepts(api: Api, drawn: list[tuple[Raw, list[Any]]]) -> None:
    raw = readable({f"s{index}": spec for index, (spec, _) in enumerate(drawn)})
    kind = Kind(api, raw)
    try:
        wrong = [
            line
            for name, spec in raw.items()
            for value in drawn[int(name[1:])][1]
            for line in disagreements(kind, name, spec, value)
        ]
    finally:
        kind.delete()
    assert "\n".join(wrong[:3]) == ""


def readable(raw: Raw) -> Raw:
    """The specs that Ansible itself can use: one that makes no sense is told, and makes no CRD."""
    mistakes: set[str] = set()
    read_options(raw, lambda path, _: mistakes.add(path[0]))
    return {name: spec for name, spec in raw.items() if name not in mistakes}


class Kind:
    """A custom resource's kind, made of argument specs."""

    def __init__(self, api: Api, raw: Raw) -> None:
        self._api = api
        name = f"Spec{uuid.uuid4().hex[:8]}"
        told: list[str] = []
        maker = Maker(True, lambda path, text: told.append(f"{path}: {text}"), lambda *_: None)
        schema = maker.of(Options(read_options(raw, lambda path, text: told.append(f"{path}: {text}"))))
        assert told == []
        gvk = GroupVersionKind("specs.example.com", "v1", name)
        version = version_entry(
            Version("v1", schema, (), Definition()), stored=True, unknown=lambda *said: told.extend(said)
        )
        self.crd = custom_resource_definition(gvk, Definition(), [version])
        self._api_version, self._kind = "specs.example.com/v1", name
        self._path = f"/apis/specs.example.com/v1/namespaces/default/{name.lower()}s"
        status, answer = api.call(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict", self.crd
        )
        assert status == 201, f"{answer.get('message')} {raw}"
        wait_for("the kind to be served", lambda: api.call("GET", self._path)[0] == 200, seconds=PATIENCE)

    def create(self, spec: Any) -> tuple[Any, str]:
        """What would be stored of such a spec, or why it is refused."""
        body = {
            "apiVersion": self._api_version,
            "kind": self._kind,
            "metadata": {"name": "x"},
            "spec": spec,
        }
        status, answer = self._api.call("POST", f"{self._path}?dryRun=All&fieldValidation=Strict", body)
        return (answer["spec"], "") if status == 201 else (None, str(answer.get("message")))

    def delete(self) -> None:
        name = self.crd["metadata"]["name"]
        self._api.call("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")


def disagreements(kind: Kind, name: str, spec: Raw, value: Any) -> Iterator[str]:
    stored, refusal = kind.create({name: as_fields(spec, value)})
    errors, kept = by_ansible(name, spec, value)
    told = json.dumps({"value": value, "refusal": refusal, "ansible": errors, "spec": spec}, ensure_ascii=False)
    if refusal and not errors and kept:
        yield f"Ansible accepts it, and the CRD does not: {told}"
    if errors and not refusal:
        yield f"the CRD accepts it, and Ansible does not: {told}"
    if stored is not None and (errors := by_ansible(name, spec, as_variables(stored[name]))[0]):
        yield f"Ansible refuses what is stored: {errors} {stored} {told}"


def by_ansible(name: str, spec: Raw, value: Any) -> tuple[list[str], bool]:
    """What Ansible finds wrong, and whether it takes the value as it is."""
    try:
        result = ArgumentSpecValidator({name: spec}).validate({name: copy.deepcopy(value)})
    except (TypeError, ValueError, AttributeError) as error:  # it looks into values before it has checked them
        return [repr(error)], False
    return result.error_messages, is_kept(value, result.validated_parameters.get(name))


def is_kept(given_value: Any, taken: Any) -> bool:
    if isinstance(given_value, Mapping):
        return isinstance(taken, Mapping) and all(
            is_kept(item, taken.get(key)) for key, item in given_value.items()
        )
    if isinstance(given_value, list):
        return isinstance(taken, list) and all(map(is_kept, given_value, taken))
    if isinstance(given_value, int) and isinstance(taken, float):
        return given_value == taken and not isinstance(given_value, bool)
    return type(given_value) is type(taken) and given_value == taken


def as_fields(spec: Raw, value: Any) -> Any:
    """The value with its keys as fields, where the spec names them."""
    if isinstance(value, list):
        return [as_fields(spec, item) for item in value]
    if not isinstance(value, dict):
        return value
    options = spec.get("options") or {}
    return {
        field_name(key, snake_case=True) if key in options else key: as_fields(options.get(key, {}), item)
        for key, item in value.items()
    }


def as_variables(value: Any) -> Any:
    if isinstance(value, list):
        return [as_variables(item) for item in value]
    return {to_snake(key): as_variables(item) for key, item in value.items()} if isinstance(value, dict) else value


INNER = {"v": {"type": "int"}}
STRICTER: dict[str, tuple[Raw, Any]] = {
    "a number as text": ({"type": "int"}, "3"),
    "text as a number": ({"type": "str"}, 3),
    "a truth as text": ({"type": "bool"}, "yes"),
    "a list as text": ({"type": "list", "elements": "str"}, "a,b"),
    "a map as text": ({"type": "dict"}, "k=v"),
    "a map for JSON": ({"type": "json"}, {"k": 1}),
    "a fraction as a size": ({"type": "bytes"}, 1.5),
    "an alias": ({"type": "dict", "options": {"v": {"type": "int", "aliases": ["w"]}}}, {"w": 1}),
    "a list that is too long": (
        {"type": "list", "elements": "dict", "options": INNER, "required_one_of": [["v"]]},
        [{"v": 1}] * 10_001,
    ),
}
"""What Ansible takes and the CRD refuses."""
LAXER: dict[str, tuple[Raw, Any]] = {
    "choices of anything": ({"type": "raw", "choices": ["a"]}, "b"),
    "a rule on the value of a list": (
        {
            "type": "dict",
            "options": {"a": {"type": "list"}, "b": {"type": "str"}},
            "required_if": [["a", ["x"], ["b"]]],
        },
        {"a": ["x"]},
    ),
}
"""What the CRD takes and Ansible refuses."""


@pytest.fixture(scope="module")
def differing(api: Api) -> Iterator[Kind]:
    kind = Kind(api, {field(name): spec for name, (spec, _) in (STRICTER | LAXER).items()})
    yield kind
    kind.delete()


def field(name: str) -> str:
    return name.replace(" ", "_").lower()


@pytest.mark.parametrize("name", [*STRICTER, *LAXER])
def test_a_difference_is_as_documented(differing: Kind, name: str) -> None:
    spec, value = (STRICTER | LAXER)[name]
    errors, _ = by_ansible(field(name), spec, value)
    _, refusal = differing.create({field_name(field(name), snake_case=True): value})
    assert (bool(errors), bool(refusal)) == (name in LAXER, name in STRICTER), (errors, refusal)


def test_null_is_as_left_out(differing: Kind) -> None:
    assert differing.create({"aNumberAsText": None}) == ({}, "")
    errors, _ = by_ansible("a_number_as_text", {"type": "int"}, None)
    assert errors == []


def test_rules_in_lists_of_lists_are_within_the_budget(api: Api) -> None:
    names = [f"option{index}" for index in range(10)]
    level: Raw = {
        "options": {name: {"type": "str"} for name in names},
        "mutually_exclusive": [names],
        "required_together": [names],
        "required_one_of": [names],
        "required_if": [[name, "a" * 100, names, True] for name in names],
        "required_by": dict.fromkeys(names, names),
    }
    for _ in range(3):
        level = {"options": {"items": {"type": "list", "elements": "dict", **level}, "name": {"type": "str"}}}
    Kind(api, level["options"]).delete()
