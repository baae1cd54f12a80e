#!/usr/bin/python
import sys

from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({"word": {}})
module.exit_json(executable=sys.executable, version=sys.version, word=module.params["word"])
