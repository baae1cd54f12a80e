#!/usr/bin/python
import sys
from ansible.module_utils.basic import AnsibleModule
WORDS = [__name__, sys.argv[0].rpartition("/")[2], "toplevel.py"]
AnsibleModule({"a": {"required": True}}).exit_json(words=WORDS[2:])
