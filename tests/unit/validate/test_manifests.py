"""What `validate` says of CRDs and RBAC."""

from __future__ import annotations

import pytest
from ansible.vars.reserved import get_reserved_names
from jinja2 import Environment

from runner.validate.manifests import specvars
from tests.unit.validate.conftest import CRD, ROLE, Sound

FILE = "config/crd/thing.yaml"
RBAC = "config/rbac/role.yaml"
STATUS = "              x-kubernetes-preserve-unknown-fields: true\n"


def conditions(properties: str, more: str = "") -> str:
    """A status schema with these properties of a condition."""
    items = f"{{type: object, {more} properties: {{type: {{type: string}}, {properties}}}}}"
    return f"              properties: {{conditions: {{type: array, items: {items}}}}}\n"


def text(*names: str, **schema: str) -> str:
    return ", ".join(f"{name}: {schema.get(name, '{type: string}')}" for name in names)


ALL = ("status", "reason", "message", "lastTransitionTime")
KEPT = "x-kubernetes-preserve-unknown-fields: true,"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "kind: Thing",
            "kind: Thong",
            "error: watches.yaml:1: kind: no CRD of the project defines example.com/v1",
        ),
        ("group: example", "group: other", "warning: watches.yaml:1: kind: no CRD of the project defines"),
        (
            "name: v1\n",
            "name: v2\n",
            f"error: watches.yaml:1: version: the CRD in {FILE} has no version v1; it has v2",
        ),
        (
            "served: true",
            "served: false",
            f"error: {FILE}:10: spec.versions[0].served: v1 is watched and not served",
        ),
        ("scope: Namespaced", "scope: namespaced", f"error: {FILE}:6: spec.scope: must be Namespaced or Cluster"),
        ("io/v1\n", "io/v1beta1\n", f"error: {FILE}:1: apiVersion: must be apiextensions.k8s.io/v1"),
        (
            "{status: {}}",
            "{}",
            f"warning: {FILE}:12: spec.versions[0].subresources: without the status subresource",
        ),
        (
            STATUS,
            "",
            f"error: {FILE}:18: spec.versions[0].schema.openAPIV3Schema.properties.status: the schema drops",
        ),
        (
            STATUS,
            conditions(text("status", "reason", "lastTransitionTime")),
            f"warning: {FILE}:18: spec.versions[0].schema.openAPIV3Schema.properties.status.properties.conditions:"
            " the schema drops message, ansibleResult of a condition",
        ),
        (
            STATUS,
            conditions(text(*ALL, "ansibleResult", ansibleResult="{type: object}")),
            f"warning: {FILE}:18: spec.versions[0].schema.openAPIV3Schema.properties.status.properties.conditions:"
            " the schema drops ansibleResult of a condition",
        ),
        (
            STATUS,
            conditions(text(*ALL, reason="{type: string, minLength: 1}"), KEPT),
            f"error: {FILE}:18: spec.versions[0].schema.openAPIV3Schema.properties.status.properties.conditions:"
            " the schema refuses an empty reason",
        ),
    ],
)
def test_a_crd_that_does_not_fit_its_watch_is_a_finding(sound: Sound, old: str, new: str, expected: str) -> None:
    (sound.path / RBAC).unlink()
    sound.replace(FILE, old, new)
    (finding,) = [finding for finding in sound.validate() if "[crd-name]" not in finding]
    assert finding.startswith(expected)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (STATUS, conditions(text(*ALL), KEPT)),
        (
            STATUS,
            conditions(text(*ALL, "ansibleResult", ansibleResult="{type: object, additionalProperties: true}")),
        ),
    ],
)
def test_a_crd_that_fits_its_watch_is_no_finding(sound: Sound, old: str, new: str) -> None:
    sound.replace(FILE, old, new)
    assert sound.validate() == []


NONE, WEBHOOK = "", "  conversion: {strategy: Webhook}\n"


@pytest.mark.parametrize(
    ("conversion", "served", "said"),
    [
        (NONE, False, ""),
        (NONE, True, "v2 is served and not converted: set it to false"),
        (WEBHOOK, True, ""),
        (WEBHOOK, False, "v2 is converted and not served: set it to true"),
    ],
)
def test_a_version_of_versions_is_served_where_it_is_converted(
    sound: Sound, conversion: str, served: bool, said: str
) -> None:
    head, _, version = CRD.partition("    - name: v1\n")
    other = version.replace("storage: true", "storage: false").replace("served: true", f"served: {served}")
    text = f"{head}    - name: v1\n{version}    - name: v2\n{other}"
    sound.write({FILE: text.replace("  scope:", f"{conversion}  scope:")})
    sound.replace("watches.yaml", "role: thing", "role: thing\n  versions: {v2: {}}")
    found = sound.validate()
    assert len(found) == bool(said)
    assert all(f"spec.versions[1].served: {said}" in finding for finding in found)


def test_without_a_managed_status_the_subresource_is_not_missed(sound: Sound) -> None:
    sound.replace(FILE, "{status: {}}", "{}")
    sound.replace("watches.yaml", "role: thing", "role: thing\n  manageStatus: false")
    assert sound.validate() == []


def test_a_mapped_status_field_that_the_schema_drops_is_a_finding(sound: Sound) -> None:
    sound.write({"roles/thing/tasks/main.yml": "- ansible.builtin.set_stats: {data: {size: 1}}"})
    sound.replace(FILE, STATUS, conditions(text(*ALL), KEPT))
    sound.replace("watches.yaml", "role: thing", "role: thing\n  status: {size: data.size}")
    (finding,) = sound.validate()
    assert "the schema drops size, which the watch's `status` maps" in finding


