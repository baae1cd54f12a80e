"""Good projects that look like mistakes: `validate` finds nothing in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.unit.validate.conftest import Sound

WATCHES = "watches.yaml"
CRD = "config/crd/bases/cache.example.com_memcacheds.yaml"
BACKUP = "config/crd/bases/cache.example.com_cachebackups.yaml"
SAMPLE = "config/samples/cache_v1alpha1_memcached.yaml"
RBAC = "config/rbac/role.yaml"
TASKS = "roles/memcached/tasks/main.yml"
PLAYBOOK = "playbooks/cachebackup.yml"
NAMESPACE = 'namespace: "{{ ansible_operator_meta.namespace }}"'
SIZE = "                size:\n                  type: integer\n"
DATA = 'data:\n      memcached_nodes: "{{ size }}"'
COMPONENTS = "kind: Kustomization\ncomponents: [{}]\n"
PATCH = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  conversion: {strategy: Webhook}
"""
ADMIN = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: admin}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: controller-manager, namespace: system}]
"""


@dataclass(frozen=True)
class Variation:
    """`change` has texts and what takes their place, in pairs; `write` whole files."""

    name: str
    change: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    write: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


VARIATIONS = (
    Variation("a part of a CRD that kustomize merges", write={"config/crd/webhook_in_memcacheds.yaml": PATCH}),
    Variation(
        "a part of a custom resource that kustomize merges",
        write={"config/samples/size_patch.yaml": "kind: Memcached\napiVersion: cache.example.com/v1alpha1\n"},
    ),
    Variation(
        "a service account that may do anything",
        change={RBAC: (("resources: [deployments]", "resources: [statefulsets]"),)},
        write={"config/rbac/admin.yaml": ADMIN},
    ),
    Variation(
        "a rule for a single object that a task writes",
        change={RBAC: (("resources: [deployments]", "resources: [deployments]\n    resourceNames: [cache]"),)},
    ),
    Variation(
        "a task that only removes",
        change={
            TASKS: (('state: "{{ state }}"\n    definition', "state: absent\n    definition"),),
            RBAC: (
                (
                    "resources: [deployments]\n    verbs: [get, list, watch, create, delete, patch, update]",
                    "resources: [deployments]\n    verbs: [get, list, watch, delete]",
                ),
            ),
        },
    ),
    Variation(
        "data with names that are known at run time",
        change={TASKS: ((DATA, 'data: "{{ published }}"'),)},
        write={"roles/memcached/vars/main.yml": "published: {memcached_nodes: 3}\n"},
    ),
    Variation(
        "a role of a collection that may publish",
        change={
            TASKS: ((DATA, "data: {other: 1}"),),
            "roles/memcached/meta/main.yml": (("dependencies: []", "dependencies: [operator_sdk.util.publish]"),),
        },
    ),
    Variation(
        "a module that may write any kind",
        change={
            WATCHES: (("kind=='Deployment'", "kind=='StatefulSet'"),),
            TASKS: (
                ("- name: Say how", "- name: Install\n  ansible.builtin.command: install\n\n- name: Say how"),
            ),
        },
    ),
    Variation(
        "a sample that is a template",
        write={
            "molecule/default/cr.yaml": "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\n"
            "metadata: {name: a}\nspec: {size: '{{ size }}'}\n"
        },
    ),
    Variation(
        "an object of somebody else's group",
        write={"config/certmanager/issuer.yaml": "apiVersion: cert-manager.io/v1\nkind: Issuer\nspec: {x: 1}\n"},
    ),
    Variation(
        "webhooks with the operator's own certificate",
        write={"config/default/kustomization.yaml": COMPONENTS.format("../webhook, ../own-certificate")},
    ),
    Variation(
        "webhooks with a certificate that somebody else makes",
        write={
            "config/default/kustomization.yaml": COMPONENTS.format("../webhook"),
            "config/tls/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: webhook-server-cert}\n",
        },
    ),
    Variation(
        "a sample without what has a default, and with a null",
        change={
            CRD: (("required: [size]", "required: [size, evictionPolicy]"),),
            SAMPLE: (("evictionPolicy: lru", "image: null"), ("  image: docker.io/memcached:1.6\n", "")),
        },
    ),
    Variation(
        "a kubeconfig among the templates",
        write={"roles/memcached/templates/kubeconfig.j2": "apiVersion: v1\nkind: Config\nclusters: []\n"},
    ),
    Variation(
        "a cluster scoped kind whose task names a namespace",
        change={
            BACKUP: (("scope: Namespaced", "scope: Cluster"),),
            PLAYBOOK: ((NAMESPACE, 'namespace: "{{ to }}"'),),
        },
    ),
    Variation(
        "keys that meet in snake case, which is not asked for",
        change={
            CRD: ((SIZE, f"                memory_limit: {{type: integer}}\n{SIZE}"),),
            WATCHES: (("role: memcached\n", "role: memcached\n  snakeCaseParameters: false\n"),),
            TASKS: (("eviction_policy ==", "evictionPolicy =="),),
        },
    ),
    Variation(
        "a field named like a harmless keyword of Ansible's",
        change={CRD: ((SIZE, f"                port: {{type: integer}}\n{SIZE}"),)},
    ),
)


@pytest.mark.parametrize("variation", VARIATIONS, ids=str)
def test_it_is_no_finding(good: Sound, variation: Variation) -> None:
    good.install("operator_sdk.util.publish")
    for file, changes in variation.change.items():
        for old, new in changes:
            good.replace(file, old, new)
    good.write(variation.write)
    assert good.validate() == []
