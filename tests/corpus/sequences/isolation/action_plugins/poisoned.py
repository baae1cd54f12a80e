import os
import sys

from ansible.plugins.action import ActionBase
from ansible.plugins.loader import filter_loader

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "roles/own/python"))


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        import helper

        result = super().run(tmp, task_vars)
        which = self._task.args["which"]
        function = filter_loader.get(which).j2_function
        if which == "poison":
            function("", "action")
            helper.WORD = "poisoned"
        else:
            result["sensed"] = function("", "action")
        result["helper"] = helper.WORD
        return result
