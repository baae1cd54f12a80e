"""Each change to somebody else's objects is in `patches`; only plays import Ansible's controller side."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.execute.fork import inside
from tests.fixtures.ansible_release import only_where_warm

FOREIGN = frozenset({"ansible", "ansible_collections", "ansible_runner", "kubernetes", "yaml"})
PACKAGE = Path(inside.__file__).parent
OTHERS = sorted(path for path in PACKAGE.glob("*.py") if path.name != "patches.py")


def changes(source: str) -> list[str]:
    """The assignments in a module to attributes of what is imported from others, or to private ones of any object.

    What is made, found or called by way of a foreign name is foreign, too, and so is what `sys.modules` holds.
    """
    tree = ast.parse(source)
    foreign = {name for node in ast.walk(tree) for name in _imported(node)}
    while more := {name for node in ast.walk(tree) for name in _derived(node, foreign)} - foreign:
        foreign |= more
    return [ast.unparse(node) for node in ast.walk(tree) if _is_change(node, foreign)]


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] in FOREIGN:
                yield (alias.asname or alias.name).split(".")[0]
    elif isinstance(node, ast.ImportFrom) and not node.level and str(node.module).split(".")[0] in FOREIGN:
        yield from (alias.asname or alias.name for alias in node.names)


def _derived(node: ast.AST, foreign: set[str]) -> Iterator[str]:
    value: ast.expr | None = None
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        value, targets = node.value, node.targets
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        value, targets = node.value, [node.target]
    elif isinstance(node, ast.For | ast.comprehension):
        value, targets = node.iter, [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars:
        value, targets = node.context_expr, [node.optional_vars]
    if value is not None and _is_foreign(value, foreign):
        names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        yield from (name.id for name in names if isinstance(name.ctx, ast.Store))


def _is_foreign(node: ast.expr, foreign: set[str]) -> bool:
    while True:
        if ast.unparse(node) == "sys.modules":
            return True
        if isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return isinstance(node, ast.Name) and node.id in foreign


def _is_change(node: ast.AST, foreign: set[str]) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).endswith(("setattr", "delattr", "__setattr__", "__delattr__"))
    if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
        return False
    if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        return ast.unparse(node.value) not in {"self", "cls"}
    return ast.unparse(node.value) != "sys.modules" and _is_foreign(node.value, foreign)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_nothing_but_patches_changes_what_belongs_to_others(path: Path) -> None:
    assert changes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "change",
    [
        "from ansible import cli\ncli.init = None",
        "from ansible import cli as other\nother.init: int = 1",
        "def f():\n    import yaml\n    yaml.safe_load.speed = 2",
        "import kubernetes.config\nkubernetes.config.PLACE = ''",
        "from ansible.x import Y\nmade = Y()\nalias = made.part\nalias.name = 1",
        "from ansible.x import things\nfor thing in things():\n    thing.name = 1",
        "from ansible.x import C\nC.cache['a'] = 1",
        "from ansible.x import C\ndel C.cache",
        "from ansible.x import C\nC.count += 1",
        "import sys\nmodule = sys.modules.get('anything')\nmodule.name = 1",
        "def f(process):\n    process._task = 1",
        "setattr(anything, 'name', 1)",
    ],
)
def test_such_a_change_is_found_in_any_form(change: str) -> None:
    assert changes(change)


def test_what_only_uses_them_is_none() -> None:
    assert not changes(
        "from ansible import cli\nkept = cli.version\nself._kept = kept\nown = {}\nown['a'] = cli.run()"
    )


def test_each_patch_says_for_which_releases_it_is() -> None:
    for node in ast.parse((PACKAGE / "patches.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            assert any(release in str(ast.get_docstring(node)) for release in ("2.18", "kubernetes 33")), node.name


PREPARE = """
import sys
from runner.execute.fork.inside.modules import Modules

Modules().told({"places": []})
print(*(name for name in sys.modules if name.startswith("ansible.")))
"""
TARGET_SIDE = ("ansible.module_utils", "ansible.modules", "ansible.release", "ansible._vendor")


@only_where_warm
def test_what_modules_are_forked_from_has_imported_nothing_of_the_controller_side() -> None:
    found = subprocess.run([sys.executable, "-c", PREPARE], capture_output=True, text=True, check=True)
    names = found.stdout.split()
    assert "ansible.module_utils.basic" in names
    assert [name for name in names if not name.startswith(TARGET_SIDE)] == []
