"""What `validate` calls an error in CRDs, custom resources and finalizers' names, a real API server refuses."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from bench.observer import wait_for
from runner.config.yamlfile import read_yaml
from runner.dev.api import Api
from runner.validate.documents import Document
from runner.validate.manifests import definitions, structural, watching
from runner.validate.manifests.values import misfits
from tests.unit.validate.good import MEMCACHED

pytestmark = pytest.mark.cluster
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STRICT = "dryRun=All&fieldValidation=Strict"
SIZE = """\
                size:
                  type: integer
                  minimum: 1
                  maximum: 9
"""
OBJECT = "type: object, properties: {a: {type: string}, b: {type: string}}"
KEYED = "type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]"
SCHEMAS = (
    "type: integer",
    "description: without a type",
    "type: [integer, 'null']",
    "type: int",
    "type: 'null'",
    "type: integer, nullable: true",
    "type: integer, required: true",
    "type: array",
    "type: array, items: [{type: string}]",
    "type: array, items: {}",
    "type: array, uniqueItems: true, items: {type: string}",
    "type: object, additionalProperties: false",
    "type: object, additionalProperties: true",
    "additionalProperties: true",
    f"{OBJECT}, additionalProperties: {{type: string}}",
    "$ref: '#/definitions/a'",
    "type: integer, const: 3",
    "type: integer, maximun: 3",
    "type: integer, minimum: '3'",
    "type: integer, exclusiveMinimum: 3",
    "type: string, enum: {a: b}",
    "type: integer, enum: [1, 2]",
    "type: string, maxLength: 1.5",
    "type: string, pattern: '['",
    "type: string, pattern: '^(?!a)b'",
    "type: string, pattern: '^a++$'",
    "type: string, pattern: '^[[:alpha:]]+$'",
    "type: string, pattern: '^\\p{L}+\\z'",
    "type: integer, default: many",
    "type: integer, default: 3",
    "type: integer, default: null",
    "type: string, enum: [a], default: b",
    "x-kubernetes-int-or-string: true",
    "x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]",
    "anyOf: [{type: integer}, {type: string}]",
    f"{OBJECT}, anyOf: [{{required: [a]}}, {{required: [b]}}]",
    f"{OBJECT}, anyOf: [{{properties: {{a: {{type: string}}}}}}]",
    f"{OBJECT}, anyOf: [{{description: x, required: [a]}}]",
    "x-kubernetes-preserve-unknown-fields: true",
    "type: object, x-kubernetes-preserve-unknown-fields: false",
    "type: object, x-kubernetes-embedded-resource: true",
    "type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true",
    "type: array, items: {type: string}, x-kubernetes-list-type: bag",
    f"type: array, items: {{{OBJECT}}}, x-kubernetes-list-type: map",
    f"{KEYED}, items: {{{OBJECT}}}",
    f"{KEYED}, items: {{{OBJECT}, required: [a]}}",
    "type: integer, x-foo: 1",
    "type: integer, x-kubernetes-validations: [{rule: self > 0}]",
)
DEFINITION_CHANGES = (
    ("name: memcacheds.cache", "name: memcached.cache"),
    ("    kind: Memcached\n", "    kind: Mem_cached\n"),
    ("group: cache.example.com", "group: cache"),
    ("storage: true", "storage: false"),
    ("  scope: Namespaced\n", ""),
    ("  scope: Namespaced\n", "  scope: Namespaced\n  preserveUnknownFields: true\n"),
    ("  scope: Namespaced\n", "  scope: Namespaced\n  version: v1\n"),
    ("      served: true\n", "      additionalPrinterColumns: [{name: a, type: text, jsonPath: .spec.a}]\n"),
    ("      served: true\n", "      additionalPrinterColumns: [{name: a, type: string, JSONPath: .spec.a}]\n"),
    ("      served: true\n", "      additionalPrinterColumns: [{name: a, type: string, jsonPath: .spec.a}]\n"),
    ("            metadata:\n", "            metadata:\n              properties: {labels: {type: object}}\n"),
    ("        openAPIV3Schema:\n          type: object", "        openAPIV3Schema:\n          type: array"),
    ("cache.example.com", "cache.k8s.io"),
)
VALUES = (
    *("{size: 3}", "{size: 0}", "{size: 12}", "{size: '3'}", "{size: 3.0}", "{size: 2.5}", "{size: null}", "{}"),
    *("{size: 3, image: A B}", "{size: 3, image: null}", "{size: 3, evictionPolicy: fifo}"),
    *("{size: 3, memoryLimit: 1Gi}", "{size: 3, memoryLimit: 2.5}", "{size: 3, labels: {a: 1}}"),
    *("{size: 3, labels: []}", "{size: 3, ports: [{name: x}]}", "{size: 3, ports: {number: 1}}"),
    "{size: 3, ports: [{number: 1, name: abcdefghijklmnopqrstuvwxyz}]}",
)
FINALIZERS = (
    "a.com/b",
    "b",
    "a.com/b c",
    "A.com/b",
    "a.com/b/c",
    "a.com/",
    "/b",
    "-b",
    f"a.com/{'b' * 64}",
    "a.com/_b",
)


def is_refused(admin: Api, text: str) -> bool:
    status, answer = admin.call("POST", f"{DEFINITIONS}?{STRICT}", yaml.safe_load(text))
    assert status in (201, 400, 422), answer
    return status != 201


def is_error(text: str) -> bool:
    crd = Document("crd.yaml", read_yaml(text, "crd.yaml"))
    return bool([*definitions.check(crd), *structural.check(crd)])


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_is_an_error_exactly_if_the_api_server_refuses_it(admin: Api, schema: str) -> None:
    assert SIZE in MEMCACHED
    text = unique(MEMCACHED.replace(SIZE, f"                size: {{{schema}}}\n"))
    assert is_error(text) == is_refused(admin, text)


@pytest.mark.parametrize(("old", "new"), DEFINITION_CHANGES)
def test_a_crd_is_an_error_exactly_if_the_api_server_refuses_it(admin: Api, old: str, new: str) -> None:
    assert old in MEMCACHED
    text = unique(MEMCACHED.replace(old, new))
    assert is_error(text) == is_refused(admin, text)


def unique(text: str) -> str:
    """A group that no object of this session has."""
    return text.replace("cache.example.com", "dry.example.com")


@pytest.fixture(scope="module")
def served(admin: Api) -> Any:
    """The path of the kind of the good project, which takes objects."""
    crd = yaml.safe_load(MEMCACHED)
    status, answer = admin.call("POST", DEFINITIONS, crd)
    assert status == 201, answer
    path = "/apis/cache.example.com/v1alpha1/namespaces/default/memcacheds"

    def takes_objects() -> bool:
        return admin.call("POST", f"{path}?{STRICT}", custom_resource({"size": 3}))[0] == 201

    wait_for("the kind to be served", takes_objects, seconds=30)
    yield path
    admin.call("DELETE", f"{DEFINITIONS}/{crd['metadata']['name']}")


def custom_resource(spec: object, **metadata: object) -> dict[str, object]:
    made = {"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "spec": spec}
    return {**made, "metadata": {"name": "a", **metadata}}


@pytest.mark.parametrize("spec", VALUES)
def test_a_value_does_not_fit_exactly_if_the_api_server_refuses_it(admin: Api, served: str, spec: str) -> None:
    schema = yaml.safe_load(MEMCACHED)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    status, _ = admin.call("POST", f"{served}?{STRICT}", custom_resource(yaml.safe_load(spec)))
    assert bool(list(misfits(schema, read_yaml(f"spec: {spec}", "cr.yaml")))) == (status != 201)


@pytest.mark.parametrize("name", FINALIZERS)
def test_a_finalizers_name_is_an_error_exactly_if_the_api_server_refuses_it(
    admin: Api, served: str, name: str
) -> None:
    status, _ = admin.call("POST", f"{served}?{STRICT}", custom_resource({"size": 3}, finalizers=[name]))
    assert bool(watching.refusal(name)) == (status != 201)
