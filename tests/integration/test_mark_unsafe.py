"""What a custom resource holds never makes Ansible act: real runs, with `markUnsafe`, of hostile ones."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from runner.config.watches import Content, Engine, Watch
from runner.execute.executor import Executor
from runner.execute.outcome import Outcome
from runner.execute.run import Run
from runner.execute.variables import extra_vars
from runner.objects import LEVELS, GroupVersionKind, ObjectKey
from tests.fixtures.ansible_release import only_where_warm

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("mark_unsafe")]

GVK = GroupVersionKind("cache.example.com", "v1", "Memcached")
TASKS = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - debug: {msg: "{{ text }} {{ map }} {{ _cache_example_com_memcached }}"}
    - debug: {msg: "{{ item.key }} {{ again }}"}
      vars: {again: "{{ item.value }}"}
      loop: "{{ map | dict2items }}"
    - set_fact: {copied: "{{ map | dict2items }}"}
    - set_fact: {twice: "{{ copied | map(attribute='key') | list }}"}
    - debug: {msg: "{{ copied }} {{ twice[0] }}"}
    - command: 'true'
    - copy: {content: "{{ text }}", dest: "SEEN", mode: "0600"}
"""
TOUCH = "{{ lookup('pipe', 'touch PLANTED') }}"


def nested(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {"text": TOUCH}
    for _ in range(levels - 1):
        made = {"a": made}
    return made


HOSTILE: dict[str, dict[str, Any]] = {
    "jinja in values": {"map": {"a": TOUCH, "b": [TOUCH]}},
    "jinja in keys": {"map": {TOUCH: {TOUCH: 1}}, TOUCH: 1},
    "a mark of a string": {"bad_string": {"__ansible_unsafe": "x"}},
    "a mark of no string": {"bad_number": {"__ansible_unsafe": 5}},
    "a mark at the top": {"__ansible_unsafe": TOUCH},
    "an encrypted string": {"bad_secret": {"__ansible_vault": TOUCH}},
    "nothing encrypted": {"bad_secrets": [{"__ansible_vault": 5}]},
    "a type": {"bad_type": {"__ansible_type": "TrustedAsTemplate", "value": TOUCH}},
    "the most levels that pass": {"bad_levels": nested(LEVELS - 3)},
    "become": {"ansibleBecome": True, "ansibleBecomeUser": "nobody", "ansibleBecomeExe": "PLANTER"},
    "become, as it is": {"ansible_become": True, "ansible_become_user": "nobody", "ansible_become_exe": "PLANTER"},
    "a connection": {"ansibleConnection": "ssh", "ansibleSshExecutable": "touch PLANTED; ssh"},
    "an interpreter": {"ansiblePythonInterpreter": "PLANTER"},
    "an interpreter, as it is": {"ansible_python_interpreter": "PLANTER"},
    "a shell": {"ansibleShellExecutable": "PLANTER"},
    "a temporary directory": {"ansibleRemoteTmp": "$(touch PLANTED)"},
    "another host": {"inventoryHostname": "elsewhere", "hostvars": {}, "groups": {}, "vars": {}, "playHosts": []},
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def executor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Executor]:
    """One for all runs: each is of another custom resource, and has a directory of its own."""
    constant = {"PYTEST_CURRENT_TEST": ""}  # else each test has zygotes of its own
    executor = Executor(tmp_path_factory.mktemp("runner"), constant)
    yield executor
    await executor.close()


def together() -> list[dict[str, Any]]:
    """The hostile specs joined to as few as can be: none has a key of another, and keys are of one case."""
    joined: list[dict[str, Any]] = []
    for hostile in HOSTILE.values():
        fitting = (
            spec
            for spec in joined
            if not spec.keys() & hostile.keys() and in_snake_case(spec) == in_snake_case(hostile)
        )
        spec = next(fitting, None)
        if spec is None:
            joined.append(dict(hostile))
        else:
            spec |= hostile
    return joined


def in_snake_case(spec: dict[str, Any]) -> bool:
    """Whether the keys of the spec are to be turned into snake case: they are not there already."""
    return not any(key.startswith("ansible_") for key in spec)


@only_where_warm
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_a_role_runs_as_for_any_resource_and_nothing_else_does(
    executor: Executor, tmp_path: Path, hostile: dict[str, Any]
) -> None:
    await check(executor, Engine.WARM, tmp_path, hostile)


@pytest.mark.parametrize("hostile", together())
async def test_a_role_runs_cold_as_for_any_resource_and_nothing_else_does(
    executor: Executor, tmp_path: Path, hostile: dict[str, Any]
) -> None:
    await check(executor, Engine.COLD, tmp_path, hostile)


async def test_each_hostile_spec_is_part_of_a_cold_run() -> None:
    whole = [set(map(repr, spec.items())) for spec in together()]
    assert all(any(set(map(repr, each.items())) <= spec for spec in whole) for each in HOSTILE.values())


async def check(executor: Executor, engine: Engine, tmp_path: Path, hostile: dict[str, Any]) -> None:
    planter = tmp_path / "planter"
    planter.write_text(f"#!/bin/sh\ntouch {tmp_path}/planted\n")
    planter.chmod(0o755)
    given = json.dumps({"text": TOUCH, "map": {"a": "b"}, **hostile})
    given = given.replace("PLANTED", str(tmp_path / "planted")).replace("PLANTER", str(planter))
    spec = json.loads(given)

    outcome = await ran(executor, engine, tmp_path, spec, snake_case=in_snake_case(spec))

    assert not (tmp_path / "planted").exists()
    assert outcome.succeeded
    assert (tmp_path / "seen").read_text() == spec["text"]


async def ran(
    executor: Executor, engine: Engine, directory: Path, spec: dict[str, Any], *, snake_case: bool
) -> Outcome:
    playbook = directory / "play.yml"
    playbook.write_text(TASKS.replace("SEEN", str(directory / "seen")))
    watch = Watch(GVK, Content(playbook, is_role=False), mark_unsafe=True, snake_case=snake_case)
    name = uuid4().hex
    body = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    values = extra_vars(body, watch, finalizing=False).values
    run = Run("1", ObjectKey(GVK, "default", name), "uid", watch.content, values, "kubeconfig", engine=engine)
    return await executor.run(run, lambda *_: None)
