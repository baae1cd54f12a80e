"""What kubernetes.core has found out about the cluster's API, handed on from one object's runs to another's.

It keeps that in a file in TMPDIR named by the server's URL. That of our proxy says whose run it is, so each
new object would ask the API server for everything again, though the content is the same for all. Should the file
be named otherwise one day, it is not found, and all is asked for again.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

import yaml

from runner.execute.rundir import DISCOVERY, write_private


class Discovery:
    """The latest that any run has found out, in memory."""

    def __init__(self, since: int | None = None) -> None:
        """`since` is when this operator was started, in ns; now, if it is not said."""
        self._since = time.time_ns() if since is None else since
        self._content = ""
        self._written = 0

    def give(self, temporary: Path, kubeconfig: str) -> None:
        """Put it into a TMPDIR, unless the runs of this object have some already.

        What earlier operators left is removed: their proxies' URLs were others, and so the names of their files.
        """
        with suppress(OSError, KeyError, IndexError, TypeError, yaml.YAMLError):
            if not self._of_this_operator(temporary) and self._content:
                write_private(temporary / file_name(_server(kubeconfig)), self._content)

    def _of_this_operator(self, temporary: Path) -> bool:
        found = False
        for path in temporary.glob(DISCOVERY):
            if path.lstat().st_mtime_ns < self._since:
                path.unlink()
            else:
                found = True
        return found

    def take(self, temporary: Path) -> None:
        """Remember what the run that has just ended has found out anew."""
        with suppress(OSError, ValueError):
            for path in temporary.glob(DISCOVERY):
                written = path.stat().st_mtime_ns
                if written > self._written:
                    self._content, self._written = path.read_text(encoding="utf-8"), written


def file_name(server: str) -> str:
    """That of kubernetes.core's file for this server's URL, when it is used by our own user."""
    user = _user()
    identity = f"{server}-{user}" if user else server
    return f"k8srcp-{hashlib.sha256(identity.encode()).hexdigest()}.json"


def _server(kubeconfig: str) -> str:
    return str(yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]["server"])


def _user() -> str:
    """As kubernetes.core asks for it: a login name, else a user id that is not 0, else USERNAME."""
    login = ""
    with suppress(OSError):
        login = os.getlogin()
    return login or str(os.getuid() or os.environ.get("USERNAME", ""))
