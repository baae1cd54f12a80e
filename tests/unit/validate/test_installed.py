"""What is installed, as files tell it: modules, their options, filters, tests, lookups, keywords."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.validate.content.installed import UNKNOWABLE, Installed
from runner.validate.content.places import BUNDLED, Places, find_places

NONE: frozenset[str] = frozenset()
COLLECTION = {
    "meta/runtime.yml": """\
plugin_routing:
  modules:
    old: {redirect: a.b.new}
    gone: {tombstone: {warning_text: use new}}
    leaving: {deprecation: {warning_text: use new}}
  filter:
    former: {redirect: a.b.shout}
""",
    "plugins/modules/new.py": 'DOCUMENTATION = """\noptions:\n  name: {required: true, aliases: [title]}\n"""\n',
    "plugins/modules/leaving.py": "",
    "plugins/modules/sub/deep.py": "",
    "plugins/modules/shared.py": 'DOCUMENTATION = """\nextends_documentation_fragment: [a.b.common]\n"""\n',
    "plugins/modules/lost.py": 'DOCUMENTATION = """\nextends_documentation_fragment: [no.such.one]\n"""\n',
    "plugins/doc_fragments/common.py": 'class ModuleDocFragment:\n    DOCUMENTATION = """options: {size: {}}"""\n',
    "plugins/action/only.py": "",
    "plugins/filter/words.py": "class FilterModule:\n    def filters(self): return {'shout': str.upper}\n",
    "plugins/lookup/told.py": "",
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name, text in COLLECTION.items():
        file = tmp_path / "collections/ansible_collections/a/b" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return find_places(tmp_path, {"ANSIBLE_COLLECTIONS_PATH": "collections", "HOME": str(tmp_path)})


@pytest.fixture
def installed(places: Places) -> Installed:
    return Installed(places)


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("debug", "ansible.builtin.debug"),
        ("ansible.builtin.debug", "ansible.builtin.debug"),
        ("ansible.legacy.command", "ansible.builtin.command"),
        ("a.b.new", "a.b.new"),
        ("a.b.old", "a.b.new"),
        ("a.b.sub.deep", "a.b.sub.deep"),
        ("a.b.only", "a.b.only"),
        ("k8s_info", "kubernetes.core.k8s_info"),
    ],
)
def test_a_module_is_found_under_its_name_and_where_it_went(installed: Installed, name: str, full: str) -> None:
    module = installed.module(name, NONE, ())
    assert module is not None
    assert module.name == full


@pytest.mark.parametrize("name", ["debgu", "ansible.builtin.debgu", "a.b.nwe", "new"])
def test_a_module_that_is_nowhere_is_none(installed: Installed, name: str) -> None:
    assert installed.module(name, NONE, ()) is None


@pytest.mark.parametrize("name", ["own", "not.installed.thing", "docker_container"])
def test_a_module_of_the_projects_own_or_of_a_collection_elsewhere_is_unknowable(
    installed: Installed, name: str
) -> None:
    assert installed.module(name, frozenset({"own"}), ()) is UNKNOWABLE


def test_short_names_are_looked_up_in_the_collections_that_content_names(installed: Installed) -> None:
    module = installed.module("new", NONE, ("a.b",))
    assert module is not None
    assert module.name == "a.b.new"


def test_removed_and_deprecated_modules_say_so(installed: Installed) -> None:
    gone, leaving = installed.module("a.b.gone", NONE, ()), installed.module("a.b.leaving", NONE, ())
    assert gone is not None
    assert leaving is not None
    assert (gone.removed, leaving.deprecated) == ("use new", "use new")


def test_options_come_from_the_documentation_and_its_fragments(installed: Installed) -> None:
    new, shared = installed.module("a.b.new", NONE, ()), installed.module("a.b.shared", NONE, ())
    assert new is not None
    assert new.options is not None
    assert shared is not None
    assert shared.options is not None
    assert new.options.named["name"].required
    assert new.options.aliases == {"title": "name"}
    assert list(shared.options.named) == ["size"]


@pytest.mark.parametrize("name", ["a.b.lost", "a.b.leaving"])
def test_options_are_not_known_where_documentation_is_not_whole(installed: Installed, name: str) -> None:
    module = installed.module(name, NONE, ())
    assert module is not None
    assert module.options is None


@pytest.mark.parametrize(
    ("kind", "name", "there"),
    [
        ("filter", "combine", True),
        ("filter", "ansible.builtin.combine", True),
        ("filter", "a.b.shout", True),
        ("filter", "a.b.former", True),
        ("filter", "a.b.shuot", False),
        ("filter", "combnie", False),
        ("filter", "json_query", None),
        ("test", "version", True),
        ("test", "vresion", False),
        ("lookup", "template", True),
        ("lookup", "a.b.told", True),
        ("lookup", "not.installed.thing", None),
    ],
)
def test_a_plugin_is_there_or_not_or_cannot_be_known(
    installed: Installed, kind: str, name: str, there: bool | None
) -> None:
    assert installed.plugin(kind, name) is there


@pytest.mark.parametrize(
    ("of", "has", "lacks"),
    [
        (
            "task",
            {"when", "async", "loop", "no_log", "delegate_to", "notify"},
            {"listen", "block", "loop_with", "hosts"},
        ),
        ("handler", {"listen", "when"}, {"hosts"}),
        ("block", {"block", "rescue", "always", "when", "notify"}, {"register", "loop", "until"}),
        ("play", {"hosts", "vars_files", "gather_facts", "roles"}, {"when", "register"}),
    ],
)
def test_keywords_are_those_of_the_ansible_that_is_installed(
    installed: Installed, of: str, has: set[str], lacks: set[str]
) -> None:
    keywords = installed.keywords(of)
    assert has <= keywords
    assert not lacks & keywords


def test_the_bundled_collection_is_known() -> None:
    bundled = Installed(Places(Path("/"), (), (), (BUNDLED,)))
    status = bundled.module("operator_sdk.util.k8s_status", NONE, ())
    assert status is not None
    assert status.options is not None
    assert "status" in status.options.named
