"""The first runs of an operator begin together, when nothing is imported yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TWO_AT_ONCE = """
import asyncio, importlib.metadata, sys, time
from pathlib import Path

find = importlib.metadata.entry_points

def slowly(**wanted):  # what ansible-runner does last when it is imported
    if wanted.get("group") == "ansible_runner.plugins":
        time.sleep(1)
    return find(**wanted)

importlib.metadata.entry_points = slowly

from runner.execute.executor import Executor
from runner.execute.run import Run
from runner.objects import GroupVersionKind, ObjectKey
from runner.config.watches import Content

async def main():
    directory = Path(sys.argv[1])
    (directory / "play.yml").write_text("- hosts: localhost\\n  gather_facts: false\\n  tasks: [{debug: }]\\n")
    executor = Executor(directory / "runner")

    async def run(name, later):
        await asyncio.sleep(later)
        key = ObjectKey(GroupVersionKind("cache.example.com", "v1", "Memcached"), "default", name)
        content = Content(directory / "play.yml", is_role=False)
        return (await executor.run(Run("1", key, "uid", content, {}, ""), lambda *_: None)).succeeded

    print(await asyncio.gather(run("one", 0), run("two", 0.5)))

asyncio.run(main())
"""


def test_runs_that_begin_while_ansible_runner_is_imported_succeed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_AT_ONCE, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip().splitlines()[-1:] == ["[True, True]"], done.stderr
