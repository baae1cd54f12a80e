"""The certificate that /metrics is served with: the one in a directory, read again when it changes, or our own."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

log = structlog.get_logger(__name__)

VALIDITY = timedelta(days=365)
CLOCK_SKEW = timedelta(minutes=5)
Stamp = tuple[tuple[int, int, int], ...]
"""What changes when one of the files does; empty while one of them is missing."""


def serving_context(environment: Mapping[str, str]) -> ssl.SSLContext:
    """With `tls.crt` and `tls.key` from where controller-runtime looks for them, if both are there."""
    place = Path(environment.get("TMPDIR") or "/tmp")  # noqa: S108  (as Go's os.TempDir)
    return ServingCertificate(place / "k8s-metrics-server" / "serving-certs").context


class ServingCertificate:
    """`context` is for the server; at each handshake it uses what the directory holds at that time."""

    def __init__(self, where: Path) -> None:
        self._files = (where / "tls.crt", where / "tls.key")
        self._stamp: Stamp = ()
        self.context = self._current = _context()
        _load_self_signed(self.context)
        self.context.sni_callback = self._choose  # called also where the client names no server

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        self._refresh()
        handshake.context = self._current

    def _refresh(self) -> None:
        stamp = self._seen()
        if not stamp or stamp == self._stamp:
            return
        self._stamp = stamp
        fresh = _context()
        try:
            fresh.load_cert_chain(*self._files)
        except (OSError, ValueError) as error:  # SSLError is an OSError; half of a rotation is one
            log.warning("the certificate for /metrics cannot be used", file=str(self._files[0]), error=str(error))
        else:
            self._current = fresh

    def _seen(self) -> Stamp:
        try:
            found = [file.stat() for file in self._files]
        except OSError:
            return ()
        return tuple((status.st_mtime_ns, status.st_ino, status.st_size) for status in found)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load_self_signed(context: ssl.SSLContext) -> None:
    """The key is never on a disk: OpenSSL wants a path, and gets one of memory."""
    descriptor = os.memfd_create("serving-certificate")
    try:
        os.write(descriptor, _pem())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _pem() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + VALIDITY)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)
