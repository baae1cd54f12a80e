"""Whether files are as they were when they were read, and what new ones may be."""

from __future__ import annotations

import io
import os
import socket
import sys
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from . import wire

Stat = tuple[str, int, int]
"""A file's path, modification time in ns, and size in bytes, -1 if there is none. JSON makes a list of it."""


Build = Callable[[str, zipfile.ZipFile], str]
"""Writes the payload of the module in this file; returns the module's full name."""
_RESPAWN = "ansible/module_utils/common/respawn.py"
_MADE_UP = {"ansible/__init__.py", "ansible/module_utils/__init__.py"}
_COLLECTIONS = "ansible_collections"


def stat(path: str) -> Stat:
    """What a file is like now."""
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, -1
    return path, status.st_mtime_ns, status.st_size


def changed(known: Iterable[Stat]) -> str:
    """Which of these files is no longer as it was, else an empty string."""
    for path, modified, size in known:
        if stat(path) != (path, modified, size):
            return f"{path} has changed"
    return ""


def umask() -> int:
    """What new files of this process are not permitted; asked without setting it, as threads would notice."""
    with suppress(OSError), open("/proc/self/status", "rb") as file:  # no more files can be opened
        for entry in file:
            if entry.startswith(b"Umask:"):
                return int(entry.split()[1], 8)
    mask = os.umask(0o077)  # or the kernel does not tell; nothing is made meanwhile that others could read
    os.umask(mask)
    return mask


def imported(*packages: str) -> dict[str, Stat]:
    """The file of each module of these packages that is imported, by the module's name."""
    found = {}
    for name in list(sys.modules):
        if name.partition(".")[0] in packages and (path := _file(name)):
            found[name] = stat(path)
    return found


def _file(name: str) -> str | None:
    module = sys.modules[name]
    spec = getattr(module, "__spec__", None)
    if spec is None or spec.name != name:  # it has put another one in its place
        package = sys.modules.get(name.rpartition(".")[0])
        spec = PathFinder.find_spec(name, getattr(package, "__path__", None))
    return spec.origin if spec else None


@dataclass(frozen=True, slots=True)
class Found:
    """What a module is: its full name, the place of each collection, the file of each Python module it brings.

    An empty `name` says that it has to be run as Ansible runs it.
    """

    name: str
    collections: dict[str, str]
    files: dict[str, Stat]


class Register:
    """What is known of modules: the zygote's, and in each run that is forked from it a copy that tells it more."""

    def __init__(self, ansible: str) -> None:
        """`ansible` is the directory of the package."""
        self._ansible = ansible
        self._known: dict[str, Found] = {}
        self._told, self._tell = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._told.setblocking(False)
        self._tell.setblocking(False)

    def close(self) -> None:
        """Tell and learn nothing more."""
        self._told.close()
        self._tell.close()

    def learn(self) -> bool:
        """In the zygote: take in what runs have found out; whether there was anything."""
        learned = False
        with suppress(BlockingIOError):
            while message := wire.receive(self._told):
                for key, found in message[0].items():
                    self._known[key] = Found(**found)
                    learned = True
        return learned

    def find(self, path: str, utils: list[str], build: Build) -> Found:
        """What the module in the file `path` is, when module_utils are looked for in `utils` first."""
        key = "\0".join((path, *utils))
        found = self._known.get(key)
        if found is None or changed(found.files.values()):
            found = self._known[key] = self._look(path, build)
            with suppress(OSError):  # nobody has taken in for a while what there is
                wire.send(self._tell, {key: asdict(found)})
        return found

    def _look(self, path: str, build: Build) -> Found:
        payload = io.BytesIO()
        with zipfile.ZipFile(payload, "w", zipfile.ZIP_STORED) as archive:
            name = build(path, archive)
        files = {path: stat(path)}
        places: dict[str, str] = {}
        with zipfile.ZipFile(payload) as archive:
            for member in archive.namelist():
                content = archive.read(member)
                file = self._file(member)
                if member in _MADE_UP or _is_upper_package(member, content, file):
                    continue
                if member == _RESPAWN or file is None or not _holds(file, content):
                    return Found("", {}, files)  # respawn would look for the payload
                files[_module_name(member)] = stat(file)
                if member.startswith(f"{_COLLECTIONS}/"):
                    places[".".join(member.split("/")[1:3])] = file.removesuffix(f"/{member}")
        del files[path]  # it is there under its name
        return Found(name, places, files)

    def _file(self, member: str) -> str | None:
        """Where an import of this member of a payload would lead."""
        top, _, rest = member.partition("/")
        if top == "ansible":
            return f"{self._ansible}/{rest}"
        parts = member.split("/")
        package = sys.modules.get(".".join(parts[:3]))
        if len(parts) < 4 or not package or not package.__path__:
            return None
        return "/".join([package.__path__[0], *parts[3:]])


def _is_upper_package(member: str, content: bytes, file: str | None) -> bool:
    """Nothing that is only there so that what is below can be imported."""
    return (
        member.endswith("/__init__.py")
        and not content
        and (file is None or not os.path.exists(file) or _holds(file, content))
    )


def _holds(file: str, content: bytes) -> bool:
    try:
        return Path(file).read_bytes() == content
    except OSError:
        return False


def _module_name(member: str) -> str:
    return member.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
