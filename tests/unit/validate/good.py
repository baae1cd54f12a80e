"""A project as `init` makes them and an author goes on from there: `validate` finds nothing in it."""

from __future__ import annotations

WATCHES = """\
---
- version: v1alpha1
  group: cache.example.com
  kind: Memcached
  role: memcached
  markUnsafe: true
  finalizer:
    name: cache.example.com/finalizer
    vars:
      state: absent
  status:
    nodes: data.memcached_nodes
    deployed: children[?kind=='Deployment'].metadata.name
- version: v1alpha1
  group: cache.example.com
  kind: CacheBackup
  playbook: playbooks/cachebackup.yml
  markUnsafe: true
  reconcilePeriod: 5m
"""
MEMCACHED = """\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  group: cache.example.com
  names:
    kind: Memcached
    listKind: MemcachedList
    plural: memcacheds
    singular: memcached
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources:
        status: {}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            apiVersion:
              type: string
            kind:
              type: string
            metadata:
              type: object
            spec:
              type: object
              required: [size]
              properties:
                size:
                  type: integer
                  minimum: 1
                  maximum: 9
                image:
                  type: string
                  pattern: ^[a-z./:0-9-]+$
                memoryLimit:
                  x-kubernetes-int-or-string: true
                  anyOf:
                    - type: integer
                    - type: string
                evictionPolicy:
                  type: string
                  enum: [lru, none]
                  default: lru
                labels:
                  type: object
                  additionalProperties:
                    type: string
                ports:
                  type: array
                  items:
                    type: object
                    required: [number]
                    properties:
                      number:
                        type: integer
                        format: int32
                      name:
                        type: string
                        maxLength: 15
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
"""
BACKUP = """\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: cachebackups.cache.example.com
spec:
  group: cache.example.com
  names:
    kind: CacheBackup
    listKind: CacheBackupList
    plural: cachebackups
    singular: cachebackup
  scope: Namespaced
  versions:
    - name: v1alpha1
      schema:
        openAPIV3Schema:
          description: CacheBackup is the Schema for the cachebackups API
          properties:
            apiVersion:
              type: string
            kind:
              type: string
            metadata:
              type: object
            spec:
              description: Spec defines the desired state of CacheBackup
              type: object
              x-kubernetes-preserve-unknown-fields: true
            status:
              description: Status defines the observed state of CacheBackup
              type: object
              x-kubernetes-preserve-unknown-fields: true
          type: object
      served: true
      storage: true
      subresources:
        status: {}
"""
SAMPLE = """\
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata:
  name: memcached-sample
spec:
  size: 3
  image: docker.io/memcached:1.6
  memoryLimit: 64
  evictionPolicy: lru
  labels:
    team: cache
  ports:
    - number: 11211
      name: memcache
"""
BACKUP_SAMPLE = """\
apiVersion: cache.example.com/v1alpha1
kind: CacheBackup
metadata:
  name: cachebackup-sample
spec:
  of: memcached-sample
"""
RBAC = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager-role
rules:
  - apiGroups: [cache.example.com]
    resources: [memcacheds, memcacheds/status, memcacheds/finalizers]
    verbs: [get, list, watch, create, delete, patch, update]
  - apiGroups: [cache.example.com]
    resources: [cachebackups, cachebackups/status, cachebackups/finalizers]
    verbs: [get, list, watch, create, delete, patch, update]
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [get, list, watch, create, delete, patch, update]
  - apiGroups: [""]
    resources: [configmaps, secrets]
    verbs: [get, list, watch, create, delete, patch, update]
  - apiGroups: [""]
    resources: [events]
    verbs: [create, patch]
"""
BINDINGS = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: manager-rolebinding
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: manager-role
subjects:
  - kind: ServiceAccount
    name: controller-manager
    namespace: system
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: leader-election-role
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [get, list, watch, create, update, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: leader-election-rolebinding
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: leader-election-role
subjects:
  - kind: ServiceAccount
    name: controller-manager
    namespace: system
"""
MANAGER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-manager
  namespace: system
