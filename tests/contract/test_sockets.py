"""What the sockets to the API server do when nothing comes back any more."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import pytest

from runner.kube import sockets
from runner.kube.sockets import Fence, fenced_socket

DEADLINE = 30.0
ADDRESS = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)


@pytest.fixture
def silent() -> Iterator[tuple[str, int]]:
    """The address of a peer that never takes what it is sent: its window shuts, as if the line were dead."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()


def test_data_that_is_never_acknowledged_breaks_the_connection(
    silent: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "VANISHED_SECONDS", 0.5)
    with fenced_socket(Fence(), ADDRESS) as made:
        made.connect(silent)
        made.settimeout(DEADLINE)
        with pytest.raises(TimeoutError) as broken:
            _send_for_ever(made)
    assert broken.value.errno == errno.ETIMEDOUT  # and not our own deadline, which has no number


def _send_for_ever(made: socket.socket) -> None:
    while True:
        made.send(bytes(2**20))


def test_a_peer_counts_as_vanished_after_a_minute_idle_or_not() -> None:
    with fenced_socket(Fence(), ADDRESS) as made:
        idle = [
            made.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        ]
        assert idle[0] + idle[1] * idle[2] == 60
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
