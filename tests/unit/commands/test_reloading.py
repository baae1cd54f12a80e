from __future__ import annotations

from pathlib import Path

from runner.commands.reloading import uses_between
from runner.config.watches import Content, Watch
from runner.objects import GroupVersionKind

SITE, CACHE = (GroupVersionKind("example.com", "v1", kind) for kind in ("Site", "Cache"))


def test_role_that_another_watchs_role_includes_is_used_by_it(tmp_path: Path) -> None:
    for name, tasks in (("site", "- ansible.builtin.include_role: {name: cache}\n"), ("cache", "[]\n")):
        (tmp_path / name / "tasks").mkdir(parents=True)
        (tmp_path / name / "tasks/main.yml").write_text(tasks)
    watches = {gvk: Watch(gvk, Content(tmp_path / gvk.kind.lower(), is_role=True)) for gvk in (SITE, CACHE)}

    assert uses_between(watches) == {tmp_path / "site": {tmp_path / "cache"}, tmp_path / "cache": frozenset()}


def test_content_that_is_gone_uses_nothing(tmp_path: Path) -> None:
    assert uses_between({SITE: Watch(SITE, Content(tmp_path / "gone", is_role=True))}) == {
        tmp_path / "gone": frozenset()
    }
