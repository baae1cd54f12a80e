"""What ansible-runner's callback knows of an event goes to the operator through a pipe, not as a file.

Making and moving the files was a twentieth of what a run of one task costs.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any

from ansible.plugins.loader import callback_loader

from .wire import HEAD

_CALLBACK = "/ansible_runner/display_callback/callback/awx_display.py"


def install(descriptor: int) -> None:
    """From now on, in this process; in others that it forks the files are written."""
    os.set_inheritable(descriptor, False)
    play, lock, load = os.getpid(), threading.Lock(), callback_loader._load_module_source

    def load_and_patch(*arguments: Any, **named: Any) -> Any:
        module = load(*arguments, **named)
        if str(getattr(module, "__file__", "")).endswith(_CALLBACK) and hasattr(module, "IsolatedFileWrite"):
            _patch(module, send)
        return module

    def send(part: bytes) -> bool:
        if os.getpid() != play:
            return False
        rest = memoryview(HEAD.pack(len(part)) + part)
        with lock:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        return True

    callback_loader._load_module_source = load_and_patch


def _patch(module: Any, send: Callable[[bytes], bool]) -> None:
    to_file = module.IsolatedFileWrite.set

    def to_pipe(writer: Any, key: str, value: dict[str, Any]) -> None:
        if not send(json.dumps(value, cls=module.AnsibleJSONEncoderLocal).encode()):
            to_file(writer, key, value)

    module.IsolatedFileWrite.set = to_pipe
