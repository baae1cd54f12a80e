import os
import sys

from ansible.errors import AnsibleActionFail, AnsibleActionSkip
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        how = self._task.args["how"]
        if how == "raise":
            raise ValueError("an action raised")
        if how == "fail":
            raise AnsibleActionFail("an action failed")
        if how == "skip":
            raise AnsibleActionSkip("an action skipped")
        if how == "exit":
            os._exit(9)
        if how == "sys.exit":
            sys.exit(1)
        if how == "warn":
            Display().warning("an action warned")
            Display().warning("an action warned")
            Display().deprecated("an action is deprecated", version="9.9")
            Display().display("an action displayed", color="blue")
            Display().v("an action at -v")
            Display().error("an action erred")
        if how == "stderr":
            print("an action printed", file=sys.stderr, flush=True)
        return {"changed": False, "how": how}
