"""The run zygote: has imported Ansible's controller side, and forks a run for each request."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from ansible import __file__ as ansible_file
from ansible.cli.playbook import PlaybookCLI
from ansible.release import __version__

from . import inline, patches, preload, wire
from .calls import Calls, Host
from .eligible import Register, changed
from .process import exit_code, flush, heed_signals
from .releases import Release, release
from .supervisor import GIVEN_UP, GRACE, be_killed_first, die_with, supervise

_HOST_WITHIN = GRACE + GIVEN_UP + 1
"""Seconds; as long as a host may take that tries to end what cannot be ended."""


class Plays:
    """The program of the run zygote's fork server. `said` is what Ansible has printed when it was imported."""

    def __init__(self) -> None:
        self.said = ""
        preload.preload()
        patches.wake_play_by_results()
        self._release = release()
        self._register = Register(os.path.dirname(ansible_file))
        self._files = preload.files()

    def ready(self) -> wire.Message:
        return {"version": __version__, "unfit": self._unfit(), "places": preload.places()}

    def _unfit(self) -> str:
        """Why no run may be forked from here, else an empty string."""
        if self._release is None:
            return f"ansible-core {__version__} is not one that it knows"
        if self.said or preload.has_more_to_say():
            return f"Ansible has something to say when it starts, to every run: {self.said.strip()}"
        return ""

    def told(self, message: wire.Message) -> None:
        """Nothing concerns us."""

    def refuses(self) -> str:
        return changed(self._files)

    def learn(self) -> bool:
        return self._register.learn()

    def serve(self, message: wire.Message, descriptors: list[int], line: int) -> Callable[[], None]:
        """Be the supervisor of a run: see `supervisor`. Its exit code is written to `status`."""
        lock, lifeline, output, status, parts, modules = descriptors
        me = os.getpid()
        with socket.socket(fileno=modules) as host:
            child = os.fork()
            if not child:
                die_with(me)
                be_killed_first()
                wire.close([line, lock, lifeline, status])
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
    release: Release | None,
    register: Register,
    host: socket.socket,
) -> NoReturn:
    """Be ansible-playbook: as a Python that was started for it, up to its exit."""
    code = 250
    try:
        heed_signals()
        _become(message, outputs[0])
        patches.send_events_to(outputs[1])
        if release is not None:
            Calls(release, register, Host(host)).install()
            inline.install()
        _die_with_us()
        PlaybookCLI.cli_executor(message["command"])
    except SystemExit as ending:
        code = exit_code(ending)
    finally:
        try:
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
        finally:
            flush()
            os._exit(code)


def _become(message: wire.Message, output: int) -> None:
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.umask(message["umask"])
    os.chdir(message["cwd"])
    os.environ.clear()
    os.environ.update(message["environment"])
    preload.as_script(message["command"])
    preload.anew()


def _die_with_us() -> None:
    """Workers end when the run is killed; what they start is ended by whoever adopts it."""
    play = os.getpid()

    def in_child() -> None:
        if os.getppid() == play:
            die_with(play)

    os.register_at_fork(after_in_child=in_child)
