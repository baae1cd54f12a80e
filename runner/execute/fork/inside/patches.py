"""Every change to objects of Ansible's, and of libraries that it or its modules use. Nothing else here makes one.

Each function says what it replaces, why, and for which releases (of ansible-core, if nothing else is named). What
takes its place is where its idea is: tasks without a worker in `inline`, modules that a host runs in `calls`. The
process of modules must never import Ansible's controller side: therefore each function imports for itself.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

# Plays: before the first run, in the process that runs are forked from


def skip_init_of_plugin_loader() -> None:
    """`ansible.cli.init_plugin_loader`: it is done once for all runs, and warns when done twice. 2.18, 2.19."""
    from ansible import cli

    cli.init_plugin_loader = lambda _places=None: None


def remember_plugins_without_options() -> None:
    """`PluginLoader._load_config_defs`: parses documentation at each use if no option is in it. 2.18, 2.19."""
    from ansible import constants as C  # noqa: N812
    from ansible.plugins import get_plugin_class, loader

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


def keep_parser_of_command_line() -> None:
    """`PlaybookCLI.init_parser`: the parser is the same for each run, with the patterns it makes. 2.18, 2.19."""
    from ansible.cli.playbook import PlaybookCLI

    made = PlaybookCLI(["ansible-playbook"])
    made.init_parser()
    made.parser.parse_args(["playbook"])

    def init_parser(cli: PlaybookCLI) -> None:
        cli.parser = made.parser

    PlaybookCLI.init_parser = init_parser


def forget_paths(plugins: Any) -> None:
    """Of a `PluginLoader`, what it has found: each run has plugin directories of its own. 2.18, 2.19."""
    from ansible.plugins import loader

    plugins._paths = loader.PATH_CACHE[plugins.class_name] = None
    plugins._plugin_path_cache.clear()
    plugins._searched_paths.clear()


class _Time:
    """In the place of the module `time`, for who sleeps between two looks at something."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self.sleep = sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def wake_strategies_by_results() -> None:
    """`deque` and `time` of `ansible.plugins.strategy`, which sleeps between two looks for results. 2.18, 2.19."""
    from ansible.plugins import strategy

    arrived = threading.Event()

    class Results(deque[Any]):
        def append(self, result: Any) -> None:
            super().append(result)
            arrived.set()

    def sleep(_seconds: float) -> None:
        arrived.wait(0.02)  # workers that died leave no result, and are looked for as often
        arrived.clear()  # who comes back from here looks at all results there are

    strategy.deque = Results
    strategy.time = _Time(sleep)


# Plays: in each run


def draw_new_task_ids() -> None:
    """`random_int` and `cur_id` of `ansible.utils.vars`, drawn at import: two runs had the same. 2.18, 2.19."""
    from ansible.utils import vars as ids

    ids.cur_id = 0
    ids.random_int = secrets.token_hex(4)


def look_for_callbacks_in(paths: list[str]) -> None:
    """`callback_loader.config`, read at import: ansible-runner names its own directory by run. 2.18, 2.19."""
    from ansible.plugins.loader import callback_loader

    callback_loader.config = paths


_CALLBACK = "/ansible_runner/display_callback/callback/awx_display.py"


def send_events(send: Callable[[bytes], bool]) -> None:
    """`IsolatedFileWrite.set` of ansible-runner's callback, which writes a file for each event: `send` goes first.

    Each run imports it, hence `callback_loader._load_module_source`, too. ansible-runner 2.4; 2.18, 2.19.
    """
    from ansible.plugins.loader import callback_loader

    load = callback_loader._load_module_source

    def load_and_patch(*arguments: Any, **named: Any) -> Any:
        module = load(*arguments, **named)
        if str(getattr(module, "__file__", "")).endswith(_CALLBACK) and hasattr(module, "IsolatedFileWrite"):
            patch(module)
        return module

    def patch(module: Any) -> None:
        to_file = module.IsolatedFileWrite.set

        def to_pipe(writer: Any, key: str, value: dict[str, Any]) -> None:
            if not send(json.dumps(value, cls=module.AnsibleJSONEncoderLocal).encode()):
                to_file(writer, key, value)

        module.IsolatedFileWrite.set = to_pipe

    callback_loader._load_module_source = load_and_patch


def start_workers_by(start: Callable[[Any, Callable[[], None]], None]) -> None:
    """`WorkerProcess.start`, which forks: `start` is given the worker and Ansible's own way. 2.18, 2.19."""
    from ansible.executor.process.worker import WorkerProcess

    fork = WorkerProcess.start
    WorkerProcess.start = lambda process: start(process, lambda: fork(process))


def keep_display_queue_by_thread(queues: threading.local) -> None:
    """`Display._final_q` and `set_queue`: one for the process, which would be a worker's. 2.18, 2.19."""
    from ansible.utils.display import Display

    Display._final_q = property(
        lambda _display: getattr(queues, "queue", None), lambda _display, queue: setattr(queues, "queue", queue)
    )
    Display.set_queue = lambda display, queue: setattr(display, "_final_q", queue)


