"""In a container whose memory runs out, the run that takes it ends, and neither the operator nor another run does.

In a control group of its own with a limit, as a pod is; needs root, and a group in which one can be made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from bench.observer import wait_for
from runner import cgroup
from tests.fixtures.operators import Operate, Project, Things

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

MEBI = 1 << 20
LIMIT = 400 * MEBI
GREEDY = r"""
- command:
    argv: [python3, -c, "{eat}"]
"""
SLOWLY = r"import time\nx = []\nwhile True:\n x.append(b'1' * (8 << 20)); time.sleep(0.05)"
QUICKLY = r"x = []\nwhile True:\n x.append(b'1' * (1 << 20))"
AT_ONCE = "x = b'1' * (1 << 30)"
APPETITES = {"slowly": SLOWLY, "quickly": QUICKLY, "at-once": AT_ONCE}
MODEST = """
- command: "true"
- set_fact: {done: yes}
"""


@dataclass(frozen=True)
class Group:
    """A control group with a limit of memory."""

    path: Path

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What is started meanwhile is in the group."""
        home = self.path.parent / "cgroup.procs"
        (self.path / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            home.write_text(str(os.getpid()))

    @property
    def kills(self) -> int:
        found = cgroup._memory_2(self.path) or cgroup._memory_1(self.path)
        assert found is not None
        return found.kills


@pytest.fixture
def group() -> Iterator[Group]:
    """A group with LIMIT."""
    limits = {"": "memory.max", "memory": "memory.limit_in_bytes"}
    for controller, limit in limits.items():
        path = cgroup._group(controller, cgroup._ROOT, cgroup._OWN) / f"test-{uuid4().hex[:8]}"
        with suppress(OSError):
            path.mkdir()
            if (path / limit).exists():
                (path / limit).write_text(str(LIMIT))
                if (path / "memory.oom.group").exists():
                    (path / "memory.oom.group").write_text("1")  # as a kubelet does
                break
            path.rmdir()
    else:
        pytest.skip("no control group can be made here")
    yield Group(path)
    wait_for("the group to be empty", lambda: not (path / "cgroup.procs").read_text(), seconds=30)
    path.rmdir()


@pytest.mark.parametrize("eat", APPETITES.values(), ids=APPETITES)
def test_the_run_that_takes_all_memory_is_ended_and_says_so(
    group: Group, operate: Operate, project: Project, things: Things, eat: str
) -> None:
    project.role("greedy", GREEDY.format(eat=eat))
    project.role("modest", MODEST)
    project.watch("greedy")
    project.watch("modest", kind="Gadget")
    with group.entered():
        operator = operate()
    things.create("greedy")
    things.create("modest", kind="Gadget")
    things.wait("modest", "Successful", kind="Gadget")
    message = things.wait("greedy", "Failure")["status"]["conditions"]
    told = next(condition["message"] for condition in message if condition["type"] == "Failure")
    assert "The run was ended because the container was running out of memory: limit 400Mi, used 3" in told
    things.create("another", kind="Gadget")
    things.wait("another", "Successful", kind="Gadget")
    assert operator.stop() == 0
    assert group.kills == 0


def test_two_runs_that_take_all_memory_at_once_are_both_ended(
    group: Group, operate: Operate, project: Project, things: Things
) -> None:
    project.role("greedy", GREEDY.format(eat=QUICKLY))
    project.watch("greedy")
    with group.entered():
        operator = operate("--max-concurrent-reconciles=2")
    for name in ("one", "other"):
        things.create(name)
    for name in ("one", "other"):
        things.wait(name, "Failure")
    assert operator.stop() == 0
    assert group.kills == 0


def test_runs_wait_for_memory_and_all_succeed(
    group: Group, operate: Operate, project: Project, things: Things
) -> None:
    project.role("modest", MODEST)
    project.watch("modest")
    with group.entered():
        operate("--max-concurrent-reconciles=20")
    names = [f"modest-{number}" for number in range(20)]
    for name in names:
        things.create(name)
    for name in names:
        things.wait(name, "Successful", seconds=120)
    assert group.kills == 0