spec:
  replicas: 1
  selector:
    matchLabels:
      control-plane: controller-manager
  template:
    metadata:
      labels:
        control-plane: controller-manager
    spec:
      serviceAccountName: controller-manager
      containers:
        - name: manager
          image: controller:latest
          args:
            - --leader-elect
            - --leader-election-id=memcached-operator
"""
DEFAULTS = """\
---
# defaults file for Memcached
state: present
image: docker.io/memcached:1.6
memory_limit: 64
ports: []
"""
TASKS = """\
---
- name: Create the Deployment
  kubernetes.core.k8s:
    state: "{{ state }}"
    definition:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: "{{ ansible_operator_meta.name }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      spec:
        replicas: "{{ size | int }}"
        selector:
          matchLabels:
            app: "{{ ansible_operator_meta.name }}"
        template:
          metadata:
            labels:
              app: "{{ ansible_operator_meta.name }}"
          spec:
            containers:
              - name: memcached
                image: "{{ image }}"
                args: ["-m={{ memory_limit }}", "{{ '-M' if eviction_policy == 'none' else '-v' }}"]
                env:
                  - name: PORTS
                    value: "{{ ports | map(attribute='number') | join(',') }}"

- name: Create the configuration
  kubernetes.core.k8s:
    state: "{{ state }}"
    template: settings.yaml.j2

- name: Say how many there are
  ansible.builtin.set_stats:
    data:
      memcached_nodes: "{{ size }}"
  when: state == "present"
"""
TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ ansible_operator_meta.name }}-settings
  namespace: {{ ansible_operator_meta.namespace }}
data:
  size: "{{ size }}"
  {% for key, value in (labels | default({})).items() %}
  {{ key }}: {{ value | quote }}
  {% endfor %}
"""
PLAYBOOK = """\
---
- name: Back a cache up
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Read the cache
      kubernetes.core.k8s_info:
        api_version: cache.example.com/v1alpha1
        kind: Memcached
        name: "{{ of }}"
        namespace: "{{ ansible_operator_meta.namespace }}"
      register: cache

    - name: Note what was found
      kubernetes.core.k8s:
        definition:
          apiVersion: v1
          kind: ConfigMap
          metadata:
            name: "{{ ansible_operator_meta.name }}-backup"
            namespace: "{{ ansible_operator_meta.namespace }}"
          data:
            found: "{{ cache.resources | length }}"
"""
META = """\
---
galaxy_info:
  author: your name
  description: your description
  license: Apache-2.0
  min_ansible_version: "2.9"
dependencies: []
collections:
  - operator_sdk.util
  - kubernetes.core
"""
REQUIREMENTS = """\
---
collections:
  - name: operator_sdk.util
    version: "0.5.0"
  - name: kubernetes.core
    version: "5.0.0"
"""
FILES = {
    "watches.yaml": WATCHES,
    "requirements.yml": REQUIREMENTS,
    "config/crd/bases/cache.example.com_memcacheds.yaml": MEMCACHED,
    "config/crd/bases/cache.example.com_cachebackups.yaml": BACKUP,
    "config/crd/kustomization.yaml": (
        "resources:\n- bases/cache.example.com_memcacheds.yaml\n- bases/cache.example.com_cachebackups.yaml\n"
    ),
    "config/samples/cache_v1alpha1_memcached.yaml": SAMPLE,
    "config/samples/cache_v1alpha1_cachebackup.yaml": BACKUP_SAMPLE,
    "config/samples/kustomization.yaml": (
        "resources:\n- cache_v1alpha1_memcached.yaml\n- cache_v1alpha1_cachebackup.yaml\n"
    ),
    "config/rbac/role.yaml": RBAC,
    "config/rbac/bindings.yaml": BINDINGS,
    "config/manager/manager.yaml": MANAGER,
    "roles/memcached/defaults/main.yml": DEFAULTS,
    "roles/memcached/tasks/main.yml": TASKS,
    "roles/memcached/handlers/main.yml": "---\n# handlers file for Memcached\n",
    "roles/memcached/vars/main.yml": "---\n# vars file for Memcached\n",
    "roles/memcached/meta/main.yml": META,
    "roles/memcached/templates/settings.yaml.j2": TEMPLATE,
    "playbooks/cachebackup.yml": PLAYBOOK,
}
