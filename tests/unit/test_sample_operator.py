"""The sample operator hangs together: its watches, CRDs, sample CRs, roles and playbook."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def identity(version: str, kind: str) -> str:
    return f"{version}, Kind={kind}"


def version_schemas(crd: dict[str, Any]) -> dict[str, dict[str, Any]]:
    spec = crd["spec"]
    return {
        identity(f"{spec['group']}/{version['name']}", spec["names"]["kind"]): version
        for version in spec["versions"]
    }


WATCHES = {
    identity(f"{watch['group']}/{watch['version']}", watch["kind"]): watch for watch in read(ROOT / "watches.yaml")
}
CRDS = [read(path) for path in sorted((ROOT / "crds").glob("*.yaml"))]
VERSIONS = {name: version for crd in CRDS for name, version in version_schemas(crd).items()}
SAMPLES = {
    identity(cr["apiVersion"], cr["kind"]): cr for cr in map(read, sorted((ROOT / "crds/samples").glob("*.yaml")))
}


def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = VERSIONS[name]["schema"]["openAPIV3Schema"]
    return schema


def spec_fields(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = schema_of(name)["properties"]["spec"]["properties"]
    return fields


def schema_nodes(schema: dict[str, Any], where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield where, schema
    for name, child in schema.get("properties", {}).items():
        yield from schema_nodes(child, f"{where}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from schema_nodes(schema[keyword], f"{where}.{keyword}")


def unstructural(node: dict[str, Any]) -> str:
    """Why the API server would not call this node structural, or "" (its rules for apiextensions v1)."""
    if "type" not in node and not node.get("x-kubernetes-int-or-string"):
        return "no type"
    if {"properties", "additionalProperties"} <= node.keys():
        return "properties beside additionalProperties"
    if node["type"] == "array" and not isinstance(node.get("items"), dict):
        return "an array without one schema of items"
    return ", ".join(node.keys() & {"$ref", "definitions", "dependencies", "patternProperties", "uniqueItems"})


def snake_case(field: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[0].lower(), field)


def content_of(watch: dict[str, str]) -> Path:
    return ROOT / "roles" / watch["role"] / "tasks/main.yml" if "role" in watch else ROOT / watch["playbook"]


def test_every_watched_kind_has_a_crd_and_a_sample() -> None:
    stored = {name for name, version in VERSIONS.items() if version["storage"]}
    assert set(WATCHES) == stored == set(SAMPLES)


def test_a_version_that_takes_a_conversion_is_served_by_whoever_says_who_converts() -> None:
    assert [name for name, version in VERSIONS.items() if not version["served"]] == [
        "sample.example.com/v1, Kind=Memcached"
    ]


def test_every_role_is_watched() -> None:
    assert {watch["role"] for watch in WATCHES.values() if "role" in watch} == set(ROLES)


@pytest.mark.parametrize("name", WATCHES)
def test_a_watch_names_content_that_exists(name: str) -> None:
    assert content_of(WATCHES[name]).is_file()


@pytest.mark.parametrize("name", VERSIONS)
def test_a_schema_is_structural(name: str) -> None:
    assert {where: why for where, node in schema_nodes(schema_of(name)) if (why := unstructural(node))} == {}


@pytest.mark.parametrize("name", VERSIONS)
def test_a_kind_has_the_status_subresource_and_shows_its_success(name: str) -> None:
    columns = {column["name"]: column["jsonPath"] for column in VERSIONS[name]["additionalPrinterColumns"]}
    assert "status" in VERSIONS[name]["subresources"]
    assert columns["Successful"] == '.status.conditions[?(@.type=="Successful")].status'


@pytest.mark.parametrize("name", WATCHES)
def test_a_mapped_status_field_is_in_the_schema(name: str) -> None:
    known = schema_of(name)["properties"]["status"]["properties"]
    assert WATCHES[name].get("status", {}).keys() <= known.keys()


@pytest.mark.parametrize("name", WATCHES)
def test_what_a_watch_maps_its_content_publishes(name: str) -> None:
    content = content_of(WATCHES[name]).read_text()
    expressions = WATCHES[name].get("status", {}).values()
    for published in (found for expression in expressions for found in re.findall(r"\bdata\.(\w+)", expression)):
        assert re.search(rf"\b{published}'?:", content)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_satisfies_its_schema(name: str) -> None:
    jsonschema.Draft4Validator(schema_of(name)).validate(SAMPLES[name])


def test_a_schema_refuses_a_wrong_type_in_a_sample() -> None:
    name = "sample.example.com/v1alpha1, Kind=PodSet"
    wrong = {**SAMPLES[name], "spec": {"replicas": "three"}}
    assert not jsonschema.Draft4Validator(schema_of(name)).is_valid(wrong)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_sets_only_fields_its_schema_knows(name: str) -> None:
    assert SAMPLES[name]["spec"].keys() <= spec_fields(name).keys()


def test_a_podset_can_be_scaled() -> None:
    assert VERSIONS["sample.example.com/v1alpha1, Kind=PodSet"]["subresources"]["scale"] == {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.availableReplicas",
        "labelSelectorPath": ".status.selector",
    }


@pytest.mark.parametrize("name", [name for name, watch in WATCHES.items() if "role" in watch])
def test_a_role_declares_exactly_the_fields_of_its_spec(name: str) -> None:
    specs = read(ROOT / "roles" / WATCHES[name]["role"] / "meta/argument_specs.yml")
    assert specs["argument_specs"]["main"]["options"].keys() == set(map(snake_case, spec_fields(name)))
