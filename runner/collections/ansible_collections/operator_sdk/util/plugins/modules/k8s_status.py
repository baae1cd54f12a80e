#!/usr/bin/python
"""Changes the status of a custom resource."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import (
    MERGE_PATCH,
    Api,
    ApiError,
    Json,
    Resource,
    connect,
    fail,
)
from ansible_collections.operator_sdk.util.plugins.module_utils.login import LOGIN_OPTIONS
from ansible_collections.operator_sdk.util.plugins.module_utils.status import merged, validated

DOCUMENTATION = r"""
module: k8s_status
short_description: Change the status of a custom resource
description:
  - Merges keys and conditions into the status of an object whose kind has the status subresource, or replaces it.
  - Nothing is sent where nothing would change. If somebody else writes between the module's reading and its
    writing, it reads and decides again.
author: The authors of ansible-operator-runner
extends_documentation_fragment: operator_sdk.util.auth
options:
  api_version:
    description: Group and version of the kind.
    type: str
    default: v1
    aliases: [api, version]
  kind:
    description: The kind, or else its plural, singular or a short name.
    type: str
    required: true
  name:
    description: Name of the object.
    type: str
    required: true
  namespace:
    description: Namespace of the object, if its kind is namespaced.
    type: str
  status:
    description:
      - Keys of the status. Maps are merged, a null removes a key, and anything else is replaced.
      - A list whose every element is there already stays as it is, unless O(replace_lists) is set.
      - Conditions in it are merged by type, without being validated.
    type: dict
  conditions:
    description:
      - Conditions to merge by type. One that is there is replaced as a whole if any key but C(lastTransitionTime)
        differs, and kept otherwise; those that are not named stay. Times are never filled in.
      - Not together with conditions in O(status).
    type: list
    elements: dict
    default: []
    suboptions:
      type:
        description: Type of the condition.
        type: str
        required: true
      status:
        description: V(True), V(False) or V(Unknown); a boolean is taken for its name.
        type: raw
        required: true
      reason:
        description: One word of letters.
        type: str
      message:
        description: A text for people.
        type: str
      lastHeartbeatTime:
        description: An RFC 3339 time.
        type: str
      lastTransitionTime:
        description: An RFC 3339 time.
        type: str
  replace:
    description: Make the status exactly what is given, and empty where nothing is.
    type: bool
    default: false
    aliases: [force]
  replace_lists:
    description: When merging, make each list in O(status) exactly what is given. Conditions are no such list.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Say which version is deployed
  operator_sdk.util.k8s_status:
    api_version: app.example.com/v1
    kind: Database
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    status:
      version: "17"

- name: Say that backups are on
  operator_sdk.util.k8s_status:
    api_version: app.example.com/v1
    kind: Database
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    conditions:
      - type: BackedUp
        status: "True"
        reason: Scheduled
        message: Every night at two
"""

RETURN = r"""
result:
  description:
    - The object as it is now.
    - After O(replace) that changed it, a list with that one object.
  returned: success
  type: raw
error:
  description: What the API server answered, or what is wrong with a condition.
  returned: failure
  type: raw
"""

TRIES = 5
"""How often the object is read anew because somebody else wrote to it."""

ARGUMENTS = dict(
    LOGIN_OPTIONS,
    api_version={"type": "str", "default": "v1", "aliases": ["api", "version"]},
    kind={"type": "str", "required": True},
    name={"type": "str", "required": True},
    namespace={"type": "str"},
    status={"type": "dict"},
    conditions={"type": "list", "elements": "dict", "default": []},
    replace={"type": "bool", "default": False, "aliases": ["force"]},
    replace_lists={"type": "bool", "default": False},
)


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS)
    wanted = _wanted(module)
    api = connect(module)
    path = _path(module, _resource(module, api))
    for left in reversed(range(TRIES)):
        current = _read(module, api, path)
        change = _change(module.params, current, wanted)
        if change is None:
            module.exit_json(changed=False, result=current)
            return
        try:
            module.exit_json(changed=True, result=_write(module.params, api, path, current, change))
        except ApiError as error:
            if error.status != 409 or not left:
                fail(module, f"Failed to replace status: {error}", error)


def _wanted(module: AnsibleModule) -> Json:
    """The status that is asked for, its conditions among it."""
    wanted = dict(module.params["status"] or {})
    try:
        conditions = validated(module.params["conditions"] or [])
    except ValueError as error:
        fail(module, "The specified conditions failed to validate", error)
    if not conditions:
        return wanted
    if wanted.get("conditions"):
        fail(module, "You cannot specify conditions in both the 'status' and 'conditions' parameters")
    return dict(wanted, conditions=conditions)


def _resource(module: AnsibleModule, api: Api) -> Resource:
    version, kind = module.params["api_version"], module.params["kind"]
    try:
        found = api.find(version, kind)
    except ApiError as error:
        fail(module, f"Failed to retrieve the kinds of {version}: {error}", error)
    if found is None:
        fields = "[kind, name, singularName, shortNames]"
        fail(module, f"Failed to find exact match for {version}.{kind} by {fields}")
    if not found.has_status:
        fail(module, f"Resource {found.version}.{found.kind} does not support the status subresource")
    return found


def _path(module: AnsibleModule, resource: Resource) -> str:
    try:
        return resource.path(module.params["namespace"], module.params["name"])
    except ValueError as error:
        fail(module, str(error))


def _read(module: AnsibleModule, api: Api, path: str) -> Json:
    try:
        return api.call("get", path)
    except ApiError as error:
        fail(module, "Failed to retrieve requested object", error)


def _change(params: Json, current: Json, wanted: Json) -> Json | None:
    """The status to send, None when there is nothing to change."""
    if params["replace"]:
        return wanted if wanted != current.get("status", {}) else None
    return merged(current.get("status"), wanted, replace_lists=params["replace_lists"])


def _write(params: Json, api: Api, path: str, current: Json, status: Json) -> Any:  # noqa: ANN401  (an object, or a list of one)
    """The object as it is then; the resourceVersion that was read keeps others' writes from being lost."""
    if params["replace"]:
        return [api.call("put", path + "/status", dict(current, status=status))]
    metadata = {"resourceVersion": current["metadata"]["resourceVersion"]}
    return api.call("patch", path + "/status", {"metadata": metadata, "status": status}, MERGE_PATCH)


if __name__ == "__main__":
    main()
