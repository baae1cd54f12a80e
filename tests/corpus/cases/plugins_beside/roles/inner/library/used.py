#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

AnsibleModule({"word": {}}).exit_json(said="the inner role's module")
