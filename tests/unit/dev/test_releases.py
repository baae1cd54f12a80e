from __future__ import annotations

import json
import platform
import re

import pytest

from runner.dev import releases
from runner.dev.gobuild import MODULE
from runner.dev.releases import VERSIONS, described_checksum, first_checksum, listed_checksum
from runner.errors import BinariesError

SUM = "0123456789abcdef" * 4
OTHER = "f" * 64


@pytest.mark.parametrize("text", [SUM, f"{SUM}\n", f"{SUM}  kubectl\n", SUM.upper()])
def test_single_checksum_is_read(text: str) -> None:
    assert first_checksum(text) == SUM


@pytest.mark.parametrize("text", ["", "<html>not found</html>", SUM[:-1]])
def test_text_that_is_no_checksum_is_not_taken_for_one(text: str) -> None:
    assert first_checksum(text) is None


@pytest.mark.parametrize("mark", ["", "*"])
def test_checksum_is_found_in_a_list_by_its_file(mark: str) -> None:
    listing = f"{OTHER}  {mark}a.tar.gz.asc\n{SUM}  {mark}a.tar.gz\n"

    assert listed_checksum("a.tar.gz", listing) == SUM


def test_file_that_is_not_listed_has_no_checksum() -> None:
    assert listed_checksum("b.tar.gz", f"{SUM}  a.tar.gz\n") is None


def test_checksum_is_found_in_the_description_of_a_release() -> None:
    description = json.dumps(
        {"assets": [{"name": "other", "digest": f"sha256:{OTHER}"}, {"name": "kwok", "digest": f"sha256:{SUM}"}]}
    )

    assert described_checksum("kwok", description) == SUM


@pytest.mark.parametrize(
    "description",
    [
        "",
        "{}",
        '{"assets": []}',
        '{"assets": [{"name": "kwok"}]}',
        '{"assets": [{"name": "kwok", "digest": null}]}',
        json.dumps({"assets": [{"name": "kwok", "digest": "sha512:" + SUM}]}),
    ],
)
def test_description_without_a_digest_has_no_checksum(description: str) -> None:
    assert described_checksum("kwok", description) is None


def test_unknown_machine_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "sparc64")

    with pytest.raises(BinariesError, match=r"no releases for \w+ on sparc64"):
        releases.architecture()


def required(path: str) -> str:
    go_mod = (MODULE / "go.mod").read_text()
    found = re.search(rf"^\s*{re.escape(path)} (v\S+)", go_mod, re.MULTILINE)
    assert found
    return found[1]


def test_downloads_and_builds_are_of_the_same_versions() -> None:
    assert required("k8s.io/kubernetes") == VERSIONS.kubernetes
    assert required("go.etcd.io/etcd/server/v3") == VERSIONS.etcd
    assert required("sigs.k8s.io/kwok") == VERSIONS.kwok