@contextmanager
def as_current_worker(process: Any) -> Iterator[None]:
    """`worker.current_worker`, with a task that may be changed: in a fork both are its own. 2.18, 2.19."""
    from ansible.executor.process import worker

    task = process._task
    process._task = task.copy(exclude_parent=True)
    process._task._parent = task._parent  # what it hangs below may not be changed, and is not
    worker.current_worker = process
    try:
        yield
    finally:
        worker.current_worker = None


def let_it_be_dead(process: Any) -> None:
    """`WorkerProcess._popen`: strategies look into it for workers that died. 2.18, 2.19."""
    process._popen = SimpleNamespace(returncode=1, poll=lambda: 1)


@dataclass(frozen=True, slots=True)
class ModuleCalls:
    """The functions on the way of a module: Ansible's own, or those in their place."""

    execute_module: Callable[..., Any]
    is_pipelined: Callable[..., bool]
    modify_module: Callable[..., Any]
    exec_command: Callable[..., Any]


def intercept_calls(local: Any, ours: ModuleCalls) -> ModuleCalls:
    """`_execute_module` and `_is_pipelining_enabled` of `ActionBase`, `modify_module`, `exec_command` of `local`.

    A connection plugin of our own would go before a user's plugin of the same name. 2.18, 2.19.
    """
    from ansible.plugins import action

    base = action.ActionBase
    stock = ModuleCalls(
        base._execute_module, base._is_pipelining_enabled, action.modify_module, local.exec_command
    )
    base._execute_module = _method(ours.execute_module)
    base._is_pipelining_enabled = _method(ours.is_pipelined)
    action.modify_module = ours.modify_module
    local.exec_command = _method(ours.exec_command)
    return stock


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """As a method of somebody else's class, though it is one of an object of ours."""

    def method(this: Any, *arguments: Any, **named: Any) -> Any:
        return function(this, *arguments, **named)

    return method


@contextmanager
def silent_loader() -> Iterator[None]:
    """`ansible.plugins.loader.display`: what it has to say, it will say when Ansible itself asks. 2.18, 2.19."""
    from ansible.plugins import loader

    class Silent:
        def __getattr__(self, _name: str) -> Callable[..., None]:
            return lambda *_, **__: None

    shown, loader.display = loader.display, Silent()
    try:
        yield
    finally:
        loader.display = shown


# Modules: Ansible's target side and the Kubernetes client


def forget_modules() -> None:
    """`ansible.modules.*` as attributes: a module runs as `__main__`; its import is not to be seen. 2.18, 2.19."""
    for name in list(sys.modules):
        parent, _, leaf = name.rpartition(".")
        if parent == "ansible.modules" or parent.endswith(".plugins.modules"):
            del sys.modules[name]
            if parent in sys.modules and hasattr(sys.modules[parent], leaf):
                delattr(sys.modules[parent], leaf)


def parse_kubeconfigs_in_c() -> None:
    """`yaml` of `kubernetes.config.kube_config`: by the same rules, a tenth as long. kubernetes 33 to 37.

    What cannot be parsed goes the usual way, for the usual error.
    """
    reader = sys.modules.get("kubernetes.config.kube_config")
    if reader is None:
        return
    import yaml

    def safe_load(stream: Any) -> Any:
        text = stream.read() if hasattr(stream, "read") else stream
        try:
            return yaml.load(text, yaml.CSafeLoader)
        except (AttributeError, yaml.YAMLError):  # the former where yaml was built without it
            return yaml.safe_load(text)

    class Yaml:
        def __getattr__(self, name: str) -> Any:
            return safe_load if name == "safe_load" else getattr(yaml, name)

    reader.yaml = Yaml()  # type: ignore[attr-defined]


def look_sooner_for_mounts() -> None:
    """`time` of the facts about mounts, which are waited for by a tenth of a second. 2.18, 2.19."""
    facts = sys.modules.get("ansible.module_utils.facts.hardware.linux")
    if facts is not None:
        facts.time = _Time(lambda seconds: time.sleep(min(seconds, 0.002)))  # type: ignore[attr-defined]


def look_again_for_kubeconfig() -> None:
    """`KUBE_CONFIG_DEFAULT_LOCATION`, read from the environment at import. kubernetes 33 to 37."""
    place = os.environ.get("KUBECONFIG", "~/.kube/config")
    for name in ("kubernetes.config", "kubernetes.config.kube_config"):
        if name in sys.modules:
            sys.modules[name].KUBE_CONFIG_DEFAULT_LOCATION = place  # type: ignore[attr-defined]


def give_parameters(parameters: bytes) -> None:
    """`basic._ANSIBLE_ARGS`, as Ansible's own wrapper does. Only 2.18: later ones have a function for it."""
    from ansible.module_utils import basic

    basic._ANSIBLE_ARGS = parameters
