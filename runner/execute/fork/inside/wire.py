"""Messages with descriptors over a SEQPACKET socket; a long text is in a memory file, so it may be of any length.

A short one needs no descriptor to be received: so an answer arrives also where no more files can be opened, and
nobody takes what was begun for something that was not.
"""

from __future__ import annotations

import array
import errno
import json
import os
import socket
import struct
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

Message = dict[str, Any]
HEAD = struct.Struct(">I")
"""The length of what follows, where there are pieces in a pipe."""

_SHORT = 1024
_IN_FILE = b"."
_MOST_DESCRIPTORS = 16
_ROOM = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)


ANSIBLE = frozenset(
    {
        "ANSIBLE_CACHE_PLUGIN",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION",
        "ANSIBLE_CALLBACK_PLUGINS",
        "ANSIBLE_HOST_KEY_CHECKING",
        "ANSIBLE_RETRY_FILES_ENABLED",
        "ANSIBLE_ROLES_PATH",
        "ANSIBLE_STDOUT_CALLBACK",
    }
)
"""Ansible's own: what was read from them is read again in every run."""
OTHERS = frozenset(
    {
        "AWX_ISOLATED_DATA_DIR",
        "K8S_AUTH_KUBECONFIG",
        "KUBECONFIG",
        "ORIGINAL_STDOUT_CALLBACK",
        "RUNNER_OMIT_EVENTS",
        "RUNNER_ONLY_FAILED_EVENTS",
        "TMPDIR",
    }
)
"""Those that nothing reads when it is imported."""


def send(connection: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send one message. The descriptors stay open here. Raises OSError."""
    send_encoded(connection, json.dumps(message).encode(), descriptors)


def send_encoded(connection: socket.socket, data: bytes, descriptors: Sequence[int] = ()) -> None:
    """Send one message that is JSON already. Raises OSError."""
    if len(data) <= _SHORT:
        socket.send_fds(connection, [data], list(descriptors))
        return
    file = os.memfd_create("message", os.MFD_CLOEXEC)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        socket.send_fds(connection, [_IN_FILE], [file, *descriptors])
    finally:
        os.close(file)


def receive(connection: socket.socket) -> tuple[Message, list[int]] | None:
    """The next message, with descriptors that are not inheritable; None when the other end is closed.

    Raises OSError, with EMFILE where a message is lost because its descriptors cannot be had.
    """
    data, ancillary, flags, _ = connection.recvmsg(_SHORT, _ROOM, socket.MSG_CMSG_CLOEXEC)
    received = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received.frombytes(content[: len(content) - len(content) % received.itemsize])
    if flags & socket.MSG_CTRUNC:
        close(received)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    if not data:
        return None
    if data != _IN_FILE:
        return json.loads(data), list(received)
    file, *descriptors = received
    try:
        return json.loads(_content(file)), descriptors
    finally:
        os.close(file)


def none_can_be_opened(error: OSError) -> bool:
    """Whether it says that this process, or the machine, has as many open files as it may."""
    return error.errno in {errno.EMFILE, errno.ENFILE}


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """The ends of a new pipe, each of which is closed with its stack. Raises OSError."""
    read, write = os.pipe()
    reading.callback(os.close, read)
    writing.callback(os.close, write)
    return read, write


def close(descriptors: Iterable[int]) -> None:
    """Close each of them."""
    for descriptor in descriptors:
        os.close(descriptor)
