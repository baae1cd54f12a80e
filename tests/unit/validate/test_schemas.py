"""What the schemas of CRDs say of the variables of a run."""

from __future__ import annotations

import pytest

from runner.config.yamlfile import read_yaml
from runner.validate.documents import Document
from runner.validate.manifests.schemas import spec_fields


def crd(spec: str, more: str = "") -> Document:
    schema = f"{{openAPIV3Schema: {{properties: {{spec: {spec}}}}}}}"
    text = f"spec: {{{more} versions: [{{name: v1, schema: {schema}}}, {{name: v2}}]}}"
    return Document("crd.yaml", read_yaml(text, "crd.yaml"))


@pytest.mark.parametrize(("snake_case", "names"), [(True, {"node_count", "size"}), (False, {"nodeCount", "size"})])
def test_the_fields_of_a_spec_become_variables(snake_case: bool, names: set[str]) -> None:
    spec = "{properties: {nodeCount: {properties: {inner: {}}}, size: {}}}"
    assert spec_fields(crd(spec), "v1", snake_case=snake_case) == frozenset(names)


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        ("{properties: {a: {}}, x-kubernetes-preserve-unknown-fields: true}", ""),
        ("{additionalProperties: {type: string}}", ""),
        ("{properties: {a: {}}}", "preserveUnknownFields: true,"),
    ],
)
def test_the_fields_of_a_spec_that_is_open_are_not_known(spec: str, more: str) -> None:
    assert spec_fields(crd(spec, more), "v1", snake_case=True) is None


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_the_fields_of_a_version_without_a_schema_are_not_known(version: str) -> None:
    assert spec_fields(crd("{}"), version, snake_case=True) is None


def test_a_spec_that_declares_nothing_gives_no_variables() -> None:
    assert spec_fields(crd("{type: object}"), "v1", snake_case=True) == frozenset()
