#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule(
    {
        "password": {"type": "str", "no_log": True},
        "fail": {"type": "bool", "default": False},
        "nested": {"type": "dict", "options": {"token": {"no_log": True}, "open": {}}},
    }
)
module.log("used %s" % module.params["password"])
if module.params["fail"]:
    module.fail_json(msg="cannot use %s" % module.params["password"], deep=[{"a": module.params["password"]}])
module.exit_json(echo="it is %s" % module.params["password"], keys={module.params["password"]: 1})
