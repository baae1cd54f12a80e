"""Which line the API server finds fault with, and which samples are a project's."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.commands.manifests import first_of, line_of, refusal, samples, without_service
from runner.config.yamlfile import read_yaml
from runner.errors import ApiError, KubeError
from runner.validate.documents import Document

CRD = """\
metadata:
  name: websites.example.com
spec:
  group: example.com
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: objectx
"""
WHERE = "spec.versions[0].schema.openAPIV3Schema.properties[spec].type"


def document(text: str = CRD) -> Document:
    return Document("crds/a.yaml", read_yaml(text, "crds/a.yaml"))


@pytest.mark.parametrize(
    ("field", "line"),
    [(WHERE, 12), ("spec.versions[0].name", 6), ("spec.versions[7].name", 6), ("spec.nothing", 4), ("", 1)],
)
def test_a_field_has_its_line_or_that_of_what_it_would_be_in(field: str, line: int) -> None:
    assert line_of(document().node, field) == line


@pytest.mark.parametrize(
    "error",
    [
        ApiError(422, "Invalid", "wrong", fields=[WHERE]),
        ApiError(422, "Invalid", "wrong", fields=["spec.validation.openAPIV3Schema.properties[spec].type"]),
        ApiError(400, "BadRequest", f"strict decoding error: .{WHERE}: field not declared in schema"),
    ],
)
def test_refusal_is_at_the_line_that_the_api_server_names(error: ApiError) -> None:
    problem = refusal(document(), error)
    assert str(problem) == f"crds/a.yaml:12: refused: {error.message}"


def test_refusal_without_a_field_is_at_the_object() -> None:
    assert str(refusal(document(), KubeError("no answer"))) == "crds/a.yaml:1: refused: no answer"


def test_of_many_causes_the_first_is_told() -> None:
    many = 'CRD "a" is invalid: [spec.scope: Invalid value: "x": one, two, spec.names.kind: Required value]'
    assert first_of(many) == 'CRD "a" is invalid: spec.scope: Invalid value: "x": one, two (and 1 more)'


def converted_at(**client_config: object) -> dict[str, object]:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client_config}
    return {"spec": {"group": "example.com", "conversion": {"strategy": "Webhook", "webhook": webhook}}}


def test_conversion_by_a_service_is_left_out_for_it_has_no_pods_here() -> None:
    assert without_service(converted_at(service={"name": "webhooks"})) == {"spec": {"group": "example.com"}}


@pytest.mark.parametrize("crd", [converted_at(url="https://example.com/convert"), {"spec": None}, {}])
def test_all_else_of_a_crd_is_applied_as_it_is(crd: dict[str, object]) -> None:
    assert without_service(crd) == crd


def test_samples_are_the_custom_resources_of_watched_kinds(tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples/b.yaml").write_text("{apiVersion: example.com/v1, kind: Website, metadata: {name: b}}")
    manifest = document("{apiVersion: example.com/v1, kind: Website, metadata: {name: a}}")
    other = document("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")

    found = samples(tmp_path, [manifest, other], {("example.com", "Website")})

    assert [one.text("metadata", "name") for one in found] == ["a", "b"]
