"""Certificates of one control plane, and the kubeconfigs that hold them."""

from __future__ import annotations

import base64
import ipaddress
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from runner.dev.layout import HOST, NODE, Layout

VALIDITY = timedelta(days=3650)
CLOCK_SKEW = timedelta(minutes=5)
SERVICE_NETWORK = "10.0.0.0/24"
LOOPBACK = ("127.0.0.1", "localhost")
# The names that the service `kubernetes` has inside a cluster, and the first address of its network.
API_SERVER = (
    *LOOPBACK,
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "10.0.0.1",
)

Key = ec.EllipticCurvePrivateKey


AUTHORITIES = ("ca", "etcd-ca")
SERVICE_ACCOUNT = "service-account"


@dataclass(frozen=True)
class Subject:
    """Whom a certificate is for; with `hosts` it is a server's, and a client's too."""

    file: str
    authority: str
    common_name: str
    organization: str | None = None
    hosts: tuple[str, ...] = ()


SUBJECTS = (
    Subject("etcd", "etcd-ca", "etcd", hosts=LOOPBACK),
    Subject("apiserver-etcd", "etcd-ca", "kube-apiserver"),
    Subject("apiserver", "ca", "kube-apiserver", hosts=API_SERVER),
    Subject("admin", "ca", "kubernetes-admin", "system:masters"),
    Subject("kube-controller-manager", "ca", "system:kube-controller-manager"),
    Subject("kube-scheduler", "ca", "system:kube-scheduler"),
    Subject("kwok", "ca", "kwok"),
    # Of a real node, by the names that the API server's own rules know.
    Subject("kubelet", "ca", f"system:node:{NODE}", "system:nodes"),
    Subject("kube-proxy", "ca", "system:kube-proxy"),
)
FILES = (
    *(
        f"{name}.{kind}"
        for name in (*AUTHORITIES, *(subject.file for subject in SUBJECTS))
        for kind in ("key", "crt")
    ),
    f"{SERVICE_ACCOUNT}.key",
    f"{SERVICE_ACCOUNT}.pub",
)
"""Every file that `create` makes."""


def create_certificates(directory: Path, host: str = HOST) -> None:
    """Put every key and certificate into `directory`, unless it is there already.

    It appears as a whole or not at all. Keys have mode 0600, the directory 0700. The API server is `host` too.
    """
    if directory.exists():
        return
    partial = directory.with_name(directory.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    authorities = {name: _authority(partial, name) for name in AUTHORITIES}
    for subject in SUBJECTS:
        _issue(partial, _at(subject, host), *authorities[subject.authority])
    _write_service_account_keys(partial)
    partial.rename(directory)


def _at(subject: Subject, host: str) -> Subject:
    if subject.file != "apiserver" or host in subject.hosts:
        return subject
    return replace(subject, hosts=(*subject.hosts, host))


def _authority(directory: Path, name: str) -> tuple[x509.Certificate, Key]:
    key = ec.generate_private_key(ec.SECP256R1())
    common_name = _name(f"ansible-operator dev {name}")
    usage = _key_usage(signs_certificates=True)
    certificate = (
        _builder(common_name, common_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_pair(directory, name, certificate, key)
    return certificate, key


def _issue(directory: Path, subject: Subject, authority: x509.Certificate, authority_key: Key) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if subject.hosts:
        usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
    builder = (
        _builder(_name(subject.common_name, subject.organization), authority.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
    )
    if subject.hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(_names(subject.hosts)), critical=False)
    _write_pair(directory, subject.file, builder.sign(authority_key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + VALIDITY)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str, organization: str | None = None) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    return [_general_name(host) for host in hosts]


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write_service_account_keys(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    _write_private(directory / f"{SERVICE_ACCOUNT}.key", _pem(key))
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (directory / f"{SERVICE_ACCOUNT}.pub").write_bytes(public)


def _write_pair(directory: Path, name: str, certificate: x509.Certificate, key: Key) -> None:
    _write_private(directory / f"{name}.key", _pem(key))
    (directory / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write_private(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(content)


def write_kubeconfig(
    file: Path, layout: Layout, server: str, client: str, *, token: str = "", namespace: str = "default"
) -> None:
    """Write a kubeconfig for the token, else for the client certificate called `client`.

    Its mode is 0600, and it is replaced as a whole.
    """
    user = {"token": token} if token else _certificate(layout, client)
    content = yaml.safe_dump(_kubeconfig(layout, server, (client, user), namespace), sort_keys=False)
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(content)
    partial.rename(file)


def _certificate(layout: Layout, client: str) -> dict[str, str]:
    return {
        "client-certificate-data": _encoded(layout.certificate(client)),
        "client-key-data": _encoded(layout.key(client)),
    }


def _kubeconfig(
    layout: Layout, server: str, named_user: tuple[str, dict[str, str]], namespace: str
) -> dict[str, object]:
    cluster = {"server": server, "certificate-authority-data": _encoded(layout.certificate("ca"))}
    client, user = named_user
    context = {"cluster": "dev", "user": client, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "dev", "cluster": cluster}],
        "users": [{"name": client, "user": user}],
        "contexts": [{"name": "dev", "context": context}],
        "current-context": "dev",
    }


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
