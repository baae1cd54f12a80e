"""What the run zygote imports and reads beforehand, and what of it a run must have anew."""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import tempfile
import time
from contextlib import suppress
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

from .files import Stat, imported, stat
from .ofrun import ANSIBLE

_ALL_OF = ("connection", "shell", "become", "inventory", "vars", "cache", "strategy", "filter", "test")
_ACTIONS = ("kubernetes.core.k8s", "kubernetes.core.k8s_info", "ansible.builtin.command", "ansible.builtin.normal")
_TOUCHED = ("ansible.builtin", "kubernetes.core")
_CONFIGURATIONS = ("~/.ansible.cfg", "/etc/ansible/ansible.cfg")


def preload() -> None:
    """Import what every run imports."""
    loader.init_plugin_loader()
    cli.init_plugin_loader = lambda _places=None: None  # it is done, and warns when done twice
    for kind in _ALL_OF:
        list(getattr(loader, f"{kind}_loader").all(class_only=True))
    for name in _ACTIONS:
        loader.action_loader.get(name, class_only=True)
    for name in _TOUCHED:
        with suppress(Exception):
            loader._get_collection_metadata(name)


def files() -> list[Stat]:
    """What was read of Ansible, its configuration and its collections: when one of these changes, all is stale."""
    configuration = {C.CONFIG_FILE or "", os.environ.get("ANSIBLE_CONFIG", ""), *_CONFIGURATIONS}
    paths = [os.path.expanduser(path) for path in configuration if path]
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
    atexit.unregister(manager.cleanup_tmp_file)  # ours, which is not the run's to remove
    _constants()
    display = Display()
    for name in ("_warns", "_deprecations", "_errors"):
        with suppress(AttributeError):
            getattr(display, name).clear()


def _constants() -> None:
    values = vars(C)
    for name, definition in C.config.get_configuration_definitions().items():
        if name == "DEFAULT_LOCAL_TMP" or _is_of_run(definition):
            C.set_constant(name, C.config.get_config_value(name, variables=values), values)
    paths = C.DEFAULT_CALLBACK_PLUGIN_PATH
    loader.callback_loader.config = paths if isinstance(paths, list) else [paths]


def _is_of_run(definition: dict[str, Any]) -> bool:
    return any(entry["name"] in ANSIBLE for entry in definition.get("env") or ())


def as_script(command: list[str]) -> None:
    """Look as the interpreter does that was started with this script."""
    sys.argv = list(command)
    place = os.path.dirname(os.path.realpath(command[0]))
    sys.path[:] = [place, *(entry for entry in sys.path if entry not in {"", place})]
