"""What the zygote of plays imports, reads and works out, because it is the same in every run.

Nothing here depends on the environment of a run, its project or a role.
"""

from __future__ import annotations

import ast
import atexit
import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.cli.playbook import PlaybookCLI  # noqa: F401  (what is run; with it comes nearly everything)
from ansible.config import manager
from ansible.executor.process import worker  # noqa: F401  (imported late otherwise, in every run)
from ansible.plugins import loader
from ansible.utils.collection_loader import AnsibleCollectionConfig
from ansible.vars.clean import clean_facts

from . import patches, shell
from .eligible import Stat, imported, stat
from .releases import Release

_ALL_OF = ("callback", "connection", "shell", "become", "inventory", "vars", "cache", "strategy", "filter", "test")
_ACTIONS = ("kubernetes.core.k8s", "kubernetes.core.k8s_info", "ansible.builtin.command", "ansible.builtin.normal")
_LATE = (
    "ansible.playbook.handler_task_include",
    "multiprocessing.synchronize",
)
"""What is imported when it is first used, in every run."""
_TOUCHED = ("ansible.builtin", "kubernetes.core")
_COLLECTIONS = "ansible_collections"
_CONFIGURATIONS = ("~/.ansible.cfg", "/etc/ansible/ansible.cfg")


def preload(release: Release) -> None:
    """Import what every run imports."""
    loader.init_plugin_loader()
    patches.skip_init_of_plugin_loader()
    patches.remember_plugins_without_options()  # before any is loaded
    patches.keep_parser_of_command_line()
    patches.wake_strategies_by_results()
    _compile_patterns(release)
    for kind in _ALL_OF:
        _preload_all(getattr(loader, f"{kind}_loader"))
    _preload_options_of_callback()
    for name in (*_LATE, *release.imports_of_plays):
        import_module(name)
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
    patches.forget_paths(plugins)


def _compile_patterns(release: Release) -> None:
    """What `re` and the lexer of templates keep of what was compiled."""
    _ = release.template_environment().lexer
    clean_facts({})
    loader.inventory_loader.get("ini", class_only=True)()._compile_patterns()


def _preload_options_of_callback() -> None:
    """The options of ansible-runner's callback, which has to be imported by each run for itself."""
    package = find_spec("ansible_runner")
    for place in (package and package.submodule_search_locations) or ():
        path = f"{place}/display_callback/callback/awx_display.py"
        with suppress(OSError):
            stated = ModuleType("awx_display")
            stated.DOCUMENTATION = _documentation(path)  # type: ignore[attr-defined]
            loader.callback_loader._load_config_defs("awx_display", stated, path)


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
    paths += _absent_collections()
    for name in _TOUCHED:
        package = sys.modules.get(f"ansible_collections.{name}")
        for place in getattr(package, "__path__", ()):
            paths += [f"{place}/meta/runtime.yml", f"{place}/MANIFEST.json", f"{place}/galaxy.yml"]
    return [*imported("ansible", "ansible_collections").values(), *map(stat, paths)]


def _absent_collections() -> list[str]:
    """The directories of collections that Ansible has left out of its search, because they were not there."""
    roots = [os.path.expanduser(root) for root in (*(C.COLLECTIONS_PATHS or ()), *sys.path)]
    paths = [
        root if os.path.basename(root) == _COLLECTIONS else os.path.join(root, _COLLECTIONS) for root in roots
    ]
    return [path for path in paths if not os.path.isdir(path)]


def places() -> list[str]:
    """The directories in which Ansible looks for `ansible_collections`, in order."""
    return [os.fsdecode(place) for place in AnsibleCollectionConfig.collection_paths]
