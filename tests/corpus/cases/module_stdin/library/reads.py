#!/usr/bin/python
import os
import sys

from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({})
module.exit_json(said="stdin: %r %s %s" % (sys.stdin.read(), os.isatty(0), os.isatty(1)))
