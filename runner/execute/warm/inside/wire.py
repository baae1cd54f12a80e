"""Messages with descriptors over a SEQPACKET socket; the text is in a memory file, so it may be of any length."""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
HEAD = struct.Struct(">I")
"""The length of what follows, where there are pieces in a pipe."""

_MOST_DESCRIPTORS = 16
_ROOM = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)


def send(line: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send one message. The descriptors stay open here. Raises OSError."""
    file = os.memfd_create("message", os.MFD_CLOEXEC)
    try:
        data = memoryview(json.dumps(message).encode())
        while data:
            data = data[os.write(file, data) :]
        socket.send_fds(line, [b"."], [file, *descriptors])
    finally:
        os.close(file)


def receive(line: socket.socket) -> tuple[Message, list[int]] | None:
    """The next message, with descriptors that are not inheritable; None at the end of the line. Raises OSError."""
    data, ancillary, _, _ = line.recvmsg(1, _ROOM, socket.MSG_CMSG_CLOEXEC)
    received = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            received.frombytes(content[: len(content) - len(content) % received.itemsize])
    if not data or not received:
        return None
    file, *descriptors = received
    try:
        return json.loads(_content(file)), descriptors
    finally:
        os.close(file)


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def close(descriptors: Sequence[int]) -> None:
    """Close each of them."""
    for descriptor in descriptors:
        os.close(descriptor)
