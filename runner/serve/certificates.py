"""The certificate that a server shows: self-signed, from a directory, or handed to it; changed without a restart.

A connection that is open keeps what it began with, and each handshake gets the newest, so no request is refused
while a certificate is rotated.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALIDITY = timedelta(days=365)
CLOCK_SKEW = timedelta(minutes=5)
LOCAL = ("localhost", "127.0.0.1", "::1")
Stamp = tuple[tuple[int, int, int], ...]
"""What changes when one of the files does; empty while one of them is missing."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pair:
    """A server's certificate, its key, and the authority that has signed it; all as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)
    authority: bytes


def issued(names: Iterable[str], validity: timedelta = VALIDITY) -> Pair:
    """A certificate for these host names and addresses, by an authority whose key nobody keeps."""
    names = list(names)
    signer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    # a name of its own, or a client that knows two authorities could take the wrong one
    issuer, name = _name(f"ansible-operator {x509.random_serial_number():x}"[:64]), _name(names[0][:64])
    limited = x509.BasicConstraints(ca=True, path_length=0)
    authority = (
        _builder(issuer, issuer, signer.public_key(), validity)
        .add_extension(limited, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(signer.public_key()), critical=False)
    )
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        _builder(name, issuer, key.public_key(), validity)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(usage, critical=False)
        .add_extension(by, critical=False)
    )
    return Pair(
        certificate.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        authority.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
    )


def valid_until(certificate: bytes) -> datetime:
    """The end of the first certificate in this PEM. Raises ValueError."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def of_metrics(temporary_directory: Path) -> ServingCertificate:
    """With `tls.crt` and `tls.key` from where controller-runtime looks for them, if both are there."""
    return ServingCertificate("/metrics", temporary_directory / "k8s-metrics-server" / "serving-certs")


class ServingCertificate:
    """`context` is for a server; each handshake uses what `use` was given last, or the directory now holds.

    Self-signed until there is anything. `what` says what it is for.
    """

    def __init__(self, what: str, where: Path | None = None) -> None:
        self._what = what
        self._files = (where / "tls.crt", where / "tls.key") if where else None
        self._stamp: Stamp = ()
        self._read = False
        self.context = self._current = _context()
        first = issued(LOCAL)
        self.authority = first.authority
        _load(self.context, first)
        self.context.sni_callback = self._choose  # called also where the client names no server

    def mounted(self) -> bool:
        """Whether the directory has held a certificate that can be used; looks again."""
        self._refresh()
        return self._read

    def use(self, pair: Pair) -> None:
        """From the next handshake on. Raises ssl.SSLError where the pair is none."""
        fresh = _context()
        _load(fresh, pair)
        self._current, self.authority = fresh, pair.authority

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        self._refresh()
        handshake.context = self._current

    def _refresh(self) -> None:
        stamp = self._seen()
        if self._files is None or not stamp or stamp == self._stamp:
            return
        self._stamp = stamp
        fresh = _context()
        try:
            fresh.load_cert_chain(*self._files)
        except (OSError, ValueError) as error:  # SSLError is an OSError; half of a rotation is one
            message = f"the certificate for {self._what} cannot be used"
            log.warning(message, file=str(self._files[0]), error=str(error))
        else:
            self._current, self._read = fresh, True

    def _seen(self) -> Stamp:
        try:
            found = [file.stat() for file in self._files or ()]
        except OSError:
            return ()
        return tuple((status.st_mtime_ns, status.st_ino, status.st_size) for status in found)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, validity: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + validity)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load(context: ssl.SSLContext, pair: Pair) -> None:
    """The key is never on a disk: OpenSSL wants a path, and gets one of memory."""
    descriptor = os.memfd_create("serving-certificate")
    try:
        os.write(descriptor, pair.key + pair.certificate)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
