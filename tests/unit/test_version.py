"""Which commit this was made from, read from a checkout without git."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.version import _checked_out

HASH = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "files",
    [
        {".git/HEAD": HASH},
        {".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/main": HASH},
        {".git/HEAD": "ref: refs/heads/main", ".git/packed-refs": f"# pack-refs\n{HASH} refs/heads/main\n"},
        {
            ".git": "gitdir: main/.git/worktrees/one",
            "main/.git/worktrees/one/HEAD": "ref: refs/heads/one",
            "main/.git/worktrees/one/commondir": "../..",
            "main/.git/refs/heads/one": HASH,
        },
    ],
    ids=["detached", "branch", "packed", "worktree"],
)
def test_the_commit_of_a_checkout_is_read_without_git(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert _checked_out(tmp_path) == HASH


def test_a_directory_that_is_no_checkout_has_no_commit(tmp_path: Path) -> None:
    assert _checked_out(tmp_path) == ""
