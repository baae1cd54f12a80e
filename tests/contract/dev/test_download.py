"""Downloads against a server that behaves well, badly, or is not there at all."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import socket
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runner.dev.download import download
from runner.dev.progress import lines_on
from runner.dev.releases import VERSIONS
from runner.errors import BinariesError

KUBERNETES = f"/dl.k8s.io/release/{VERSIONS.kubernetes}/bin/linux/amd64/kube-scheduler"
ETCD = f"/github.com/etcd-io/etcd/releases/download/{VERSIONS.etcd}"
KWOK = f"/github.com/kubernetes-sigs/kwok/releases/download/{VERSIONS.kwok}/kwok-linux-amd64"
KWOK_DESCRIPTION = f"/api.github.com/repos/kubernetes-sigs/kwok/releases/tags/{VERSIONS.kwok}"
PROGRAM = b"\x7fELF" + b"program" * 100_000


@dataclass
class Mirror:
    """A scripted server: files by path; of those in `cut` only half is sent; `moved` paths redirect."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = scripted.files.get(self.path)
            if self.path in scripted.moved:
                self.send_response(302)
                self.send_header("Location", scripted.moved[self.path])
                self.end_headers()
            elif content is None:
                self.send_error(404)
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if self.path in scripted.cut else content)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        scripted = Mirror(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield scripted
        server.shutdown()
        thread.join()


def sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def fetch(program: str, directory: Path, mirror: str) -> None:
    download([program], directory, mirror, lines_on(io.StringIO()))


def etcd_archive(member: str) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as opened:
        entry = tarfile.TarInfo(member)
        entry.size = len(PROGRAM)
        opened.addfile(entry, io.BytesIO(PROGRAM))
    return archive.getvalue()


def test_program_with_the_published_checksum_is_put_in_place(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {KUBERNETES: PROGRAM, f"{KUBERNETES}.sha256": sha256(PROGRAM)}

    fetch("kube-scheduler", tmp_path, mirror.url)

    assert (tmp_path / "kube-scheduler").read_bytes() == PROGRAM
    assert (tmp_path / "kube-scheduler").stat().st_mode & 0o111


def test_nothing_but_the_program_and_its_checksum_is_left_behind(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {KUBERNETES: PROGRAM, f"{KUBERNETES}.sha256": sha256(PROGRAM)}

    fetch("kube-scheduler", tmp_path, mirror.url)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["kube-scheduler", "kube-scheduler.sha256"]
    assert (tmp_path / "kube-scheduler.sha256").read_text() == f"{sha256(PROGRAM).decode()}  kube-scheduler\n"


def test_redirect_is_followed(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {"/elsewhere": PROGRAM, f"{KUBERNETES}.sha256": sha256(PROGRAM)}
    mirror.moved = {KUBERNETES: "/elsewhere"}

    fetch("kube-scheduler", tmp_path, mirror.url)

    assert (tmp_path / "kube-scheduler").read_bytes() == PROGRAM


def test_redirect_to_a_local_file_is_refused(mirror: Mirror, tmp_path: Path) -> None:
    mirror.moved = {f"{KUBERNETES}.sha256": "file:///etc/hostname"}

    with pytest.raises(BinariesError, match="not allowed"):
        fetch("kube-scheduler", tmp_path, mirror.url)


def test_etcd_is_taken_out_of_its_archive(mirror: Mirror, tmp_path: Path) -> None:
    name = f"etcd-{VERSIONS.etcd}-linux-amd64"
    archive = etcd_archive(f"{name}/etcd")
    listing = b"%s  %s\n" % (sha256(archive), f"{name}.tar.gz".encode())
    mirror.files = {f"{ETCD}/{name}.tar.gz": archive, f"{ETCD}/SHA256SUMS": listing}

    fetch("etcd", tmp_path, mirror.url)

    assert (tmp_path / "etcd").read_bytes() == PROGRAM


def test_archive_without_etcd_is_reported(mirror: Mirror, tmp_path: Path) -> None:
    name = f"etcd-{VERSIONS.etcd}-linux-amd64"
    archive = etcd_archive("README.md")
    listing = b"%s  %s\n" % (sha256(archive), f"{name}.tar.gz".encode())
    mirror.files = {f"{ETCD}/{name}.tar.gz": archive, f"{ETCD}/SHA256SUMS": listing}

    with pytest.raises(BinariesError, match=f"holds no file {name}/etcd"):
        fetch("etcd", tmp_path, mirror.url)


def test_kwok_is_verified_by_the_digest_in_its_release(mirror: Mirror, tmp_path: Path) -> None:
    assets = [{"name": "kwok-linux-amd64", "digest": f"sha256:{sha256(PROGRAM).decode()}"}]
    mirror.files = {KWOK: PROGRAM, KWOK_DESCRIPTION: json.dumps({"assets": assets}).encode()}

    fetch("kwok", tmp_path, mirror.url)

    assert (tmp_path / "kwok").read_bytes() == PROGRAM


def test_program_with_another_checksum_is_not_used(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {KUBERNETES: PROGRAM, f"{KUBERNETES}.sha256": sha256(b"other")}

    with pytest.raises(BinariesError, match=f"{KUBERNETES}: SHA-256 is .* not used"):
        fetch("kube-scheduler", tmp_path, mirror.url)

    assert list(tmp_path.iterdir()) == []


def test_program_whose_checksum_is_not_published_is_not_fetched(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {KUBERNETES: PROGRAM, f"{KUBERNETES}.sha256": b"<html>busy</html>"}

    with pytest.raises(BinariesError, match="holds no SHA-256 for kube-scheduler"):
        fetch("kube-scheduler", tmp_path, mirror.url)


def test_cut_transfer_is_noticed(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files = {KUBERNETES: PROGRAM, f"{KUBERNETES}.sha256": sha256(PROGRAM)}
    mirror.cut = {KUBERNETES}

    with pytest.raises(BinariesError, match=f"cut off after {len(PROGRAM) // 2} of {len(PROGRAM)} bytes"):
        fetch("kube-scheduler", tmp_path, mirror.url)

    assert list(tmp_path.iterdir()) == []


def test_missing_file_is_reported_with_its_address(mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(BinariesError, match=f"{mirror.url}{KUBERNETES}.sha256: 404"):
        fetch("kube-scheduler", tmp_path, mirror.url)


def test_server_that_is_not_there_is_reported(mirror: Mirror, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

        with pytest.raises(BinariesError, match="not reachable"):
            fetch("kube-scheduler", tmp_path, url)


def test_program_that_is_there_is_not_fetched_again(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "kube-scheduler").write_text("here already")

    fetch("kube-scheduler", tmp_path, mirror.url)

    assert (tmp_path / "kube-scheduler").read_text() == "here already"
