#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.configured_util import WORD

AnsibleModule({}).exit_json(said=WORD)
