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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

from ansible.plugins import action, loader

from . import patches
from .releases import Release

_KNOWN = (
    "ansible_collections/kubernetes/core/plugins/action/",
    "ansible_collections/operator_sdk/util/plugins/action/",
)
_WAITING = frozenset({"pause", "async_status", "reboot", "wait_for_connection"})
_KINDS = ("action", "filter", "test", "lookup", "connection", "shell")


def install(release: Release) -> None:
    """From now on, in this process and those it forks. The configured plugin directories must be known."""
    if any(os.path.isdir(place) for kind in _KINDS for place in getattr(loader, f"{kind}_loader").config):
        return  # code of users may be anywhere
    queues = threading.local()

    def start(process: Any, fork: Callable[[], None]) -> None:
        if _may_be_inline(process):
            _carry_out(process, release, queues)
        else:
            fork()

    patches.start_workers_by(start)
    patches.keep_display_queue_by_thread(queues)


def _may_be_inline(process: Any) -> bool:
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


def _carry_out(process: Any, release: Release, queues: threading.local) -> None:
    """What the worker would do in its process."""
    host = process._host
    kept = host.vars, host.groups
    streams = _streams() if release.detaches_workers else nullcontext()
    queues.queue = process._final_q
    try:
        with patches.as_current_worker(process), release.worker_context(process), streams:
            process._run()
    except BaseException:
        patches.let_it_be_dead(process)
    finally:
        host.vars, host.groups = kept
        queues.queue = None


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
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Streams(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
