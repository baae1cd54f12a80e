#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

AnsibleModule({"path": {}}).exit_json(said="stat of the playbook", stat={"exists": False})
