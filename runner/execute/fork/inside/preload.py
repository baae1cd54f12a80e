"""What the run zygote imports and reads beforehand, and what of it a run must have anew."""

from __future__ import annotations

import ast
import atexit
import os
import secrets
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ansible import cli
from ansible import constants as C  # noqa: N812
from ansible.cli.playbook import PlaybookCLI  # noqa: F401  (what is run; with it comes nearly everything)
from ansible.config import manager
from ansible.executor.process import worker  # noqa: F401  (imported late otherwise, in every run)
from ansible.plugins import loader
from ansible.utils import vars as ids
from ansible.utils.collection_loader import AnsibleCollectionConfig
from ansible.utils.display import Display

from . import patches, shell
from .eligible import Stat, imported, stat
from .wire import ANSIBLE

_ALL_OF = ("callback", "connection", "shell", "become", "inventory", "vars", "cache", "strategy", "filter", "test")
_ACTIONS = ("kubernetes.core.k8s", "kubernetes.core.k8s_info", "ansible.builtin.command", "ansible.builtin.normal")
_LATE = (
    "ansible.module_utils._internal._json._profiles._module_legacy_c2m",
    "ansible.module_utils._internal._json._profiles._module_legacy_m2c",
    "ansible.playbook.handler_task_include",
    "multiprocessing.synchronize",
)
"""What is imported when it is first used, in every run."""
_TOUCHED = ("ansible.builtin", "kubernetes.core")
_CONFIGURATIONS = ("~/.ansible.cfg", "/etc/ansible/ansible.cfg")


def preload() -> None:
    """Import what every run imports."""
    loader.init_plugin_loader()
    cli.init_plugin_loader = lambda _places=None: None  # it is done, and warns when done twice
    patches.compute_once()
    for kind in _ALL_OF:
        _preload_all(getattr(loader, f"{kind}_loader"))
    _preload_options_of_callback()
    _preload_late_imports()
    shell.shell_sets()
    manager.cleanup_tmp_file(C.DEFAULT_LOCAL_TMP)  # each run makes its own
    atexit.unregister(manager.cleanup_tmp_file)
    for name in _ACTIONS:
        loader.action_loader.get(name, class_only=True)
    for name in _TOUCHED:
        with suppress(Exception):
            loader._get_collection_metadata(name)


def _preload_all(plugins: Any) -> None:
    """Ansible's own plugins of one type: those of users may read the environment when they are imported."""
    if not any(os.path.isdir(place) for place in plugins.config):
        list(plugins.all(class_only=True))
    plugins._paths = loader.PATH_CACHE[plugins.class_name] = None
    plugins._plugin_path_cache.clear()
    plugins._searched_paths.clear()


def _preload_options_of_callback() -> None:
    """The options of ansible-runner's callback, which has to be imported by each run for itself."""
    package = find_spec("ansible_runner")
    for place in (package and package.submodule_search_locations) or ():
        path = f"{place}/display_callback/callback/awx_display.py"
        with suppress(OSError):
            stated = ModuleType("awx_display")
            stated.DOCUMENTATION = _documentation(path)  # type: ignore[attr-defined]
            loader.callback_loader._load_config_defs("awx_display", stated, path)


def _preload_late_imports() -> None:
    for name in _LATE:
        with suppress(ImportError):  # not in every line
            import_module(name)


def _documentation(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        for statement in ast.parse(file.read()).body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "DOCUMENTATION":
                return str(ast.literal_eval(statement.value))
    return ""


def has_more_to_say() -> bool:
    """Whether a run would be told something about the configuration."""
    return bool(C.config.WARNINGS or C.config.DEPRECATED)


def files() -> list[Stat]:
    """What was read of Ansible, its configuration and its collections: when one of these changes, all is stale."""
    configuration = {C.CONFIG_FILE or "", os.environ.get("ANSIBLE_CONFIG", ""), *_CONFIGURATIONS}
    paths = [os.path.expanduser(path) for path in configuration if path]
    for _, plugins in loader.get_all_plugin_loaders():
        paths += plugins.config  # a plugin that comes or goes changes its directory
    for name in _TOUCHED:
        package = sys.modules.get(f"ansible_collections.{name}")
        for place in getattr(package, "__path__", ()):
            paths += [f"{place}/meta/runtime.yml", f"{place}/MANIFEST.json", f"{place}/galaxy.yml"]
    return [*imported("ansible", "ansible_collections").values(), *map(stat, paths)]


def places() -> list[str]:
    """The directories in which Ansible looks for `ansible_collections`, in order."""
    return [os.fsdecode(place) for place in AnsibleCollectionConfig.collection_paths]


def anew() -> None:
    """In a run, once its environment is set: forget and read again whatever belongs to one run."""
    time.tzset()
    tempfile.tempdir = None
    ids.cur_id = 0
    ids.random_int = secrets.token_hex(4)
    _constants()
    display = Display()
    for name in ("_warns", "_deprecations", "_errors"):
        with suppress(AttributeError):
            getattr(display, name).clear()


def _constants() -> None:
    values = vars(C)
    for name, variables in _OF_RUN.items():
        if not variables.isdisjoint(os.environ):  # else it is what it is in the zygote, which has none of them
            C.set_constant(name, C.config.get_config_value(name, variables=values), values)
    # its place is that of the zygote, and to find it out again takes a template
    C.set_constant(
        _LOCAL_TMP, C.config.get_config_value(_LOCAL_TMP, direct={_LOCAL_TMP: _PLACE_OF_LOCAL_TMP}), values
    )
    paths = C.DEFAULT_CALLBACK_PLUGIN_PATH
    loader.callback_loader.config = paths if isinstance(paths, list) else [paths]


_OF_RUN = {
    name: variables
    for name, definition in C.config.get_configuration_definitions().items()
    if (variables := {entry["name"] for entry in definition.get("env") or ()}) & ANSIBLE
}
"""Ansible's constants that runs may set, with their variables."""
_LOCAL_TMP = "DEFAULT_LOCAL_TMP"
_PLACE_OF_LOCAL_TMP = os.path.dirname(C.DEFAULT_LOCAL_TMP)


def as_script(arguments: list[str]) -> None:
    """Look as the interpreter does that was started with this script."""
    sys.argv = list(arguments)
    place = os.path.dirname(os.path.realpath(arguments[0]))
    sys.path[:] = [place, *(entry for entry in sys.path if entry not in {"", place})]
