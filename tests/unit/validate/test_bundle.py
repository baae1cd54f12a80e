"""A bundle for OLM: `validate` finds each mistake, names the field, and nothing else with it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from runner.cli import main
from runner.validate.bundle.check import check, is_bundle
from runner.validate.rules import RULES
from tests.unit.validate.conftest import HEAD

CSV = "manifests/shop-operator.clusterserviceversion.yaml"
CRD = "manifests/example.com_shops.yaml"
ANNOTATIONS = "metadata/annotations.yaml"
DOCKERFILE = "../bundle.Dockerfile"
FILES = {
    CSV: """\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: shop-operator.v0.1.0
  annotations:
    alm-examples: |-
      [{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": {"size": 1}}]
    capabilities: Basic Install
    categories: Database,Storage
spec:
  displayName: Shop
  description: Keeps shops open.
  version: 0.1.0
  minKubeVersion: 1.28.0
  maturity: alpha
  keywords: [shop]
  provider: {name: Example}
  maintainers: [{name: Ann, email: ann@example.com}]
  links: [{name: Docs, url: "https://example.com"}]
  icon: [{base64data: PHN2Zy8+, mediatype: image/svg+xml}]
  installModes:
    - {type: OwnNamespace, supported: false}
    - {type: SingleNamespace, supported: false}
    - {type: MultiNamespace, supported: false}
    - {type: AllNamespaces, supported: true}
  customresourcedefinitions:
    owned:
      - kind: Shop
        name: shops.example.com
        version: v1
        specDescriptors:
          - {path: size, displayName: Size}
          - {path: "doors[0].name", displayName: Name}
        statusDescriptors:
          - {path: conditions, displayName: Conditions}
  install:
    strategy: deployment
    spec:
      clusterPermissions:
        - serviceAccountName: shop
          rules: [{apiGroups: [example.com], resources: [shops], verbs: [get]}]
      deployments:
        - name: shop-controller
          spec:
            selector: {matchLabels: {app: shop}}
            template:
              metadata: {labels: {app: shop}}
              spec:
                serviceAccountName: shop
                containers:
                  - name: manager
                    image: registry.example.com/shop:v0.1.0
                    resources: {requests: {cpu: 10m, memory: 64Mi}}
  webhookdefinitions:
    - type: ValidatingAdmissionWebhook
      generateName: vshop.example.com
      deploymentName: shop-controller
      webhookPath: /validate
      admissionReviewVersions: [v1]
      sideEffects: None
      timeoutSeconds: 5
      rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [shops]}]
    - type: ConversionWebhook
      generateName: cshop.example.com
      deploymentName: shop-controller
      webhookPath: /convert
      admissionReviewVersions: [v1]
      sideEffects: None
      conversionCRDs: [shops.example.com]
""",
    CRD: f"""\
{HEAD.replace("thing", "shop").replace("Thing", "Shop")}\
            spec:
              type: object
              properties:
                size: {{type: integer}}
                doors: {{type: array, items: {{type: object, properties: {{name: {{type: string}}}}}}}}
            status:
              type: object
              properties:
                conditions: {{type: array, items: {{type: object, properties: {{type: {{type: string}}}}}}}}
""",
    ANNOTATIONS: """\
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: shop-operator
  operators.operatorframework.io.bundle.channels.v1: alpha,stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
""",
    DOCKERFILE: """\