@pytest.mark.parametrize("directory", ["crds", "deploy/crds", "config/crd/bases"])
def test_crds_are_looked_for_in_each_usual_directory(sound: Sound, directory: str) -> None:
    (sound.path / FILE).unlink()
    sound.write({f"{directory}/a.yaml": "---\n---\n" + CRD.replace("served: true", "served: false")})
    assert ["not served" in finding for finding in sound.validate()] == [True]


def test_a_built_in_kind_needs_no_crd(sound: Sound) -> None:
    (sound.path / RBAC).unlink()
    sound.write({"watches.yaml": "- {version: v1, kind: Secret, role: thing, markUnsafe: true}"})
    assert sound.validate() == []


def test_a_project_without_crds_is_told_so_once(sound: Sound) -> None:
    (sound.path / FILE).unlink()
    (sound.path / RBAC).unlink()
    (finding,) = sound.validate()
    assert finding.startswith("warning: watches.yaml:1: the project has no CRD in crds/, config/ or deploy/")


def test_a_manifest_that_is_not_yaml_is_an_error(sound: Sound) -> None:
    sound.write({"config/manager/a.yaml": "a: [", "deploy/template.yaml": "{{- if .x }}\na: b\n"})
    (finding,) = sound.validate()
    assert finding.startswith("error: config/manager/a.yaml:1: not YAML")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "watch, update",
            "update",
            "error: config/rbac/role.yaml:5: rules: no role allows watch on things, needed to reconcile Thing;"
            " add `- {apiGroups: [example.com], resources: [things], verbs: [get, list, watch]}`",
        ),
        (
            " things/status,",
            "",
            "error: config/rbac/role.yaml:5: rules: no role allows update on things/status, needed to write the"
            " status of Thing; add `- {apiGroups: [example.com], resources: [things/status], verbs: [update]}`",
        ),
        (
            ", things/finalizers",
            "",
            "warning: config/rbac/role.yaml:5: rules: no role allows update on things/final",
        ),
        ("patch]", "]", "warning: config/rbac/role.yaml:5: rules: no role allows patch on events, so that"),
        (
            "    verbs: [get",
            "    resourceNames: [one]\n    verbs: [get",
            "error: config/rbac/role.yaml:5: rules: no role allows get, list, watch on things",
        ),
    ],
)
def test_a_rule_that_is_missing_is_reported_as_yaml(sound: Sound, old: str, new: str, expected: str) -> None:
    sound.replace(RBAC, old, new)
    assert [finding for finding in sound.validate() if finding.startswith(expected)]


@pytest.mark.parametrize(
    "rule",
    [
        "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}",
        "{apiGroups: ['', example.com], resources: ['*', '*/status'], verbs: ['*']}",
    ],
)
def test_a_rule_with_wildcards_allows_what_is_needed(sound: Sound, rule: str) -> None:
    sound.write({RBAC: f"kind: ClusterRole\nmetadata: {{name: a}}\nrules:\n  - {rule}\n"})
    assert sound.validate() == []


def test_only_roles_that_are_bound_to_a_service_account_count(sound: Sound) -> None:
    other = ROLE.replace("manager", "editor") + "---\n" + ROLE.replace("things", "nothing")
    binding = (
        "kind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: manager}\nsubjects: [{kind: ServiceAccount}]"
    )
    sound.write({RBAC: f"{other}---\n{binding}\n"})
    assert ["things" in finding for finding in sound.validate()] == [True, True, True]


def test_a_cluster_scoped_kind_needs_a_cluster_role(sound: Sound) -> None:
    sound.replace(FILE, "scope: Namespaced", "scope: Cluster")
    assert sound.validate() == []
    sound.replace(RBAC, "kind: ClusterRole", "kind: Role")
    assert ["no cluster role allows" in finding for finding in sound.validate()] == [True, True, True]


def test_a_finalizer_needs_the_verb_update(sound: Sound) -> None:
    sound.replace(
        RBAC,
        "watch, update]",
        "watch]\n  - {apiGroups: [example.com], resources: ['*/status', '*/finalizers'], verbs: [update]}",
    )
    assert sound.validate() == []
    sound.replace(
        "watches.yaml", "role: thing", "role: thing\n  finalizer: {name: example.com/f, vars: {state: absent}}"
    )
    assert ["no role allows update on things," in finding for finding in sound.validate()] == [True]


@pytest.mark.parametrize(("argument", "found"), [("--leader-elect", 1), ("--leader-elect=false", 0), ("--x", 0)])
def test_leases_are_needed_where_a_leader_is_elected(sound: Sound, argument: str, found: int) -> None:
    container = f"containers: [{{name: manager, args: ['{argument}']}}]"
    sound.write({"config/manager/m.yaml": f"kind: Deployment\nspec: {{template: {{spec: {{{container}}}}}}}\n"})
    assert len([finding for finding in sound.validate() if "leases" in finding]) == found


def test_the_keywords_that_a_spec_may_not_use_are_ansibles() -> None:
    assert get_reserved_names() >= specvars.KEYWORDS >= specvars.HARMLESS


def test_the_functions_that_a_spec_may_not_hide_are_those_of_templates() -> None:
    assert {*Environment().globals, "lookup", "query", "q", "now", "undef"} >= specvars.FUNCTIONS
