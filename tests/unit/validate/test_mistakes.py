"""Mistakes in watches, CRDs, samples and RBAC: `validate` finds each, at its line, and nothing else with it."""

from __future__ import annotations

import pytest

from tests.unit.validate.conftest import Sound
from tests.unit.validate.mistakes import Mistake, check

WATCHES = "watches.yaml"
CRD = "config/crd/bases/cache.example.com_memcacheds.yaml"
BACKUP_CRD = "config/crd/bases/cache.example.com_cachebackups.yaml"
SCHEMA = "spec.versions[0].schema.openAPIV3Schema"
SPEC = f"{SCHEMA}.properties.spec"
SAMPLE = "config/samples/cache_v1alpha1_memcached.yaml"
RBAC = "config/rbac/role.yaml"
MANAGER = "config/manager/manager.yaml"
DEFAULT = "config/default/kustomization.yaml"
COMPONENTS = "kind: Kustomization\nresources: [../crd]\ncomponents: [{}]\n"
TASKS = "roles/memcached/tasks/main.yml"
SIZE = "                size:\n                  type: integer\n"
POLICY = "                evictionPolicy:\n                  type: string\n"


def field(name: str, schema: str = "{type: string}") -> tuple[str, str]:
    """A field more in the spec of the CRD, before `size`."""
    return SIZE, f"                {name}: {schema}\n{SIZE}"