FROM scratch
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=shop-operator
LABEL operators.operatorframework.io.bundle.channels.v1=alpha,stable
LABEL operators.operatorframework.io.bundle.channel.default.v1=stable
""",
}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    directory = tmp_path / "bundle"
    for name, text in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


class Mistake(NamedTuple):
    """In `file` the text `old` becomes `new`; `field` is that of the one finding."""

    rule: str
    field: str
    old: str
    new: str
    file: str = CSV


OWNED = "spec.customresourcedefinitions.owned"
DEPLOYMENT = "spec.install.spec.deployments[0]"
CONTAINER = f"{DEPLOYMENT}.spec.template.spec.containers[0]"
HOOK = "spec.webhookdefinitions"
EXAMPLES = "metadata.annotations.alm-examples"
LABEL = "operators.operatorframework.io.bundle"
MISTAKES = {
    "another API version": Mistake("csv-field", "apiVersion", "coreos.com/v1alpha1", "coreos.com/v1"),
    "a name of another version": Mistake("csv-version", "metadata.name", "operator.v0.1.0", "operator.v0.2.0"),
    "a name without a version": Mistake("csv-version", "metadata.name", "shop-operator.v0.1.0", "shop-operator"),
    "a minimum that is no version": Mistake("csv-version", "spec.minKubeVersion", "1.28.0", "'1.28'"),
    "a predecessor that is no version": Mistake(
        "csv-version", "spec.replaces", "  maturity: alpha", "  maturity: alpha\n  replaces: older"
    ),
    "its own successor": Mistake(
        "csv-version", "spec.replaces", "  maturity: alpha", "  maturity: alpha\n  replaces: shop-operator.v0.1.0"
    ),
    "no name for people": Mistake("csv-field", "spec.displayName", "displayName: Shop", "displayName: ''"),
    "no provider": Mistake("csv-field", "spec.provider.name", "{name: Example}", "{}"),
    "no description": Mistake("csv-incomplete", "spec.description", "Keeps shops open.", "''"),
    "what the base came with": Mistake(
        "csv-incomplete", "spec.description", "Keeps shops open.", "Shop description. TODO."
    ),
    "a mail address that is none": Mistake(
        "csv-field", "spec.maintainers[0].email", "ann@example.com", "example.com"
    ),
    "a maintainer without a name": Mistake("csv-field", "spec.maintainers[0]", "{name: Ann, ", "{"),
    "a link that is none": Mistake("csv-field", "spec.links[0].url", '"https://example.com"', "example"),
    "a link without a name": Mistake("csv-field", "spec.links[0]", "{name: Docs, ", "{"),
    "a picture of an unknown type": Mistake("csv-field", "spec.icon[0].mediatype", "image/svg+xml", "image/bmp"),
    "a picture that is none": Mistake("csv-field", "spec.icon[0].base64data", "PHN2Zy8+", "'?'"),
    "an unknown level": Mistake("csv-field", "metadata.annotations.capabilities", "Basic Install", "Best"),
    "an unknown category": Mistake("csv-field", "metadata.annotations.categories", "Database,", "Shops,"),
    "examples that are no JSON": Mistake("csv-examples", EXAMPLES, '"size": 1}}]', '"size": 1}'),
    "an example that does not fit": Mistake(
        "csv-examples", f"{EXAMPLES}[0].spec.size", '"size": 1', '"size": "big"'
    ),
    "an example that is pruned": Mistake("csv-examples", f"{EXAMPLES}[0].spec.sizes", '"size": 1', '"sizes": 1'),
    "an owned kind that is there twice": Mistake(
        "csv-owned",
        f"{OWNED}[1]",
        "  install:\n",
        "      - {kind: Shop, name: shops.example.com, version: v1}\n  install:\n",
    ),
    "an owned kind by another CRD's name": Mistake(
        "csv-owned", f"{OWNED}[0].name", "name: shops.example.com", "name: shop.example.com"
    ),
    "a descriptor of nothing": Mistake(
        "csv-descriptor", f"{OWNED}[0].specDescriptors[0].path", "{path: size,", "{path: sizes,"
    ),
    "a descriptor of nothing in a list": Mistake(
        "csv-descriptor", f"{OWNED}[0].specDescriptors[1].path", "doors[0].name", "doors[0].title"
    ),
    "a missing install mode": Mistake(
        "csv-install-modes", "spec.installModes", "    - {type: OwnNamespace, supported: false}\n", ""
    ),
    "an install mode twice": Mistake(
        "csv-install-modes",
        "spec.installModes[1].type",
        "    - {type: OwnNamespace, supported: false}\n",
        "    - {type: OwnNamespace, supported: false}\n" * 2,
    ),
    "another strategy": Mistake(
        "csv-deployment", "spec.install.strategy", "strategy: deployment", "strategy: pod"
    ),
    "an account of nobody": Mistake(
        "csv-deployment",
        "spec.install.spec.clusterPermissions[0].serviceAccountName",
        "- serviceAccountName: shop",
        "- serviceAccountName: shops",
    ),
    "labels that are not selected": Mistake(
        "csv-deployment",
        f"{DEPLOYMENT}.spec.template.metadata.labels",
        "{labels: {app: shop}}",
        "{labels: {app: x}}",
    ),
    "an image without a version": Mistake("csv-image", f"{CONTAINER}.image", "shop:v0.1.0", "shop"),
    "the latest image": Mistake("csv-image", f"{CONTAINER}.image", "shop:v0.1.0", "shop:latest"),
    "no image": Mistake("csv-deployment", f"{CONTAINER}.image", "registry.example.com/shop:v0.1.0", "''"),
    "requests without memory": Mistake("csv-requests", f"{CONTAINER}.resources.requests", ", memory: 64Mi}", "}"),
    "an unknown type of webhook": Mistake("csv-webhooks", f"{HOOK}[0].type", "ValidatingAdm", "Validating"),
    "a webhook of no deployment": Mistake(
        "csv-webhooks",
        f"{HOOK}[0].deploymentName",
        "deploymentName: shop-controller\n      webhookPath: /validate",
        "deploymentName: x\n      webhookPath: /validate",
    ),
    "a webhook without a path": Mistake("csv-webhooks", f"{HOOK}[0].webhookPath", "/validate", "''"),
    "a webhook with side effects": Mistake(
        "csv-webhooks", f"{HOOK}[0].sideEffects", "None\n      timeout", "Some\n      timeout"
    ),
    "a webhook that takes its time": Mistake(
        "csv-webhooks", f"{HOOK}[0].timeoutSeconds", "timeoutSeconds: 5", "timeoutSeconds: 60"
    ),
    "a webhook over every group": Mistake(
        "csv-webhooks",
        f"{HOOK}[0].rules[0].apiGroups",
        "[{apiGroups: [example.com], apiV",
        "[{apiGroups: ['*'], apiV",
    ),
    "a webhook over nothing": Mistake(
        "csv-webhooks",
        f"{HOOK}[0].rules",
        "rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [shops]}]",
        "rules: []",
    ),
    "two webhooks of one name": Mistake("csv-webhooks", f"{HOOK}[1].generateName", "cshop", "vshop"),
    "a conversion in some namespaces": Mistake(
        "csv-webhooks",
        f"{HOOK}[1].type",
        "{type: OwnNamespace, supported: false}",
        "{type: OwnNamespace, supported: true}",
    ),
    "a conversion of another's CRD": Mistake(
        "csv-webhooks", f"{HOOK}[1].conversionCRDs", "[shops.example.com]", "[x.example.com]"
    ),
    "a kind that OLM does not install": Mistake(
        "bundle-layout",
        "kind",
        "apiVersion: apiextensions",
        "apiVersion: v1\nkind: Pod\n---\napiVersion: apiextensions",
        CRD,
    ),
    "a CRD with a mistake": Mistake("crd-scope", "spec.scope", "Namespaced", "Everywhere", CRD),
    "another layout": Mistake(
        "bundle-annotations", f"annotations.{LABEL}.mediatype.v1", "registry+v1", "helm", ANNOTATIONS
    ),
    "no package": Mistake(
        "bundle-annotations", f"annotations.{LABEL}.package.v1", ": shop-operator", ": Shop", ANNOTATIONS
    ),
    "a default that is no channel": Mistake(
        "bundle-annotations",
        f"annotations.{LABEL}.channel.default.v1",
        "default.v1: stable",
        "default.v1: beta",
        ANNOTATIONS,
    ),
    "an image with other labels": Mistake(
        "bundle-annotations", f"{LABEL}.package.v1", "=shop-operator", "=shops", DOCKERFILE
    ),
}


def test_a_good_bundle_has_no_findings(bundle: Path) -> None:
    assert check(bundle) == []


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_at_its_field(name: str, bundle: Path) -> None:
    mistake = MISTAKES[name]
    path = bundle / mistake.file
    text = path.read_text()
    assert mistake.old in text
    path.write_text(text.replace(mistake.old, mistake.new, 1))
    found = {(finding.rule, finding.field) for finding in check(bundle)}
    followed = {found_ for found_ in found if found_[0] in ("csv-owned", "csv-examples", "csv-example-missing")}
    wanted = (mistake.rule, mistake.field)
    assert wanted in found
    assert found - followed - _labels_that_differ(mistake) <= {wanted}


def _labels_that_differ(mistake: Mistake) -> set[tuple[str, str]]:
    """What is changed in the annotations alone differs from the image's labels as well."""
    name = mistake.field.removeprefix("annotations.")
    return {("bundle-annotations", name)} if mistake.file == ANNOTATIONS else set()


