"""What several batches use: the task that all test roles have, and scenes that take place at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.parity.stage import Stage


def tell(what: str, argument: str = "{}") -> str:
    """A task that runs the probe; `argument` is text for its last argument, Jinja perhaps."""
    return f"""\
- name: Tell
  ansible.builtin.command:
    argv:
      - "{{{{ ansible_playbook_python }}}}"
      - "{{{{ lookup('ansible.builtin.env', 'PARITY_PROBE') }}}}"
      - {what}
      - "{{{{ ansible_operator_meta.name }}}}"
      - "{argument}"
  changed_when: false
"""


def as_play(tasks: str) -> str:
    """A playbook of these tasks."""
    lines = "".join(f"    {line}\n" for line in tasks.splitlines())
    return f"- name: Play\n  hosts: localhost\n  gather_facts: false\n  tasks:\n{lines}"


DUMP = tell(
    "dump",
    "{{ {'role_path': role_path | default(''), 'playbook_dir': playbook_dir, 'facts': ansible_facts | length,"
    " 'text': text | default(''), 'meta': meta | default({})} | to_json }}",
)
"""Everything about the run, with what a role sees of Ansible's own variables."""
ASK = tell("ask", "{{ file }}")
"""Sends the requests of the file that the custom resource names."""


def together(stage: Stage, facts: dict[str, Any], *scenes: Callable[[Stage, dict[str, Any]], None]) -> None:
    """Play scenes of different custom resources at the same time, for most of each is waiting."""
    with ThreadPoolExecutor(len(scenes)) as threads:
        for played in [threads.submit(scene, stage, facts) for scene in scenes]:
            played.result()
