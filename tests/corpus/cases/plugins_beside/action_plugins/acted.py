import os

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        inner = self._execute_module(module_name="used", module_args={"word": self._task.args["word"]}, task_vars=task_vars)
        result.update(inner, said="beside action", cwd=os.getcwd(), check=self._task.check_mode)
        return result
