from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "heard"
    CALLBACK_NEEDS_ENABLED = False

    def v2_runner_on_ok(self, result):
        self._display.display("beside callback heard")
