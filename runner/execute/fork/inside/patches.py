"""What Ansible works out in every run though it comes out the same every time: worked out once, in the zygote.

Nothing here depends on the configuration, the environment or a role.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.cli.playbook import PlaybookCLI
from ansible.plugins import get_plugin_class, loader, strategy
from ansible.plugins.loader import callback_loader
from ansible.vars.clean import clean_facts

from .wire import HEAD


def compute_once() -> None:
    """Before any plugin is loaded."""
    _documentation_without_options()
    _parser()
    _lexer()
    _patterns()


def _documentation_without_options() -> None:
    """Is parsed whenever the plugin is asked for, because no option of it is known."""
    nothing: set[tuple[str, str]] = set()
    load = loader.PluginLoader._load_config_defs

    def load_once(plugins: Any, name: str, module: Any, path: str) -> None:
        if (plugins.class_name, path) in nothing:
            return
        load(plugins, name, module, path)
        if plugins.class_name and not C.config.has_configuration_definition(
            get_plugin_class(plugins.class_name), name
        ):
            nothing.add((plugins.class_name, path))

    loader.PluginLoader._load_config_defs = load_once


def _parser() -> None:
    """The parser of the command line, with the patterns that it makes."""
    made = PlaybookCLI(["ansible-playbook"])
    made.init_parser()
    made.parser.parse_args(["playbook"])

    def init_parser(cli: PlaybookCLI) -> None:
        cli.parser = made.parser

    PlaybookCLI.init_parser = init_parser


def _lexer() -> None:
    """That of templates, which keeps its patterns by itself."""
    try:
        from ansible._internal._templating._jinja_bits import AnsibleEnvironment
    except ImportError:  # in 2.18
        from ansible.template import AnsibleEnvironment
    _ = AnsibleEnvironment().lexer


def _patterns() -> None:
    """What `re` keeps of what was compiled."""
    clean_facts({})
    with suppress(AttributeError):
        ini = loader.inventory_loader.get("ini", class_only=True)
        object.__new__(ini)._compile_patterns()


_LONGEST = 0.02
"""Seconds; workers that died leave no result, and are looked for as often."""
_arrived = threading.Event()


class _Results(deque[Any]):
    def append(self, result: Any) -> None:
        super().append(result)
        _arrived.set()


class _Time:
    """In the place of the module `time`, as far as strategies use it."""

    @staticmethod
    def sleep(_seconds: float) -> None:
        _arrived.wait(_LONGEST)
        _arrived.clear()  # who comes back from here looks at all results there are

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def wake_play_by_results() -> None:
    """Let the strategies that Ansible brings wait this way."""
    strategy.deque = _Results
    strategy.time = _Time()


_CALLBACK = "/ansible_runner/display_callback/callback/awx_display.py"


def send_events_to(descriptor: int) -> None:
    """From now on, in this process; in others that it forks the files are written."""
    os.set_inheritable(descriptor, False)
    play, lock, load = os.getpid(), threading.Lock(), callback_loader._load_module_source

    def load_and_patch(*arguments: Any, **named: Any) -> Any:
        module = load(*arguments, **named)
        if str(getattr(module, "__file__", "")).endswith(_CALLBACK) and hasattr(module, "IsolatedFileWrite"):
            _patch_callback(module, send)
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


def _patch_callback(module: Any, send: Callable[[bytes], bool]) -> None:
    to_file = module.IsolatedFileWrite.set

    def to_pipe(writer: Any, key: str, value: dict[str, Any]) -> None:
        if not send(json.dumps(value, cls=module.AnsibleJSONEncoderLocal).encode()):
            to_file(writer, key, value)

    module.IsolatedFileWrite.set = to_pipe
