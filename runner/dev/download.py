"""Download released programs: streamed, verified against the published checksum, put in place as a whole."""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from runner.dev import checksums
from runner.dev.progress import Progress
from runner.dev.releases import VERSIONS, Release, architecture, release
from runner.errors import BinariesError

# The checksum comes first and is small: a server that cannot be reached is noticed after this long.
CONNECT_SECONDS = 5.0
# A transfer that stands still for this long is given up.
STALL_SECONDS = 30.0
CHUNK = 2**18
CHECKSUM_BYTES = 2**20


def download(programs: Sequence[str], directory: Path, mirror: str | None, progress: Progress) -> None:
    """Put the released `programs` into `directory`; those that are there already are left alone.

    `mirror` is a base URL that stands before the host of each address: a server that holds
    `<mirror>/dl.k8s.io/release/...`. Raises BinariesError, naming the address and what was wrong.
    """
    arch = architecture()
    directory.mkdir(parents=True, exist_ok=True)
    for program in programs:
        if not (directory / program).exists():
            _download(release(program, VERSIONS, arch), directory, mirror, progress)


def mirrored(url: str, mirror: str | None) -> str:
    """The address of `url` on the mirror; its own without one."""
    return f"{mirror.rstrip('/')}/{url.removeprefix('https://')}" if mirror else url


def _download(wanted: Release, directory: Path, mirror: str | None, progress: Progress) -> None:
    checksum_url, url = mirrored(wanted.checksum_url, mirror), mirrored(wanted.url, mirror)
    checksum = wanted.checksum(_text(checksum_url))
    if checksum is None:
        raise BinariesError(f"{checksum_url}: holds no SHA-256 for {Path(urlsplit(url).path).name}")
    # Beside its place, so that moving it there is one step.
    with tempfile.TemporaryDirectory(prefix=".download-", dir=directory) as temporary:
        file = Path(temporary) / wanted.program
        received = _fetch(url, file, wanted.program, progress)
        if received != checksum:
            raise BinariesError(f"{url}: SHA-256 is {received}, published is {checksum}; not used")
        if wanted.member is not None:
            file = _extract(file, wanted.member, url)
        file.chmod(0o755)
        checksums.record(directory / wanted.program, file)
        file.rename(directory / wanted.program)


def _text(url: str) -> str:
    with _open(url, CONNECT_SECONDS) as response:
        return response.read(CHECKSUM_BYTES).decode(errors="replace")


def _fetch(url: str, file: Path, label: str, progress: Progress) -> str:
    digest = hashlib.sha256()
    received = 0
    with _open(url, STALL_SECONDS) as response, file.open("wb") as opened:
        total = int(response.headers["Content-Length"]) if response.headers["Content-Length"] else None
        with progress(f"downloading {label}", total) as advance:
            while chunk := response.read(CHUNK):
                opened.write(chunk)
                digest.update(chunk)
                received += len(chunk)
                advance(len(chunk))
    if total is not None and received < total:
        raise BinariesError(f"{url}: cut off after {received} of {total} bytes; try again")
    return digest.hexdigest()


@contextmanager
def _open(url: str, timeout: float) -> Iterator[http.client.HTTPResponse]:
    # Every way in which the transfer fails, while opening or reading, becomes one kind of error.
    try:
        with _opener().open(url, timeout=timeout) as response:
            yield response
    except urllib.error.HTTPError as error:
        error.close()
        raise BinariesError(f"{url}: {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise BinariesError(f"{url}: not reachable: {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise BinariesError(f"{url}: ended too early: {error!r}") from error


def _opener() -> urllib.request.OpenerDirector:
    # HTTP only: no other scheme, such as file:, is followed to.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _extract(archive: Path, member: str, url: str) -> Path:
    target = archive.with_suffix(".extracted")
    try:
        with tarfile.open(archive) as opened, target.open("wb") as written:
            source = opened.extractfile(member)
            if source is not None:
                shutil.copyfileobj(source, written)
                return target
    except (KeyError, tarfile.TarError) as error:
        raise BinariesError(f"{url}: holds no file {member}: {error}") from error
    raise BinariesError(f"{url}: {member} in it is not a file")
