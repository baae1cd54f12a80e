"""What is pinned: the same for every release of ansible-core, but for what that release has of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.pins import RELEASES, pins_of

REQUIREMENTS = Path(__file__).parents[3] / "requirements"


def pins(name: str) -> dict[str, str]:
    return pins_of((REQUIREMENTS / name).read_text())


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_pins_that_ansible_core_and_little_else(release: str) -> None:
    own = pins(f"ansible-{release}.txt")

    assert own["ansible-core"].startswith(f"ansible-core=={release}.")
    assert own.keys() <= {"ansible-core", "resolvelib"}


@pytest.mark.parametrize("name", ["dev.txt", *(f"ansible-{release}.txt" for release in RELEASES)])
def test_a_package_is_pinned_once_only(name: str) -> None:
    assert pins(name).keys() & pins("run.txt").keys() == set()


@pytest.mark.parametrize(
    "name", ["run.txt", "dev.txt", "build.txt", "docs.txt", *(f"ansible-{release}.txt" for release in RELEASES)]
)
def test_every_pin_has_hashes_and_no_address(name: str) -> None:
    assert [package for package, pin in pins(name).items() if "--hash=sha256:" not in pin] == []
    assert "://" not in (REQUIREMENTS / name).read_text()