MISTAKES = (
    Mistake(
        "a field of watches that nobody reads",
        rule="watch-unknown-field",
        place="watches.yaml:19",
        says="[1].reconcilPeriod: unknown field, ignored; did you mean reconcilePeriod?",
        change={WATCHES: ("reconcilePeriod", "reconcilPeriod")},
    ),
    Mistake(
        "a period that is no duration",
        rule="watch-invalid",
        place="watches.yaml:19",
        says='[1].reconcilePeriod: time: missing unit in duration "5"; write a duration such as "1h30m" or "10s"',
        change={WATCHES: ("reconcilePeriod: 5m", "reconcilePeriod: '5'")},
    ),
    Mistake(
        "a flag in quotes",
        rule="watch-invalid",
        place="watches.yaml:6",
        says="[0].manageStatus: must be true or false, unquoted, is str 'yes'",
        change={WATCHES: ("role: memcached\n", "role: memcached\n  manageStatus: 'yes'\n")},
    ),
    Mistake(
        "prune in quotes",
        rule="watch-invalid",
        place="watches.yaml:6",
        says="[0].prune: must be true or false, unquoted, is str 'yes'",
        change={WATCHES: ("role: memcached\n", "role: memcached\n  prune: 'yes'\n")},
    ),
    Mistake(
        "a watch that prunes what no role allows to delete",
        rule="rbac-missing-for-prune",
        place=f"{RBAC}:7",
        says="rules: no role allows delete on configmaps, needed to prune what Memcacheds no longer have; add",
        change={
            WATCHES: ("role: memcached\n", "role: memcached\n  prune: true\n"),
            RBAC: (
                "[configmaps, secrets]\n    verbs: [get, list, watch, create, delete,",
                "[configmaps, secrets]\n    verbs: [get, list, watch, create,",
            ),
        },
    ),
    Mistake(
        "a watch that prunes, and no right to keep the key of marks",
        rule="rbac-missing-for-prune",
        place=f"{RBAC}:7",
        says="rules: no role allows create, get on secrets, needed to keep the key that marks what runs create",
        change={
            WATCHES: ("role: memcached\n", "role: memcached\n  prune: true\n"),
            RBAC: ("[configmaps, secrets]", "[configmaps]"),
        },
    ),
    Mistake(
        "a watch that prunes, and an operator that performs tagged tasks alone",
        rule="prune-never",
        place="config/manager/manager.yaml:18",
        says="spec.template.spec.containers: watches.yaml asks for `prune`, and --tags leaves out a part",
        change={
            WATCHES: ("role: memcached\n", "role: memcached\n  prune: true\n"),
            MANAGER: (
                "            - --leader-elect\n",
                "            - --leader-elect\n            - --ansible-args=--tags web\n",
            ),
        },
    ),
    Mistake(
        "a watch that prunes, and an operator whose runs own nothing",
        rule="prune-never",
        place="config/manager/manager.yaml:18",
        says="spec.template.spec.containers: watches.yaml asks for `prune`, and with --inject-owner-ref=false",
        change={
            WATCHES: ("role: memcached\n", "role: memcached\n  prune: true\n"),
            MANAGER: (
                "            - --leader-elect\n",
                "            - --leader-elect\n            - --inject-owner-ref=false\n",
            ),
        },
    ),
    Mistake(
        "a cluster scoped kind that refers to objects of its own namespace",
        rule="reference-never",
        place="watches.yaml:21",
        says="references[0]: CacheBackup is cluster-scoped and has no namespace of its own, so that no ConfigMap",
        change={
            WATCHES: (
                "  reconcilePeriod: 5m\n",
                "  reconcilePeriod: 5m\n  references:\n  - {apiVersion: v1, kind: ConfigMap, names: spec.secret}\n"
                "  - {apiVersion: v1, kind: ConfigMap, selector: {}, namespaces: all}\n",
            ),
            BACKUP_CRD: ("scope: Namespaced", "scope: Cluster"),
            "playbooks/cachebackup.yml": ("{{ ansible_operator_meta.namespace }}", "backups"),
        },
    ),
    Mistake(
        "webhooks without anything that makes their certificate",
        rule="webhook-certificate",
        place="config/default/kustomization.yaml:3",
        says="components: nothing makes the certificate of ../webhook: list ../certmanager, for clusters with",
        write={DEFAULT: COMPONENTS.format("../webhook")},
    ),
    Mistake(
        "webhooks with two certificates",
        rule="webhook-certificate",
        place="config/default/kustomization.yaml:3",
        says="components: ../certmanager and ../own-certificate overwrite each other's authority: keep one of",
        write={DEFAULT: COMPONENTS.format("../webhook, ../certmanager, ../own-certificate")},
    ),
    Mistake(
        "a kind that is watched twice",
        rule="watch-duplicate",
        place="watches.yaml:20",
        says="[2]: duplicate GVK: cache.example.com/v1alpha1, Kind=CacheBackup, already watched in line 14",
        change={
            WATCHES: (
                "  reconcilePeriod: 5m\n",
                "  reconcilePeriod: 5m\n- version: v1alpha1\n  group: cache.example.com\n  kind: CacheBackup\n"
                "  playbook: playbooks/cachebackup.yml\n  markUnsafe: true\n",
            )
        },
    ),
    Mistake(
        "neither a playbook nor a role",
        rule="watch-without-content",
        place="watches.yaml:14",
        says="[1]: must specify Role or Playbook",
        change={WATCHES: ("  playbook: playbooks/cachebackup.yml\n", "")},
    ),
    Mistake(
        "a playbook that is not there",
        rule="watch-content-missing",
        place="watches.yaml:17",
        says="[1].playbook: playbook: playbooks/backup.yml was not found; looked at",
        change={WATCHES: ("playbooks/cachebackup.yml", "playbooks/backup.yml")},
    ),
    Mistake(
        "admission by argument specs of a playbook that has none",
        rule="watch-admission-invalid",
        place="watches.yaml:17",
        says="[1].admission.validate: there are no argument specs: ",
        change={WATCHES: ("  playbook:", "  admission: {validate: true}\n  playbook:")},
    ),
    Mistake(
        "a version that is converted and that the CRD does not have",
        rule="crd-version-missing",
        place="watches.yaml:17",
        says="versions.v9: the CRD in ",
        change={WATCHES: ("  playbook:", "  versions: {v9: {}}\n  playbook:")},
    ),
    Mistake(
        "a version that is converted and that a generated CRD does not have yet",
        rule="crd-version-missing",
        place="watches.yaml:17",
        says=f"versions.v9: the CRD in {BACKUP_CRD} has no version v9; it has v1alpha1: run `ansible",
        change={
            WATCHES: ("  playbook:", "  versions: {v9: {}}\n  playbook:"),
            BACKUP_CRD: (
                "  name: cachebackups",
                "  annotations: {ansible.sdk.operatorframework.io/generated-by: x}\n  name: cachebackups",
            ),
        },
    ),
    Mistake(
        "a finalizer without a name",
        rule="watch-finalizer-invalid",
        place="watches.yaml:8",
        says="[0].finalizer.name: finalizer must have name",
        change={WATCHES: ("    name: cache.example.com/finalizer\n", "")},
    ),
    Mistake(
        "a status expression of a key that no result has",
        rule="watch-status-null",
        place="watches.yaml:12",
        says="[0].status.nodes: result is always null: the keys of a run's result are stats and data and",
        change={WATCHES: ("data.memcached_nodes", "result.nodes")},
    ),
    Mistake(
        "a playbook and a role",
        rule="watch-two-contents",
        place="watches.yaml:17",
        says="[1].role: memcached is not run: a playbook goes before a role; remove one of them",
        change={WATCHES: ("  playbook:", "  role: memcached\n  playbook:")},
    ),
    Mistake(
        "a key that is there twice",
        rule="yaml-key-twice",
        place="watches.yaml:6",
        says="the map has the key role twice: the one before is lost; remove one",
        change={WATCHES: ("  role: memcached\n", "  role: memcache\n  role: memcached\n")},
    ),
    Mistake(
        "a field of a blacklist that nobody reads",
        rule="watch-unknown-field",
        place="watches.yaml:6",
        says="[0].blacklist[0].resource: unknown field, ignored; known are group, version, kind",
        change={
            WATCHES: ("  role: memcached\n", "  role: memcached\n  blacklist: [{version: v1, resource: pods}]\n")
        },
    ),
    Mistake(
        "a finalizer with a name that is refused",
        rule="finalizer-name",
        place="watches.yaml:8",
        says='finalizer.name: "cache.example.com/clean up" may have letters, digits, -, _ and . alone',
        change={WATCHES: ("cache.example.com/finalizer", "cache.example.com/clean up")},
    ),
    Mistake(
        "a finalizer without a domain",
        rule="finalizer-without-domain",
        place="watches.yaml:8",
        says='finalizer.name: "cleanup" has no domain, so that another operator may use it as well: choose',
        change={WATCHES: ("cache.example.com/finalizer", "cleanup")},
    ),
    Mistake(
        "a status expression that does not compile",
        rule="watch-status-invalid",
        place="watches.yaml:12",
        says="[0].status.nodes: not a JMESPath expression: ",
        change={WATCHES: ("nodes: data.memcached_nodes", "nodes: data.[memcached")},
    ),
    Mistake(
        "a status field of data that nothing publishes",
        rule="status-unpublished",
        place="watches.yaml:12",
        says="status.nodes: nothing publishes memcached_node: add a task `ansible.builtin.set_stats`",
        change={WATCHES: ("data.memcached_nodes", "data.memcached_node")},
    ),
    Mistake(
        "a status field of a kind that no task writes",
        rule="status-kind-unwritten",
        place="watches.yaml:13",
        says="status.deployed: no task names the kind StatefulSet; known are ConfigMap, Deployment",
        change={WATCHES: ("kind=='Deployment'", "kind=='StatefulSet'")},
    ),
    Mistake(
        "a CRD that is not named by its plural and group",
        rule="crd-name",
        place=f"{CRD}:5",
        says='metadata.name: "memcached.cache.example.com" must be the plural and the group: memcacheds.',
        change={CRD: ("name: memcacheds.cache", "name: memcached.cache")},
    ),
    *(
        Mistake(
            f"a path of crd.{what} that the generated CRD does not have, {name}",
            rule="crd-path-missing",
            place="watches.yaml:7",
            says=f"crd.{what}.{name}: the CRD in {CRD} has no field {says}",
            change={
                WATCHES: ("  finalizer:", f"  crd: {{{what}: {{{name}: {value}}}}}\n  finalizer:"),
                CRD: (
                    "  name: memcacheds",
                    "  annotations: {ansible.sdk.operatorframework.io/generated-by: x}\n  name: memcacheds",
                ),
            },
        )
        for what, name, value, says in (
            ("schema", "spec.sise", "{}", "spec.sise; did you mean spec.size?"),
            ("schema", "nothing", "{}", "nothing; if its role has it, run `ansible-operator generate crds`"),
            ("columns", "Many", "spec.sise", "spec.sise; did you mean spec.size?"),
        )
    ),
    Mistake(
        "a version that is watched and not served",
        rule="crd-not-served",
        place=f"{CRD}:16",
        says="spec.versions[0].served: v1alpha1 is watched and not served: set it to true",
        change={CRD: ("served: true", "served: false")},
    ),
    Mistake(
        "no version that is stored",
        rule="crd-versions",
        place=f"{CRD}:15",
        says="spec.versions: exactly one version must have `storage: true`; 0 of 1 have it",
        change={CRD: ("storage: true", "storage: false")},
    ),
    Mistake(
        "no subresource for a status that is managed",
        rule="crd-no-status-subresource",
        place=f"{CRD}:19",
        says="spec.versions[0].subresources: without the status subresource the operator writes no status: add",
        change={CRD: ("        status: {}\n", "        {}\n")},
    ),
    Mistake(
        "a field without a type",
        rule="schema-type-missing",
        place=f"{CRD}:34",
        says=f"{SPEC}.properties.team: has no type: add one, such as `type: string`",
        change={CRD: field("team", "{description: who pays}")},
    ),
    Mistake(
        "a required field marked in itself",
        rule="schema-keyword",
        place=f"{CRD}:34",
        says=f"{SPEC}.properties.team.required: must be a list, with the names of the fields that must be there",
        change={CRD: field("team", "{type: string, required: true}")},
    ),
    Mistake(
        "a misspelt keyword of a schema",
        rule="schema-keyword",
        place=f"{CRD}:34",
        says=f"{SPEC}.properties.team.maxLenght: unknown field; did you mean maxLength?",
        change={CRD: field("team", "{type: string, maxLenght: 9}")},
    ),
    Mistake(
        "an array without items",
        rule="schema-not-structural",
        place=f"{CRD}:34",
        says=f"{SPEC}.properties.teams: an array needs items: add `items: {{type: …}}`",
        change={CRD: field("teams", "{type: array}")},
    ),
    Mistake(
        "a pattern that Go does not know",
        rule="schema-pattern",
        place=f"{CRD}:34",
        says=f"{SPEC}.properties.team.pattern: is no regular expression of Go: it has (?!, which Go does not know",
        change={CRD: field("team", "{type: string, pattern: '^(?!x)'}")},
    ),
    Mistake(
        "a default that does not fit",
        rule="schema-default",
        place=f"{CRD}:49",
        says=f"{SPEC}.properties.evictionPolicy.default: 'fifo' is not one of ['lru', 'none']: mend it",
        change={CRD: ("default: lru", "default: fifo")},
    ),
    Mistake(
        "two fields that become one variable",
        rule="spec-keys-meet",
        place=f"{CRD}:46",
        says=f"{SPEC}.properties.memory_limit: memoryLimit and memory_limit both become the variable memory_limit",
        change={CRD: (POLICY, f"                memory_limit: {{type: integer}}\n{POLICY}")},
    ),
    Mistake(
        "a field that becomes a variable of Ansible's own",
        rule="spec-shadows-ansible",
        place=f"{CRD}:34",
        says=f"{SPEC}.properties.ansibleConnection: ansible_connection is a variable of Ansible's own, which",
        change={CRD: field("ansibleConnection")},
    ),
    Mistake(
        "a field that becomes a keyword of Ansible's",
        rule="spec-shadows-ansible",
        place=f"{CRD}:34",
        says=f"{SPEC}.properties.hosts: hosts is a keyword of Ansible's, which warns of such a variable",
        change={CRD: field("hosts")},
    ),
    Mistake(
        "a schema that drops the conditions",
        rule="crd-drops-conditions",
        place=f"{CRD}:67",
        says=f"{SCHEMA}.properties.status: the schema drops the conditions: declare them, or set",
        change={
            CRD: (
                "            status:\n              type: object\n"
                "              x-kubernetes-preserve-unknown-fields: true\n",
                "            status:\n              type: object\n              properties:\n"
                "                nodes: {type: string}\n                deployed: {type: string}\n",
            )
        },
    ),
    Mistake(
        "a sample with a value of the wrong type",
        rule="sample-invalid",
        place=f"{SAMPLE}:6",
        says="spec.size: 'three' is not of type 'integer'",
        change={SAMPLE: ("size: 3", "size: three")},
    ),
    Mistake(
        "a sample with a value that is not in the enum",
        rule="sample-invalid",
        place=f"{SAMPLE}:9",
        says="spec.evictionPolicy: 'fifo' is not one of ['lru', 'none']",
        change={SAMPLE: ("evictionPolicy: lru", "evictionPolicy: fifo")},
    ),
    Mistake(
        "a sample with a value that is too large",
        rule="sample-invalid",
        place=f"{SAMPLE}:6",
        says="spec.size: 12 is greater than the maximum of 9",
        change={SAMPLE: ("size: 3", "size: 12")},
    ),
    Mistake(
        "a sample against a pattern",
        rule="sample-invalid",
        place=f"{SAMPLE}:7",
        says="spec.image: 'Memcached 1.6' does not match '^[a-z./:0-9-]+$'",
        change={SAMPLE: ("docker.io/memcached:1.6", "Memcached 1.6")},
    ),
    Mistake(
        "a sample without a field that is required",
        rule="sample-invalid",
        place=f"{SAMPLE}:6",
        says="spec: 'size' is a required property",
        change={SAMPLE: ("  size: 3\n", "")},
    ),
    Mistake(
        "a sample with a field that is pruned",
        rule="sample-pruned",
        place=f"{SAMPLE}:8",
        says="spec.memorylimit: the CRD has no such field, so it is pruned; did you mean memoryLimit?",
        change={SAMPLE: ("memoryLimit", "memorylimit")},
    ),
    Mistake(
        "a sample of a kind that nothing watches",
        rule="sample-unwatched",
        place="config/samples/other.yaml:2",
        says="kind: nothing watches Redis of cache.example.com; watched are CacheBackup, Memcached",
        write={"config/samples/other.yaml": "apiVersion: cache.example.com/v1alpha1\nkind: Redis\n"},
    ),
    Mistake(
        "a sample outside of config",
        rule="sample-invalid",
        place="examples/large.yaml:4",
        says="spec.size: 90 is greater than the maximum of 9",
        write={
            "examples/large.yaml": "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: a}\n"
            "spec: {size: 90}\n"
        },
    ),
    Mistake(
        "a role that does not let the operator write the status",
        rule="rbac-missing",
        place=f"{RBAC}:7",
        says="rules: no role allows update on memcacheds/status, needed to write the status of Memcached; add",
        change={RBAC: ("memcacheds, memcacheds/status,", "memcacheds,")},
    ),
    Mistake(
        "a role that does not let a task create",
        rule="rbac-missing-for-tasks",
        place=f"{RBAC}:7",
        says=f"rules: no role allows create, get, patch on deployments, which {TASKS} does; add",
        change={RBAC: ("resources: [deployments]", "resources: [statefulsets]")},
    ),
    Mistake(
        "a cluster scoped kind whose task names no namespace",
        rule="namespace-missing",
        place="playbooks/cachebackup.yml:21",
        says="the ConfigMap has the namespace ansible_operator_meta.namespace, which is empty:",
        change={
            "config/crd/bases/cache.example.com_cachebackups.yaml": ("scope: Namespaced", "scope: Cluster"),
        },
    ),
)


