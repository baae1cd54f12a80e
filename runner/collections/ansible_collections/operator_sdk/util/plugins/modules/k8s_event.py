#!/usr/bin/python
"""Writes a Kubernetes Event, or counts one that is there."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import (
    STRATEGIC_MERGE_PATCH,
    Api,
    ApiError,
    Resource,
    connect,
    fail,
)
from ansible_collections.operator_sdk.util.plugins.module_utils.login import LOGIN_OPTIONS

DOCUMENTATION = r"""
module: k8s_event
short_description: Write a Kubernetes Event, or count one that is there
description:
  - Creates an Event of this name, or changes the one that is there. With the same reason as before it is counted -
    C(count) grows and C(firstTimestamp) stays - and with another it starts anew.
  - As the time of an Event changes with each use, so does the Event.
author: The authors of ansible-operator-runner
extends_documentation_fragment: operator_sdk.util.auth
options:
  name:
    description: Name of the Event.
    type: str
    required: true
  namespace:
    description: Namespace of the Event; the same as that of the object it is about.
    type: str
    required: true
  message:
    description: A text for people.
    type: str
    required: true
  reason:
    description: A word for programs.
    type: str
    required: true
  type:
    description: Whether it is bad news.
    type: str
    choices: [Normal, Warning]
    default: Normal
  reportingComponent:
    description: Name of the controller that the Event is from.
    type: str
  source:
    description: Where the Event is from.
    type: dict
    suboptions:
      component:
        description: Name of the component.
        type: str
        required: true
  involvedObject:
    description:
      - The object that the Event is about. Its uid and resourceVersion are looked up, if it exists.
      - Without it, the API server takes the Event in the namespace C(default) only.
    type: dict
    suboptions:
      apiVersion:
        description: Group and version of its kind.
        type: str
        required: true
      kind:
        description: Its kind.
        type: str
        required: true
      name:
        description: Its name.
        type: str
        required: true
      namespace:
        description: Its namespace.
        type: str
        required: true
  appendTimestamp:
    description: Append the time to the name, so that each use writes an Event of its own.
    type: bool
    default: false
  state:
    description: Has no effect; for tasks that are written so.
    type: str
    default: present
    choices: [present, absent]
  merge_type:
    description: Has no effect; for tasks that are written so.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Tell of the backup
  operator_sdk.util.k8s_event:
    name: "{{ ansible_operator_meta.name }}-backup"
    namespace: "{{ ansible_operator_meta.namespace }}"
    type: Normal
    reason: BackupMade
    message: The nightly backup was made
    reportingComponent: database-operator
    source:
      component: database-operator
    involvedObject:
      apiVersion: app.example.com/v1
      kind: Database
      name: "{{ ansible_operator_meta.name }}"
      namespace: "{{ ansible_operator_meta.namespace }}"
"""

RETURN = r"""
result:
  description: The Event as it is now.
  returned: success
  type: dict
error:
  description: What the API server answered.
  returned: failure
  type: dict
"""

_REFERENCE = {name: {"type": "str", "required": True} for name in ("apiVersion", "kind", "name", "namespace")}
ARGUMENTS = dict(
    LOGIN_OPTIONS,
    name={"type": "str", "required": True},
    namespace={"type": "str", "required": True},
    message={"type": "str", "required": True},
    reason={"type": "str", "required": True},
    type={"type": "str", "choices": ["Normal", "Warning"], "default": "Normal"},
    reportingComponent={"type": "str"},
    source={"type": "dict", "options": {"component": {"type": "str", "required": True}}},
    involvedObject={"type": "dict", "options": _REFERENCE},
    appendTimestamp={"type": "bool", "default": False},
    state={"type": "str", "default": "present", "choices": ["present", "absent"]},
    merge_type={"type": "list", "elements": "str"},
)


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS)
    api = connect(module)
    try:
        old, new = _written(api, module.params, datetime.now(timezone.utc))
    except (ApiError, ValueError) as error:
        fail(module, f"Unable to create event: {error}", error)
    module.exit_json(changed=new != old, result=new)


def _written(api: Api, params: dict[str, Any], now: datetime) -> Any:  # noqa: ANN401  (two objects)
    """The Event before and after; before is None where there was none."""
    events = Resource("/api/v1", "v1", "Event", "events", namespaced=True, has_status=False)
    everything = events.path(params["namespace"])
    name = params["name"]
    if params["appendTimestamp"]:
        name = f"{name}.{now.replace(tzinfo=None)}"
    path = events.path(params["namespace"], name)
    old = None if params["appendTimestamp"] else _existing(api, path)
    event = wanted(params, name, now, old, _involved(api, params["involvedObject"]))
    if old is None:
        return None, api.call("post", everything, event)
    return old, api.call("patch", path, event, STRATEGIC_MERGE_PATCH)


def wanted(
    params: dict[str, Any], name: str, now: datetime, old: dict[str, Any] | None, involved: dict[str, Any]
) -> dict[str, Any]:
    """The Event to write, given the one that is there."""
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    again = old if old is not None and old.get("reason") == params["reason"] else {}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": params["namespace"]},
        "type": params["type"],
        "reason": params["reason"],
        "message": params["message"],
        "count": (again.get("count") or 0) + 1,
        "firstTimestamp": again.get("firstTimestamp") or moment,
        "lastTimestamp": moment,
    }
    optional = {
        "reportingComponent": params["reportingComponent"],
        "source": params["source"],
        "involvedObject": involved,
    }
    return dict(event, **{field: value for field, value in optional.items() if value})


def _involved(api: Api, reference: dict[str, Any] | None) -> dict[str, Any]:
    """The reference, with uid and resourceVersion if what it refers to exists."""
    if not reference:
        return {}
    resource = api.find(reference["apiVersion"], reference["kind"])
    found = resource and _existing(api, resource.path(reference["namespace"], reference["name"]))
    if not found:
        return reference
    return dict(reference, **{field: found["metadata"][field] for field in ("uid", "resourceVersion")})


def _existing(api: Api, path: str) -> dict[str, Any] | None:
    try:
        return api.call("get", path)
    except ApiError as error:
        if error.status == 404:
            return None
        raise


if __name__ == "__main__":
    main()
