"""What a custom resource holds never makes Ansible act: real runs, with `markUnsafe`, of hostile ones."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runner.config.watches import Content, Engine, Watch
from runner.execute.executor import Executor
from runner.execute.outcome import Outcome
from runner.execute.run import Run
from runner.execute.variables import extra_vars
from runner.objects import LEVELS, GroupVersionKind, ObjectKey
from tests.fixtures.ansible_release import only_where_warm

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
    - copy: {content: "{{ text }}", dest: "{{ lookup('env', 'SEEN') }}", mode: "0600"}
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
    "a mark of a string": {"bad": {"__ansible_unsafe": "x"}},
    "a mark of no string": {"bad": {"__ansible_unsafe": 5}},
    "a mark at the top": {"__ansible_unsafe": TOUCH},
    "an encrypted string": {"bad": {"__ansible_vault": TOUCH}},
    "nothing encrypted": {"bad": [{"__ansible_vault": 5}]},
    "a type": {"bad": {"__ansible_type": "TrustedAsTemplate", "value": TOUCH}},
    "the most levels that pass": {"bad": nested(LEVELS - 3)},
    "become": {"ansibleBecome": True, "ansibleBecomeUser": "nobody", "ansibleBecomeExe": "PLANTER"},
    "become, as it is": {"ansible_become": True, "ansible_become_user": "nobody", "ansible_become_exe": "PLANTER"},
    "a connection": {"ansibleConnection": "ssh", "ansibleSshExecutable": "touch PLANTED; ssh"},
    "an interpreter": {"ansiblePythonInterpreter": "PLANTER"},
    "an interpreter, as it is": {"ansible_python_interpreter": "PLANTER"},
    "a shell": {"ansibleShellExecutable": "PLANTER"},
    "a temporary directory": {"ansibleRemoteTmp": "$(touch PLANTED)"},
    "another host": {"inventoryHostname": "elsewhere", "hostvars": {}, "groups": {}, "vars": {}, "playHosts": []},
}


@pytest.fixture(params=[Engine.COLD, pytest.param(Engine.WARM, marks=only_where_warm)])
async def executor(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[tuple[Executor, Engine]]:
    made = Executor(tmp_path / "runner", {"SEEN": str(tmp_path / "seen")})
    yield made, request.param
    await made.close()


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_a_role_runs_as_for_any_resource_and_nothing_else_does(
    executor: tuple[Executor, Engine], tmp_path: Path, hostile: dict[str, Any]
) -> None:
    planter = tmp_path / "planter"
    planter.write_text(f"#!/bin/sh\ntouch {tmp_path}/planted\n")
    planter.chmod(0o755)
    given = json.dumps({"text": TOUCH, "map": {"a": "b"}, **hostile})
    given = given.replace("PLANTED", str(tmp_path / "planted")).replace("PLANTER", str(planter))
    spec = json.loads(given)

    outcome = await ran(*executor, tmp_path, spec, snake_case=not any(key.startswith("ansible_") for key in spec))

    assert not (tmp_path / "planted").exists()
    assert outcome.succeeded
    assert (tmp_path / "seen").read_text() == spec["text"]


async def ran(
    executor: Executor, engine: Engine, directory: Path, spec: dict[str, Any], *, snake_case: bool
) -> Outcome:
    playbook = directory / "play.yml"
    playbook.write_text(TASKS)
    watch = Watch(GVK, Content(playbook, is_role=False), mark_unsafe=True, snake_case=snake_case)
    body = {"metadata": {"name": "one", "namespace": "default"}, "spec": spec}
    values = extra_vars(body, watch, finalizing=False).values
    run = Run("1", ObjectKey(GVK, "default", "one"), "uid", watch.content, values, "kubeconfig", engine=engine)
    return await executor.run(run, lambda *_: None)
