"""The zygote of plays: has imported Ansible's controller side, and forks a run for each request."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from ansible import __file__ as ansible_file
from ansible import constants as C  # noqa: N812
from ansible.cli.playbook import PlaybookCLI
from ansible.release import __version__
from ansible.utils.display import Display

from . import inline, patches, preload, wire
from .calls import Calls, Host
from .eligible import Register, changed
from .process import exit_as_python, exit_code, heed_signals
from .releases import Release, release
from .supervisor import GIVEN_UP, GRACE, be_killed_first, die_with, supervise

_HOST_WITHIN = GRACE + GIVEN_UP + 1
"""Seconds; as long as a host may take that tries to end what cannot be ended."""
_OF_RUN = {
    name: variables
    for name, definition in C.config.get_configuration_definitions().items()
    if (variables := {entry["name"] for entry in definition.get("env") or ()}) & wire.ANSIBLE
}
"""Ansible's constants that runs may set, with their variables."""
_LOCAL_TMP = "DEFAULT_LOCAL_TMP"
_PLACE_OF_LOCAL_TMP = os.path.dirname(C.DEFAULT_LOCAL_TMP)


class Plays:
    """The program of its fork server. `said` is what Ansible has printed when it was imported."""

    def __init__(self) -> None:
        self.said = ""
        self._release = release()
        preload.preload(self._release)
        self._register = Register(os.path.dirname(ansible_file))
        self._files = preload.files()

    def ready(self) -> wire.Message:
        return {"version": __version__, "unfit": self._unfit(), "places": preload.places()}

    def _unfit(self) -> str:
        """Why no run may be forked from here, else an empty string."""
        if self.said or preload.has_more_to_say():
            return f"Ansible has something to say when it starts, to every run: {self.said.strip()}"
        return ""

    def told(self, message: wire.Message) -> None:
        """Nothing concerns us."""

    def refuses(self) -> str:
        return changed(self._files)

    def learn(self) -> bool:
        return self._register.learn()

    def serve(self, message: wire.Message, descriptors: list[int], connection: int) -> Callable[[], None]:
        """Be the supervisor of a run: see `supervisor`. Its exit code is written to `status`."""
        lock, lifeline, output, status, parts, modules = descriptors
        me = os.getpid()
        with socket.socket(fileno=modules) as host:
            child = os.fork()
            if not child:
                die_with(me)
                be_killed_first()
                wire.close([connection, lock, lifeline, status])
                _play(message, (output, parts), self._release, self._register, host)
            wire.close([output, parts])
            code = supervise(child, lifeline, message["until"], ending=lambda: host.shutdown(socket.SHUT_WR))
            _wait_for_host(host, message["host"])
        os.close(lifeline)

        def tell() -> None:
            os.write(status, str(code).encode())
            os.close(status)

        return tell


def _wait_for_host(host: socket.socket, pid: int) -> None:
    """Until it has ended every module; one that does not answer is killed, and its zygote does that."""
    host.settimeout(_HOST_WITHIN)
    try:
        host.recv(1)
    except TimeoutError:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _play(
    message: wire.Message,
    outputs: tuple[int, int],
    release: Release,
    register: Register,
    host: socket.socket,
) -> NoReturn:
    """Be ansible-playbook: as a Python that was started for it, up to its exit."""
    code = 250
    try:
        heed_signals()
        _become(message, outputs[0])
        patches.send_events(_events_to(outputs[1]))
        Calls(release, register, Host(host)).install()
        inline.install(release)
        _die_with_us()
        PlaybookCLI.cli_executor(message["command"])
    except SystemExit as ending:
        code = exit_code(ending)
    finally:
        exit_as_python(code)


def _events_to(descriptor: int) -> Callable[[bytes], bool]:
    """What writes an event to this pipe, from this process; others that it forks are told to write a file."""
    os.set_inheritable(descriptor, False)
    play, lock = os.getpid(), threading.Lock()

    def send(event: bytes) -> bool:
        if os.getpid() != play:
            return False
        rest = memoryview(wire.HEAD.pack(len(event)) + event)
        with lock:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        return True

    return send


def _become(message: wire.Message, output: int) -> None:
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.umask(message["umask"])
    os.nice(message["nice"])
    os.chdir(message["cwd"])
    os.environ.clear()
    os.environ.update(message["environment"])
    _look_as_script(message["command"])
    _read_again()


def _read_again() -> None:
    """Once its environment is set: forget and read again whatever belongs to one run."""
    time.tzset()
    tempfile.tempdir = None
    patches.draw_new_task_ids()
    _set_constants()
    display = Display()
    for shown in (display._warns, display._deprecations, display._errors):
        shown.clear()


def _set_constants() -> None:
    values = vars(C)
    for name, variables in _OF_RUN.items():
        if not variables.isdisjoint(os.environ):  # else it is what it is in the zygote, which has none of them
            C.set_constant(name, C.config.get_config_value(name, variables=values), values)
    # its place is that of the zygote, and to find it out again takes a template
    C.set_constant(
        _LOCAL_TMP, C.config.get_config_value(_LOCAL_TMP, direct={_LOCAL_TMP: _PLACE_OF_LOCAL_TMP}), values
    )
    paths = C.DEFAULT_CALLBACK_PLUGIN_PATH
    patches.look_for_callbacks_in(paths if isinstance(paths, list) else [paths])


def _look_as_script(arguments: list[str]) -> None:
    """Look as the interpreter does that was started with this script."""
    sys.argv = list(arguments)
    place = os.path.dirname(os.path.realpath(arguments[0]))
    sys.path[:] = [place, *(entry for entry in sys.path if entry not in {"", place})]


def _die_with_us() -> None:
    """Workers end when the run is killed; what they start is ended by whoever adopts it."""
    play = os.getpid()

    def in_child() -> None:
        if os.getppid() == play:
            die_with(play)

    os.register_at_fork(after_in_child=in_child)