def test_a_version_that_was_never_given_is_an_error(bundle: Path) -> None:
    path = bundle / CSV
    path.write_text(path.read_text().replace("0.1.0", "0.0.0"))
    assert [finding.field for finding in check(bundle)] == ["spec.version"]


def test_an_owned_kind_without_an_example_is_a_warning(bundle: Path) -> None:
    path = bundle / CSV
    lines = [line for line in path.read_text().splitlines() if '[{"apiVersion"' not in line]
    path.write_text("\n".join(lines).replace("alm-examples: |-", "alm-examples: '[]'"))
    assert [finding.rule for finding in check(bundle)] == ["csv-example-missing"]


def test_a_crd_that_nobody_owns_is_an_error_at_its_versions(bundle: Path) -> None:
    path = bundle / CRD
    text = path.read_text()
    another = text.replace("shops", "carts").replace("Shop", "Cart")
    (bundle / "manifests/carts.yaml").write_text(another)
    (finding,) = check(bundle)
    assert (finding.rule, Path(finding.file).name, finding.field) == ("csv-owned", "carts.yaml", "spec.versions")


@pytest.mark.parametrize("name", [CSV, ANNOTATIONS])
def test_a_bundle_without_its_parts_is_told_how_they_are_made(name: str, bundle: Path) -> None:
    (bundle / name).unlink()
    (finding,) = check(bundle)
    assert finding.rule == "bundle-layout"
    assert "ansible-operator generate bundle" in finding.message


def test_every_rule_of_bundles_is_broken_by_a_mistake_here() -> None:
    broken = {mistake.rule for mistake in MISTAKES.values()} | {"csv-example-missing"}
    assert {name for name in RULES if name.startswith(("csv-", "bundle-"))} - broken == set()


def test_a_bundle_is_told_from_a_project(bundle: Path, tmp_path: Path) -> None:
    assert is_bundle(bundle)
    assert not is_bundle(tmp_path)


def test_the_command_checks_a_bundle(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(bundle)]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings\n"
    (bundle / CRD).unlink()
    assert main(["validate", str(bundle)]) == 1
    assert "[csv-owned]" in capsys.readouterr().out
