"""The side of Ansible that asks the run's module host to run a module."""

from __future__ import annotations

import os
import selectors
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.plugins.loader import connection_loader, module_utils_loader
from ansible.utils.display import Display

from . import patches, shell, wire
from .eligible import Found, Register, umask
from .patches import ModuleCalls
from .releases import Packed, Release, call_of
from .shell import Result, as_told_by_shell, shell_sets

_KILLED = -9
_CHUNK = 65536


_MARK = b"# run by the module host: "
_display = Display()


class Host:
    """Asks over a socket that all workers of a run share; each answer comes over one of its own."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests

    def run(self, found: Found, packed: Packed, environment: dict[str, str], cwd: Any) -> Result | None:
        """Run a module to its end. None says that the host will not, and has not begun."""
        with ExitStack() as ours:
            try:
                answers, pipes = self._ask(ours, _message(found, packed, environment, cwd))
            except OSError:
                return None
            return _follow(answers, pipes)

    def _ask(self, ours: ExitStack, message: wire.Message) -> tuple[socket.socket, list[int]]:
        """Where its answers come, and the pipes that stdout and stderr come through. Raises OSError."""
        with ExitStack() as theirs:
            answers, reply = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.enter_context(answers)
            theirs.enter_context(reply)
            pipes = [wire.pipe(ours, theirs) for _ in range(2)]
            wire.send(self._requests, message, [reply.fileno(), *(write for _, write in pipes)])
            return answers, [read for read, _ in pipes]


def _message(found: Found, packed: Packed, environment: dict[str, str], cwd: Any) -> wire.Message:
    directory = os.fsdecode(cwd) if cwd else os.getcwd()
    if "PWD" in environment or "PWD" in shell_sets():
        environment["PWD"] = directory
    return {
        "module": found.name,
        "files": found.files,
        "collections": found.collections,
        "parameters": packed.parameters,
        "open_files": packed.open_files,
        "environment": environment,
        "nice": os.nice(0),  # a module that is started has its play's
        "cwd": directory,
        "umask": umask(),
    }


def _follow(answers: socket.socket, pipes: list[int]) -> Result | None:
    first = _answer(answers)
    if first is None or "started" not in first:
        return None
    stdout, stderr = _read(pipes)
    last = _answer(answers)
    code, said = as_told_by_shell(last["code"] if last else _KILLED)
    return code, stdout, stderr + said


def _answer(answers: socket.socket) -> wire.Message | None:
    with suppress(OSError):
        answer = wire.receive(answers)
        return answer[0] if answer else None
    return None


def _read(pipes: list[int]) -> tuple[bytes, bytes]:
    """Everything from both, until nobody holds the other ends."""
    contents = {pipe: bytearray() for pipe in pipes}
    with selectors.PollSelector() as selector:  # needs no descriptor of its own
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, _CHUNK)
                contents[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    stdout, stderr = (bytes(contents[pipe]) for pipe in pipes)
    return stdout, stderr


@dataclass(frozen=True, slots=True)
class _Served:
    """The module call under way: its file, what it is, and once it is packed, how and Ansible's own payload."""

    path: str
    found: Found
    packed: Packed | None = None
    mark: bytes = b""
    payload: Callable[[], bytes] = bytes


class Calls:
    """Puts itself between Ansible's action plugins and its local connection."""

    def __init__(self, release: Release, register: Register, host: Host) -> None:
        self._release = release
        self._register = register
        self._host = host
        self._served: _Served | None = None

    def install(self) -> None:
        """From now on, in this process and those it forks."""
        self._local = connection_loader.get("local", class_only=True)
        ours = ModuleCalls(self._execute_module, self._is_pipelined, self._modify_module, self._exec_command)
        self._stock = patches.intercept_calls(self._local, ours)

    def _execute_module(self, action: Any, module_name: Any = None, *arguments: Any, **named: Any) -> Any:
        before, self._served = self._served, self._look_up(action, module_name)
        try:
            return self._stock.execute_module(action, module_name, *arguments, **named)
        finally:
            self._served = before

    def _look_up(self, action: Any, module_name: Any) -> _Served | None:
        """What is to be run, None if it is not for the host."""
        connection, task = action._connection, action._task
        if (
            type(connection) is not self._local
            or connection.become
            or task.async_val
            or C.DEFAULT_KEEP_REMOTE_FILES
        ):
            return None
        with patches.silent_loader():  # Ansible itself asks again, and says what there is to be said
            context = action._shared_loader_obj.module_loader.find_plugin_with_context(
                str(module_name or task.action),
                connection.module_implementation_preferences[0],
                collection_list=task.collections,
            )
        path = context.plugin_resolved_path
        if not path:
            return None
        utils = [entry for entry in module_utils_loader._get_paths(subdirs=False) if os.path.isdir(entry)]
        found = self._register.find(path, utils, self._release.build)
        return _Served(path, found) if found.name else None

    def _is_pipelined(self, action: Any, module_style: str, wrap_async: bool = False) -> bool:
        if module_style == "new" and not wrap_async and self._served and self._served.packed:
            return True  # before it is packed there has to be a temporary directory, as without pipelining
        return bool(self._stock.is_pipelined(action, module_style, wrap_async))

    def _modify_module(self, *arguments: Any, **named: Any) -> Any:
        call = call_of(arguments, named)
        if self._served is None or self._served.path != call["module_path"] or self._release.is_extended(call):
            return self._stock.modify_module(*arguments, **named)
        packed = self._release.pack(call)
        self._served = replace(
            self._served,
            packed=packed,
            mark=_MARK + os.urandom(8).hex().encode(),
            payload=lambda: self._release.data(self._stock.modify_module(*arguments, **named)),
        )
        return self._release.answer(self._served.mark, packed)

    def _exec_command(
        self,
        connection: Any,
        cmd: str,
        in_data: bytes | None = None,
        sudoable: bool = True,
    ) -> Any:
        served = self._served
        if in_data is None and not (connection.become and sudoable) and (done := shell.answer(cmd)):
            self._show(connection, cmd)
            return done
        if served is None or served.packed is None or in_data != served.mark:
            return self._stock.exec_command(connection, cmd, in_data=in_data, sudoable=sudoable)
        started = shell.parse(cmd, dict(os.environ))
        if started is not None:
            result = self._host.run(served.found, served.packed, started, connection.cwd)
            if result is not None:
                self._show(connection, cmd)
                return result
        return self._stock.exec_command(connection, cmd, in_data=served.payload(), sudoable=sudoable)

    @staticmethod
    def _show(connection: Any, cmd: str) -> None:
        if not connection._connected:
            connection._connect()
        _display.vvv(f"EXEC {cmd}", host=connection._play_context.remote_addr)
