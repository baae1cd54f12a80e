from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        result.update(self._execute_module(module_name="my.own.used", module_args=self._task.args, task_vars=task_vars))
        result["said"] += ", collection action"
        return result