def test_second_watch_of_a_kind_in_another_version_is_an_error_at_its_line(good: Sound) -> None:
    entry = (
        "- group: cache.example.com\n  version: v1\n  kind: CacheBackup\n  playbook: playbooks/cachebackup.yml\n"
    )
    good.replace(WATCHES, "  reconcilePeriod: 5m\n", f"  reconcilePeriod: 5m\n{entry}  markUnsafe: true\n")
    told = "error: watches.yaml:21: [2].version: CacheBackup is watched as v1alpha1 in line 14 already."
    assert [finding for finding in good.validate() if finding.startswith(told)]


def mounted(size: str, *arguments: str) -> tuple[str, str]:
    """The operator with a volume of that size at /tmp, and more arguments."""
    more = "".join(f"            - {argument}\n" for argument in arguments)
    args = f"          args:\n{more}"
    mount = "          volumeMounts: [{name: tmp, mountPath: /tmp}]\n"
    volume = f"      volumes:\n        - name: tmp\n          emptyDir:\n            sizeLimit: {size}\n"
    return "      containers:\n        - name: manager\n          image: controller:latest\n          args:\n", (
        f"{volume}      containers:\n        - name: manager\n          image: controller:latest\n{mount}{args}"
    )


@pytest.mark.parametrize("arguments", [(), ("--runner-dir=/tmp/runs",), ("--runner-dir-limit=600Mi",)])
def test_volume_that_is_smaller_than_what_runs_may_leave_is_a_warning(
    good: Sound, arguments: tuple[str, ...]
) -> None:
    good.replace(MANAGER, *mounted("512Mi", *arguments))
    (finding,) = good.validate()
    assert finding.startswith(
        f"warning: {MANAGER}:20: emptyDir.sizeLimit: the volume is smaller than what runs may"
    )
    assert "give the operator --runner-dir-limit=384Mi, or more room" in finding


@pytest.mark.parametrize(
    ("size", "arguments"),
    [
        ("1Gi", ()),
        ("512Mi", ("--runner-dir-limit", "384Mi")),
        ("512Mi", ("--runner-dir-limit=0",)),
        ("512Mi", ("--runner-dir=/var/runs",)),
        ("'{{ size }}'", ()),
    ],
)
def test_volume_that_runs_cannot_fill_is_no_finding(good: Sound, size: str, arguments: tuple[str, ...]) -> None:
    good.replace(MANAGER, *mounted(size, *arguments))
    assert good.validate() == []


def test_a_good_project_has_no_findings(good: Sound) -> None:
    assert good.validate() == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_the_mistake_is_found_where_it_is(good: Sound, mistake: Mistake) -> None:
    check(good, mistake)


def test_a_project_without_any_crd_is_told_so(good: Sound) -> None:
    for path in (good.path / "config/crd/bases").iterdir():
        path.unlink()
    found = [finding for finding in good.validate() if "[crd-none]" in finding]
    assert [finding.split(": ")[:2] for finding in found] == [["warning", "watches.yaml:1"]]
