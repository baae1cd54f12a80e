"""The module zygote: has imported what modules need, and nothing of Ansible's controller side.

For each run it forks a host, from which the modules of that run are forked: a module ends with its host, and the
host with its run.
"""

from __future__ import annotations

import importlib
import socket
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from . import finder, wire
from .eligible import Stat, changed, imported
from .modulehost import Host

PRELOADED = tuple(
    f"ansible.modules.{name}"
    for name in (
        *("command", "copy", "file", "find", "get_url", "lineinfile", "ping", "setup", "slurp", "stat"),
        *("tempfile", "uri", "wait_for"),
    )
)
"""Modules whose imports are made beforehand; every other one makes its own."""
COLLECTION = "ansible_collections.kubernetes.core.plugins.modules."
OF_COLLECTION = ("k8s", "k8s_info", "k8s_scale", "k8s_json_patch", "k8s_cluster_info", "k8s_log")
"""All but `k8s_exec`, whose imports take 80 MB, and longer than everything else here together."""

OF_WRAPPER = (
    "ansible.module_utils._internal._ansiballz._loader",
    "ansible.module_utils._internal._json._profiles._module_legacy_c2m",
    "ansible.module_utils._internal._json._profiles._module_legacy_m2c",
)
"""What runs a module; not in every release of ansible-core."""


class Modules:
    """The program of the module zygote's fork server."""

    def __init__(self) -> None:
        _import("kubernetes.dynamic")  # the run zygote finds out meanwhile where collections are
        self._loaded: dict[str, Stat] = {}

    def ready(self) -> wire.Message:
        return {}

    def told(self, message: wire.Message) -> None:
        """Where collections are looked for."""
        finder.install(message["places"])
        for name in (*PRELOADED, *(COLLECTION + name for name in OF_COLLECTION), *OF_WRAPPER):
            _import(name)
        _forget_modules()
        _parse_kubeconfigs_in_c()
        _look_sooner_for_mounts()
        self._loaded = imported("ansible", "ansible_collections")

    def refuses(self) -> str:
        return changed(self._loaded.values())

    def learn(self) -> bool:
        return False  # every run says itself what its modules are

    def serve(
        self,
        message: wire.Message,  # noqa: ARG002  (the protocol's)
        descriptors: list[int],
        line: int,
    ) -> Callable[[], None]:
        """Be the host of a run's modules."""
        lock, modules = descriptors
        asked = socket.socket(fileno=modules)
        Host(asked, self._loaded, [line, lock]).run()
        return asked.close


def _import(name: str) -> None:
    quiet = warnings.catch_warnings(record=True)  # nobody has asked for this import
    with quiet, suppress(ImportError):  # a run that asks for it says what is missing
        importlib.import_module(name)


def _parse_kubeconfigs_in_c() -> None:
    """By the same rules, a tenth as long; what cannot be parsed goes the usual way, for the usual error."""
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


class _Impatient:
    """In the place of the module `time`, for who sleeps between two looks at something."""

    @staticmethod
    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, 0.002))

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def _look_sooner_for_mounts() -> None:
    """The facts about mounts are looked for ten times a second, and once more when all are there."""
    facts = sys.modules.get("ansible.module_utils.facts.hardware.linux")
    if facts is not None:
        facts.time = _Impatient()  # type: ignore[attr-defined]


def _forget_modules() -> None:
    """A module runs as `__main__`; that it was imported to make its imports is not to be seen."""
    for name in list(sys.modules):
        parent, _, leaf = name.rpartition(".")
        if parent == "ansible.modules" or parent.endswith(".plugins.modules"):
            del sys.modules[name]
            if parent in sys.modules and hasattr(sys.modules[parent], leaf):
                delattr(sys.modules[parent], leaf)
