#!/usr/bin/python
"""Adds to a metric of the operator's user metrics API."""

from __future__ import annotations

import json
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import fetch_url

DOCUMENTATION = r"""
module: osdk_metric
short_description: Add to a metric that the operator exposes
description:
  - Registers a metric at its first use, and changes its value. It appears, without labels, among the metrics of
    the operator, and lives as long as the operator's process.
  - Exactly one of O(counter), O(gauge), O(histogram) and O(summary) is to be given, and always the same one for
    a name.
author: The authors of ansible-operator-runner
options:
  name:
    description: Name of the metric. One of the operator's own is refused.
    type: str
    required: true
  description:
    description: What the metric means; that of its first use stays.
    type: str
    required: true
  address:
    description: URL of the user metrics API. It is never asked through an HTTP proxy.
    type: str
    default: http://localhost:5050/metrics
  counter:
    description: A number that only grows. Empty, the metric is only registered.
    type: dict
    suboptions:
      increment:
        description: Add 1.
        type: bool
      add:
        description: Add this number, which must not be negative. O(counter.increment) goes before it.
        type: float
  gauge:
    description:
      - A number that goes up and down. Empty, the metric is only registered.
      - Of several suboptions one applies, in the order O(gauge.increment), O(gauge.decrement), O(gauge.add),
        O(gauge.subtract), O(gauge.set), O(gauge.set_to_current_time).
    type: dict
    suboptions:
      increment:
        description: Add 1.
        type: bool
      decrement:
        description: Subtract 1.
        type: bool
      add:
        description: Add this number.
        type: float
      subtract:
        description: Subtract this number.
        type: float
      set:
        description: Make it this number.
        type: float
      set_to_current_time:
        description: Make it the current Unix time.
        type: bool
  histogram:
    description: A distribution, in buckets from 0.005 to 10.
    type: dict
    suboptions:
      observe:
        description: The number to record; without it, 0 is.
        type: float
  summary:
    description: A distribution of which only sum and count are kept.
    type: dict
    suboptions:
      observe:
        description: The number to record; without it, 0 is.
        type: float
"""

EXAMPLES = r"""
- name: Count the backups
  operator_sdk.util.osdk_metric:
    name: backups_total
    description: Backups that were made
    counter:
      increment: true

- name: Say how large the last one was
  operator_sdk.util.osdk_metric:
    name: backup_size_bytes
    description: Size of the last backup
    gauge:
      set: "{{ backup.stat.size }}"
"""

RETURN = r"""
status_code:
  description: The HTTP status by which the operator refused; -1 where it did not answer.
  returned: failure
  type: int
  sample: 400
"""

KINDS = {
    "counter": {"increment": "bool", "add": "float"},
    "gauge": {
        "increment": "bool",
        "decrement": "bool",
        "add": "float",
        "subtract": "float",
        "set": "float",
        "set_to_current_time": "bool",
    },
    "histogram": {"observe": "float"},
    "summary": {"observe": "float"},
}


def main() -> None:
    module = AnsibleModule(argument_spec=_arguments())
    given = module.params
    request = {"name": given["name"], "description": given["description"]}
    request.update({kind: given[kind] for kind in KINDS if given[kind]})
    answer, info = fetch_url(
        module,
        given["address"],
        data=json.dumps(request),
        headers={"Content-Type": "application/json"},
        method="POST",
        use_proxy=False,
    )
    if info["status"] != 200:
        module.fail_json(msg=_text(info), status_code=info["status"])
    answer.close()
    module.exit_json(changed=True)


def _arguments() -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "name": {"type": "str", "required": True},
        "description": {"type": "str", "required": True},
        "address": {"type": "str", "default": "http://localhost:5050/metrics"},
    }
    for kind, fields in KINDS.items():
        arguments[kind] = {"type": "dict", "options": {name: {"type": type_} for name, type_ in fields.items()}}
    return arguments


def _text(info: dict[str, Any]) -> str:
    """What the operator said, or why nobody was asked."""
    body = info.get("body") or info["msg"]
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)


if __name__ == "__main__":
    main()
