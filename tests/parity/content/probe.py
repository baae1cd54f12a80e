"""Runs inside a play, as a task of the test roles: tells what it sees, as one JSON line in the ledger.

probe.py dump NAME [JSON]        everything about the run: environment, files, kubeconfig
probe.py mark NAME [JSON]        only that it was here
probe.py meet NAME SECONDS       whether another run of the same kind goes on meanwhile
probe.py ask NAME FILE           sends the requests of a JSON file with the run's kubeconfig
"""

from __future__ import annotations

import base64
import fcntl
import http.client
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

Facts = dict[str, Any]


def run_directory() -> Path:
    """`<dir>` of `<dir>/artifacts/<ident>`."""
    return Path(os.environ["AWX_ISOLATED_DATA_DIR"]).parent.parent


def dump(_name: str, extra: str = "{}") -> Facts:
    directory = run_directory()
    kubeconfig = Path(os.environ["KUBECONFIG"])
    return {
        "cwd": str(Path.cwd()),
        "directory": str(directory),
        "environment": dict(os.environ),
        "extravars": json.loads((directory / "env/extravars").read_text()),
        "files": {str(path.relative_to(directory)): path.read_text() for path in inputs(directory)},
        "kubeconfig": kubeconfig.read_text(),
        "kubeconfig_mode": oct(kubeconfig.stat().st_mode & 0o777),
        "token": owner(entries(kubeconfig)),
        "extra": json.loads(extra),
    }


def inputs(directory: Path) -> Iterator[Path]:
    for part in ("env", "inventory", "project"):
        yield from (path for path in (directory / part).rglob("*") if path.is_file())


def mark(_name: str, extra: str = "{}") -> Facts:
    return {"extra": json.loads(extra)}


def meet(name: str, seconds: str) -> Facts:
    kind = run_directory().parent.parent.name
    place = Path(os.environ["PARITY_LEDGER"]).parent / "meeting" / kind
    place.mkdir(parents=True, exist_ok=True)
    (place / name).touch()
    end = time.monotonic() + float(seconds)
    met = False
    while not met and time.monotonic() < end:
        met = len(list(place.iterdir())) > 1
        time.sleep(0.02)
    if not met:
        (place / name).unlink()
    return {"met": met}


def entries(kubeconfig: Path) -> dict[str, str]:
    """The scalar entries of a kubeconfig with one of each; no YAML reader is needed for that."""
    pairs = (line.strip(" -").partition(": ") for line in kubeconfig.read_text().splitlines())
    return {key: value.strip("\"'") for key, _, value in pairs}


def owner(found: dict[str, str]) -> Any:
    """The user of the server's URL, as the operator's proxy decodes it."""
    return json.loads(base64.b64decode(urlsplit(found["server"]).username or ""))


def ask(_name: str, file: str) -> Facts:
    found = entries(Path(os.environ["KUBECONFIG"]))
    basic = base64.b64encode(f"{found['username']}:{found['password']}".encode()).decode()
    usual = {"Authorization": f"Basic {basic}", "Accept": "application/json"}
    wanted = json.loads(Path(file).read_text())
    server = urlsplit(found["server"])
    return {"answers": {request["id"]: answer(server, request, usual) for request in wanted}}


def answer(server: SplitResult, request: Facts, usual: dict[str, str]) -> Facts:
    body = request.get("body")
    if "base64" in request:
        body = base64.b64decode(request["base64"])
    elif body is not None and not isinstance(body, str):
        body = json.dumps(body)
    connection = http.client.HTTPConnection(str(server.hostname), server.port, timeout=60)
    try:
        connection.request(request["method"], request["path"], body, usual | request.get("headers", {}))
        found = connection.getresponse()
        content = found.readline() if request.get("first_line") else found.read()
        return {"status": found.status, "headers": dict(found.getheaders()), "body": decoded(content)}
    finally:
        connection.close()


def decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


def tell(entry: Facts) -> None:
    with Path(os.environ["PARITY_LEDGER"]).open("a") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        ledger.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    views: dict[str, Callable[..., Facts]] = {"dump": dump, "mark": mark, "meet": meet, "ask": ask}
    what, name, *rest = sys.argv[1:]
    tell({"what": what, "name": name, **views[what](name, *rest)})
