#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.text.converters import to_text
from ansible.module_utils.facts.timeout import WORD
from ansible.module_utils.splitter import split_args

AnsibleModule({}).exit_json(said=WORD, split=split_args("a b"), text=to_text(b"x"))
