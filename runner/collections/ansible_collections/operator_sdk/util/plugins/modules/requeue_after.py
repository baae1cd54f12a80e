#!/usr/bin/python
"""Asks the operator, through the events of the run, to run the content again."""

from __future__ import annotations

import re

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: requeue_after
short_description: Have the operator run the content again after a while
description:
  - Tells the operator that runs this role or playbook to run it again for the same custom resource.
  - The run goes on; the delay counts from its end, in place of the reconcile period. Until a run ends without
    asking, the custom resource does not become C(Successful) and keeps its finalizer.
  - A run that fails says so in the status, and is run again after the delay, too.
author: The authors of ansible-operator-runner
options:
  time:
    description:
      - The delay, in hours, minutes and seconds, such as V(30s) or V(1h30m). V(0s) asks for nothing.
      - Numbers need a unit; without one, the operator makes the run a failed one.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Look at the restore
  kubernetes.core.k8s_info:
    api_version: batch/v1
    kind: Job
    namespace: "{{ ansible_operator_meta.namespace }}"
    name: restore
  register: restore

- name: Come back for it
  operator_sdk.util.requeue_after:
    time: 30s
  when: not restore.resources[0].status.succeeded | default(0)
"""

RETURN = r"""
period:
  description: The delay as it was given.
  returned: success
  type: str
  sample: 30s
"""


def main() -> None:
    module = AnsibleModule(argument_spec={"time": {"type": "str", "required": True}})
    period = module.params["time"]
    if not re.fullmatch("[hms0-9]*", period):
        module.fail_json(msg="invalid time input")
    module.exit_json(changed=False, period=period)


if __name__ == "__main__":
    main()
