#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.in_role_util import WORD

AnsibleModule({}).exit_json(said="module: first", util=WORD)
