"""The zygote of modules: has imported what modules need, and nothing of Ansible's controller side.

For each run it forks a host, from which the modules of that run are forked: a module ends with its host, and the
host with its run.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import select
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import NoReturn

from . import patches, wire
from .eligible import Stat, changed, imported
from .process import exit_as_python, exit_code
from .releases import Release, release
from .supervisor import be_killed_first, die_with, end_all

PRELOADED = tuple(
    f"ansible.modules.{name}"
    for name in (
        *("command", "copy", "file", "find", "get_url", "lineinfile", "ping", "setup", "slurp", "stat"),
        *("tempfile", "uri", "wait_for"),
    )
)
"""Modules whose imports the zygote makes; every other one makes its own."""
COLLECTION = "ansible_collections.kubernetes.core.plugins.modules."
OF_COLLECTION = ("k8s", "k8s_info", "k8s_scale", "k8s_json_patch", "k8s_cluster_info", "k8s_log")
"""All but `k8s_exec`, whose imports take 80 MB, and longer than everything else here together."""
_TOP = "ansible_collections"
_PLACES: list[str] = []
_CHOSEN: dict[str, str] = {}


class Modules:
    """The program of the zygote of modules' fork server."""

    def __init__(self) -> None:
        for name in ("kubernetes.dynamic", "ansible.module_utils.basic"):
            _import(name)  # the zygote of plays finds out meanwhile where collections are
        self._release = release()
        self._loaded: dict[str, Stat] = {}

    def ready(self) -> wire.Message:
        return {}

    def told(self, message: wire.Message) -> None:
        """Where collections are looked for."""
        _find_collections_in(message["places"])
        of_collection = (COLLECTION + name for name in OF_COLLECTION)
        for name in (*PRELOADED, *of_collection, *self._release.imports_of_modules):
            _import(name)
        patches.forget_modules()
        patches.parse_kubeconfigs_in_c()
        patches.look_sooner_for_mounts()
        self._loaded = imported("ansible", "ansible_collections")

    def refuses(self) -> str:
        return changed(self._loaded.values())

    def learn(self) -> bool:
        return False  # every run says itself what its modules are

    def serve(
        self,
        message: wire.Message,  # noqa: ARG002  (the protocol's)
        descriptors: list[int],
        connection: int,
    ) -> Callable[[], None]:
        """Be the host of a run's modules."""
        lock, modules = descriptors
        asked = socket.socket(fileno=modules)
        Host(asked, self._release, self._loaded, [connection, lock]).run()
        return asked.close


def _import(name: str) -> None:
    quiet = warnings.catch_warnings(record=True)  # nobody has asked for this import
    with quiet, suppress(ImportError):  # a run that asks for it says what is missing
        importlib.import_module(name)


class Host:
    """Forks the modules of one run, until the run closes its end; then it ends what they left."""

    def __init__(
        self, connection: socket.socket, release: Release, loaded: dict[str, Stat], private: list[int]
    ) -> None:
        """`loaded` is what the zygote has imported; `private` are descriptors that are not for modules."""
        self._connection = connection
        self._release = release
        self._loaded = loaded
        self._private = private
        self._waiting: dict[int, tuple[int, socket.socket]] = {}  # the pid and who waits for it, by pidfd
        self._poll = select.poll()

    def run(self) -> None:
        self._poll.register(self._connection, select.POLLIN)
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._waiting:
                    self._ended(descriptor)
                elif not self._serve():
                    end_all(0)
                    self._forget()
                    return

    def _serve(self) -> bool:
        try:
            request = wire.receive(self._connection)
        except OSError as error:
            if not wire.none_can_be_opened(error):
                raise
            return True  # whoever asked finds the connection for the answer closed, before anything has begun
        if request is None:
            return False
        message, descriptors = request
        reply = socket.socket(fileno=descriptors.pop(0))
        try:
            self._start(message, descriptors, reply)
        except OSError:
            reply.close()  # who asked has gone; or finds that the module was killed, if it could not be started
        finally:
            wire.close(descriptors)
        return True

    def _start(self, message: wire.Message, output: list[int], reply: socket.socket) -> None:
        for name, stat in message["files"].items():
            if name in self._loaded and list(self._loaded[name]) != stat:
                wire.send(reply, {"refused": f"{stat[0]} is not what was imported"})
                reply.close()
                return
        wire.send(reply, {"started": True})  # from here on nobody else may run it
        me = os.getpid()
        pid = os.fork()
        if not pid:
            die_with(me)
            be_killed_first()
            self._connection.close()
            reply.close()
            wire.close(self._private)
            self._forget()
            _module(message, output, self._release)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        self._waiting[pidfd] = (pid, reply)
        self._poll.register(pidfd, select.POLLIN)

    def _forget(self) -> None:
        for pidfd, (_, reply) in self._waiting.items():
            os.close(pidfd)
            reply.close()

    def _ended(self, pidfd: int) -> None:
        pid, reply = self._waiting.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        with suppress(OSError):
            wire.send(reply, {"code": os.waitstatus_to_exitcode(status)})
        reply.close()


def _module(message: wire.Message, output: list[int], release: Release) -> NoReturn:
    """Be the module: as a Python that was started for it, up to its exit."""
    code = 1
    try:
        _become(message, output)
        release.run(message["module"], message["parameters"].encode())
    except SystemExit as ending:
        code = exit_code(ending)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        exit_as_python(code)


def _become(message: wire.Message, output: list[int]) -> None:
    nothing, end = os.pipe()
    os.close(end)  # as a command that nothing is written to
    for number, descriptor in enumerate([nothing, *output]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.umask(message["umask"])
    os.nice(message["nice"] - os.nice(0))
    os.chdir(message["cwd"])
    os.environ.clear()
    os.environ.update(message["environment"])
    time.tzset()
    sys.argv = [""]
    _limit(message["open_files"])
    _CHOSEN.update(message["collections"])
    patches.look_again_for_kubeconfig()
    sys.path[:] = [entry for entry in sys.path if entry not in {"", "."}]


def _limit(open_files: int) -> None:
    """As Ansible's own wrapper does: within the hard limit."""
    if open_files:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if (wanted := min(hard, open_files)) != soft:
            with suppress(ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Finder(MetaPathFinder, Loader):
    """Makes the three upper packages out of nothing, each collection in the one place that was chosen for it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  (the protocol's signature)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        parts = fullname.split(".")
        if parts[0] != _TOP or len(parts) > 3:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = []
        if len(parts) == 3:
            place = _place(".".join(parts[1:]))
            if place is None:
                return None
            spec.submodule_search_locations = [os.path.join(place, *parts)]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The default one."""

    def exec_module(self, module: ModuleType) -> None:
        """There is no code: a payload of Ansible's has empty files here."""


def _find_collections_in(places: Sequence[str]) -> None:
    """Let collections be imported from these directories, in this order. Ansible's finder belongs to plays."""
    _PLACES[:] = places
    sys.meta_path.insert(0, _Finder())


def _place(collection: str) -> str | None:
    if collection in _CHOSEN:
        return _CHOSEN[collection]
    parts = collection.split(".")
    return next((place for place in _PLACES if os.path.isdir(os.path.join(place, _TOP, *parts))), None)
