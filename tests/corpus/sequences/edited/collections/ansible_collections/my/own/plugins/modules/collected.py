#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.my.own.plugins.module_utils.util import WORD

AnsibleModule({}).exit_json(said="collected: first", util=WORD)
