"""Which modules the zygote may run: those whose payload holds what an import of ours would find."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from runner.execute.fork.inside.eligible import Build, Register

NAME = "ansible.modules.thing"


class Site:
    """An `ansible` package with one module and one of its module_utils, and how its payload is made."""

    def __init__(self, directory: Path) -> None:
        self.ansible = directory / "ansible"
        self.module = self.ansible / "modules/thing.py"
        self.util = self.ansible / "module_utils/helper.py"
        for path, text in ((self.module, "import helper"), (self.util, "value = 1")):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.register = Register(str(self.ansible))
        self.built = 0

    def payload(self, **members: str) -> Build:
        """One with the site's files, and these instead or besides."""

        def build(_path: str, archive: zipfile.ZipFile) -> str:
            self.built += 1
            files = {
                "ansible/__init__.py": "made up",
                "ansible/modules/__init__.py": "",
                "ansible/modules/thing.py": self.module.read_text(),
                "ansible/module_utils/helper.py": self.util.read_text(),
                **{name.replace("__", "/") + ".py": text for name, text in members.items()},
            }
            for name, text in files.items():
                archive.writestr(name, text)
            return NAME

        return build


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.register.close()


def test_a_module_is_known_by_its_name_and_files(site: Site) -> None:
    found = site.register.find(str(site.module), [], site.payload())
    assert found.name == NAME
    assert {path for path, *_ in found.files.values()} == {str(site.module), str(site.util)}


def test_what_was_found_of_a_module_holds_for_later_runs(site: Site) -> None:
    for _ in range(3):
        site.register.find(str(site.module), [], site.payload())
    assert site.built == 1


@pytest.mark.parametrize("edited", ["module", "util"])
def test_what_was_found_of_a_module_holds_until_one_of_its_files_is_edited(site: Site, edited: str) -> None:
    site.register.find(str(site.module), [], site.payload())
    path: Path = getattr(site, edited)
    path.write_text("edited = True")
    os.utime(path, ns=(1, 1))
    site.register.find(str(site.module), [], site.payload())
    assert site.built == 2


def test_a_module_is_looked_at_again_with_other_places_for_module_utils(site: Site) -> None:
    site.register.find(str(site.module), [], site.payload())
    site.register.find(str(site.module), ["/role/module_utils"], site.payload())
    assert site.built == 2


@pytest.mark.parametrize(
    "members",
    [
        {"ansible__module_utils__helper": "value = 'of a role'"},
        {"ansible__module_utils__new": "not in the site"},
        {"ansible__module_utils__common__respawn": "respawn"},
        {"ansible_collections__some__where__plugins__module_utils__x": "of nobody"},
        {"elsewhere__x": "what is this"},
    ],
)
def test_a_payload_with_anything_else_is_ansibles_to_run(site: Site, members: dict[str, str]) -> None:
    assert site.register.find(str(site.module), [], site.payload(**members)).name == ""


def test_a_module_without_a_name_is_ansibles_to_run(site: Site) -> None:
    def build(_path: str, _archive: zipfile.ZipFile) -> str:
        return ""

    assert site.register.find(str(site.module), [], build).name == ""


def test_a_collection_is_where_it_was_imported_from(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_collection: Callable[[str], Path]
) -> None:
    place = make_collection("some.where")
    file = place / "ansible_collections/some/where/plugins/module_utils/x.py"
    file.parent.mkdir(parents=True)
    file.write_text("of the collection")
    payload = site.payload(ansible_collections__some__where__plugins__module_utils__x="of the collection")
    found = site.register.find(str(site.module), [], payload)
    assert found.collections == {"some.where": str(place)}


@pytest.fixture
def make_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Make a collection look imported; gives the directory that holds `ansible_collections`."""

    def make(name: str) -> Path:
        namespace, _, leaf = name.partition(".")
        package = ModuleType(f"ansible_collections.{name}")
        package.__path__ = [str(tmp_path / "ansible_collections" / namespace / leaf)]
        monkeypatch.setitem(sys.modules, package.__name__, package)
        return tmp_path

    return make


def test_what_a_run_has_found_out_its_zygote_learns(site: Site) -> None:
    run = os.fork()
    if not run:
        site.register.find(str(site.module), [], site.payload())
        os._exit(0)
    os.waitpid(run, 0)
    assert site.register.learn()
    assert not site.register.learn()
    assert site.register.find(str(site.module), [], site.payload()).name == NAME
    assert site.built == 0
