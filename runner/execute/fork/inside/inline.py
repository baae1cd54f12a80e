"""Tasks of a play with one host, carried out in the play's own process, where a fork would make no difference.

Ansible forks a worker for each task. With one host there is nothing to do meanwhile, and the fork is about half of
what a task costs. What a fork keeps away from the play is put back here: the task, the host, the standard streams.
What is not Ansible's or kubernetes.core's own code, or waits, detaches or changes user, is forked.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

from ansible.executor.process import worker
from ansible.executor.process.worker import WorkerProcess
from ansible.plugins import action, loader
from ansible.utils.display import Display

_KNOWN = (
    "ansible_collections/kubernetes/core/plugins/action/",
    "ansible_collections/operator_sdk/util/plugins/action/",
)
_WAITING = frozenset({"pause", "async_status", "reboot", "wait_for_connection"})
_KINDS = ("action", "filter", "test", "lookup", "connection", "shell")
_OWN_STREAMS = hasattr(WorkerProcess, "_detach")
"""Whether a worker has streams of its own that `_run` looks into: since 2.19."""


def install() -> None:
    """From now on, in this process and those it forks. The configured plugin directories must be known."""
    if any(os.path.isdir(place) for kind in _KINDS for place in getattr(loader, f"{kind}_loader").config):
        return  # code of users may be anywhere
    fork = WorkerProcess.start
    queues = threading.local()

    def start(process: Any) -> None:
        if _may_be_here(process):
            _carry_out(process, queues)
        else:
            fork(process)

    WorkerProcess.start = start
    Display._final_q = property(
        lambda _display: getattr(queues, "queue", None), lambda _display, queue: setattr(queues, "queue", queue)
    )
    Display.set_queue = lambda display, queue: setattr(display, "_final_q", queue)


def _may_be_here(process: Any) -> bool:
    task, known = process._task, process._task_vars
    if task.async_val or task.delegate_to or task.become or task.timeout or process._play_context.become:
        return False
    if len(known.get("ansible_play_hosts_all") or ()) != 1 or known.get("ansible_connection") != "local":
        return False
    if any(getattr(loader, f"{kind}_loader")._extra_dirs for kind in _KINDS):
        return False
    return _is_known(task)


def _is_known(task: Any) -> bool:
    name = str(task.action)
    if name.rpartition(".")[2] in _WAITING:
        return False
    found = loader.action_loader.find_plugin_with_context(name, collection_list=task.collections)
    path = found.plugin_resolved_path
    if not found.resolved or not path:
        return True  # a module, which the action `normal` runs
    return bool(path.startswith(os.path.dirname(action.__file__)) or any(place in path for place in _KNOWN))


def _carry_out(process: Any, queues: threading.local) -> None:
    """What the worker would do in its process."""
    host = process._host
    kept = host.vars, host.groups
    process._task = _copy(process._task)
    if hasattr(process, "_save_stdin"):
        process._save_stdin()
    queues.queue = process._final_q
    worker.current_worker = process
    try:
        with _context(process._task), _streams():
            process._run()
    except BaseException:
        process._popen = _Dead()
    finally:
        host.vars, host.groups = kept
        queues.queue = worker.current_worker = None


def _copy(task: Any) -> Any:
    """One that may be changed; what it hangs below may not, and is not."""
    copy = task.copy(exclude_parent=True)
    copy._parent = task._parent
    return copy


def _context(task: Any) -> Any:
    try:
        from ansible._internal._task import TaskContext  # not in 2.18
    except ImportError:
        return nullcontext()
    return TaskContext(task)


class _Dead:
    """The process of a worker that has died."""

    returncode = 1

    def poll(self) -> int:
        return self.returncode


class _Streams(io.StringIO):
    """What this thread writes is kept; other threads go on writing to the stream that was there."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        return super().write(text) if threading.get_ident() == self._thread else self._stream.write(text)

    def flush(self) -> None:
        if threading.get_ident() != self._thread:
            self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding


@contextmanager
def _streams() -> Iterator[None]:
    if not _OWN_STREAMS:
        yield
        return
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Streams(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
