#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

AnsibleModule({"kind": {}}).exit_json(said="a k8s_info of the role", resources=[])
