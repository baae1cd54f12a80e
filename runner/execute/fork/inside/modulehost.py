"""Forks the modules of one run, and is what a module finds around it when it starts: as a Python of its own."""

from __future__ import annotations

import atexit
import os
import runpy
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NoReturn

from ansible.module_utils import basic

from . import finder, wire
from .eligible import Stat
from .process import exit_code, flush
from .supervisor import be_killed_first, die_with, end_all


class Host:
    """Forks the modules of one run, until the run's end of the line is closed; then it ends what they left."""

    def __init__(self, line: socket.socket, loaded: dict[str, Stat], private: list[int]) -> None:
        """`loaded` is what was imported beforehand; `private` are descriptors that are not for modules."""
        self._line = line
        self._loaded = loaded
        self._private = private
        self._waiting: dict[int, tuple[int, socket.socket]] = {}  # the pid and who waits for it, by pidfd
        self._poll = select.poll()

    def run(self) -> None:
        self._poll.register(self._line, select.POLLIN)
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
            request = wire.receive(self._line)
        except OSError as error:
            if not wire.none_can_be_opened(error):
                raise
            return True  # whoever asked finds the line for the answer closed, before anything has begun
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
            self._line.close()
            reply.close()
            wire.close(self._private)
            self._forget()
            _module(message, output)
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


def _module(message: wire.Message, output: list[int]) -> NoReturn:
    """Be the module: as a Python that was started for it, up to its exit."""
    code = 1
    try:
        _become(message, output)
        _run(message)
    except SystemExit as ending:
        code = exit_code(ending)
    except BaseException:
        sys.excepthook(*_exception())
    finally:
        _exit(code)


def _exit(code: int) -> NoReturn:
    """Leave as the interpreter does: threads, exit functions, buffers."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    finally:
        flush()
        os._exit(code)


def _exception() -> tuple[Any, Any, Any]:
    kind, error, trace = sys.exc_info()
    return kind, error, trace


def _become(message: wire.Message, output: list[int]) -> None:
    nothing, end = os.pipe()
    os.close(end)  # as a command that nothing is written to
    for number, descriptor in enumerate([nothing, *output]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.umask(message["umask"])
    os.chdir(message["cwd"])
    os.environ.clear()
    os.environ.update(message["environment"])
    time.tzset()
    sys.argv = [""]
    _limit(message["open_files"])
    finder.use(message["collections"])
    _read_again()


def _read_again() -> None:
    """What the Kubernetes client has read from the environment when it was imported."""
    place = os.environ.get("KUBECONFIG", "~/.kube/config")
    for name in ("kubernetes.config", "kubernetes.config.kube_config"):
        if name in sys.modules:
            sys.modules[name].KUBE_CONFIG_DEFAULT_LOCATION = place  # type: ignore[attr-defined]


def _limit(open_files: int) -> None:
    """As Ansible's own wrapper does: within the hard limit."""
    if open_files:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if (wanted := min(hard, open_files)) != soft:
            with suppress(ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _run(message: wire.Message) -> None:

    run(message["module"], message["parameters"].encode(), message["profile"])


def run(module: str, parameters: bytes, profile: str) -> NoReturn:
    """Run the module of this full name as a script. Raises SystemExit, and what the module raises."""
    place = {"_module_fqn": module, "_modlib_path": ""}
    sys.path[:] = [entry for entry in sys.path if entry not in {"", "."}]
    if profile:
        from ansible.module_utils._internal._ansiballz import _loader

        _loader.run_module(
            json_params=parameters,
            profile=profile,
            module_fqn=module,
            modlib_path="",
            extensions={},
            init_globals=place,
        )
    else:
        _run_legacy(module, parameters, place)
    sys.exit(1)


def _run_legacy(module: str, parameters: bytes, place: dict[str, Any]) -> None:
    """As the wrapper of ansible-core 2.18 does."""
    basic._ANSIBLE_ARGS = parameters
    runpy.run_module(mod_name=module, init_globals=place, run_name="__main__", alter_sys=True)
    print('{"msg": "New-style module did not handle its own exit", "failed": true}')  # noqa: T201
