#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

AnsibleModule({}).exit_json(ping="a ping of the role")
