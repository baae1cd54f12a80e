from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from runner.dev import certificates
from runner.dev.certificates import AUTHORITIES, SUBJECTS, Subject


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plane") / "certificates"
    certificates.create_certificates(made)
    return made


def load(directory: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((directory / f"{name}.crt").read_bytes())


def subject_of(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str | bytes]:
    return [attribute.value for attribute in certificate.subject.get_attributes_for_oid(oid)]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s.file)
def test_certificate_is_signed_by_its_authority(directory: Path, subject: Subject) -> None:
    load(directory, subject.file).verify_directly_issued_by(load(directory, subject.authority))


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s.file)
def test_only_servers_may_be_servers(directory: Path, subject: Subject) -> None:
    usage = load(directory, subject.file).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value

    assert (ExtendedKeyUsageOID.SERVER_AUTH in usage) == bool(subject.hosts)


def test_administrator_is_in_the_group_that_may_do_everything(directory: Path) -> None:
    assert subject_of(load(directory, "admin"), NameOID.ORGANIZATION_NAME) == ["system:masters"]


@pytest.mark.parametrize("name", ["kube-controller-manager", "kube-scheduler", "kwok"])
def test_components_are_in_no_group(directory: Path, name: str) -> None:
    assert subject_of(load(directory, name), NameOID.ORGANIZATION_NAME) == []


def test_etcd_accepts_nobody_else_s_certificates(directory: Path) -> None:
    for_etcd = {subject.file for subject in SUBJECTS if subject.authority == "etcd-ca"}

    assert for_etcd == {"etcd", "apiserver-etcd"}


@pytest.mark.parametrize("name", AUTHORITIES)
def test_authority_signs_no_further_authorities(directory: Path, name: str) -> None:
    constraints = load(directory, name).extensions.get_extension_for_class(x509.BasicConstraints).value

    assert constraints.ca
    assert constraints.path_length == 0


def test_private_keys_are_for_their_owner_only(directory: Path) -> None:
    keys = list(directory.glob("*.key"))

    assert len(keys) == len(SUBJECTS) + len(AUTHORITIES) + 1
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_keys_that_exist_stay_valid(directory: Path) -> None:
    before = (directory / "service-account.key").read_bytes()

    certificates.create_certificates(directory)

    assert (directory / "service-account.key").read_bytes() == before


def test_a_creation_that_was_cut_short_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "certificates.partial").mkdir()
    (tmp_path / "certificates.partial" / "ca.key").write_text("half")

    certificates.create_certificates(tmp_path / "certificates")

    load(tmp_path / "certificates", "ca")
    assert not (tmp_path / "certificates.partial").exists()


def test_the_api_server_is_the_address_at_which_nodes_reach_it(tmp_path: Path) -> None:
    certificates.create_certificates(tmp_path / "certificates", "10.1.1.1")

    extensions = load(tmp_path / "certificates", "apiserver").extensions
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"127.0.0.1", "10.1.1.1"} <= {str(each) for each in names.get_values_for_type(x509.IPAddress)}
