"""What the benchmark runs: a project made for it, by this operator or by stock ansible-runner."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

SCENARIOS = ("1 task", "3 tasks", "10 tasks", "mixed", "1 task and facts")
WITH_FACTS = " and facts"
"""Ends the name of a scenario in which facts are gathered first, as is Ansible's way unless told otherwise."""
GROUP, VERSION, KIND = "bench.example.com", "v1", "OneTask"


def write_project(directory: Path, scenario: str) -> Path:
    """A directory with watches.yaml and one role; raises ValueError for a scenario that there is none of."""
    tasks = directory / "roles/bench/tasks"
    tasks.mkdir(parents=True)
    watch = {"group": GROUP, "version": VERSION, "kind": KIND, "role": "bench"}
    (directory / "watches.yaml").write_text(yaml.safe_dump([watch]))
    (tasks / "main.yml").write_text(yaml.safe_dump(_tasks(scenario)))
    if scenario == "mixed":
        (tasks / "each.yml").write_text(yaml.safe_dump([{"ansible.builtin.debug": {"msg": "{{ item }}"}}]))
        (tasks.parent / "templates").mkdir()
        (tasks.parent / "templates/text.j2").write_text("{% for n in range(20) %}{{ text }} {{ n }}\n{% endfor %}")
    return directory


def environment(scenario: str) -> dict[str, str]:
    """What tells the operator whether to gather facts."""
    return {"ANSIBLE_GATHERING": "implicit" if scenario.endswith(WITH_FACTS) else "explicit"}


def _tasks(scenario: str) -> list[dict[str, Any]]:
    if scenario == "mixed":
        return [
            {"ansible.builtin.set_fact": {"twice": "{{ text * 2 }}"}},
            {"ansible.builtin.debug": {"msg": "{{ twice | upper }}"}},
            {"ansible.builtin.assert": {"that": ["twice | length > 0"]}},
            {"ansible.builtin.set_fact": {"rendered": "{{ lookup('ansible.builtin.template', 'text.j2') }}"}},
            {"ansible.builtin.include_tasks": "each.yml", "loop": [1, 2, 3]},
        ]
    count, _, unit = scenario.removesuffix(WITH_FACTS).partition(" ")
    if not unit.startswith("task"):
        raise ValueError(f'there is no scenario "{scenario}": it is one of {", ".join(SCENARIOS)}')
    return [_keep(number) for number in range(int(count))]


def _keep(number: int) -> dict[str, Any]:
    metadata = {
        "name": f"{{{{ ansible_operator_meta.name }}}}-{number}",
        "namespace": "{{ ansible_operator_meta.namespace }}",
    }
    definition = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": "{{ text }}"}}
    return {"kubernetes.core.k8s": {"definition": definition}}


_RUNS = 3


def cpu_of_stock_run(directory: Path, scenario: str, kubeconfig: Path) -> float:
    """CPU-seconds of the cheapest of some runs. Raises CalledProcessError when one fails."""
    place = write_project(directory / scenario.replace(" ", "-"), scenario)
    for name in ("env", "inventory", "project"):
        (place / name).mkdir()
    variables = {"text": "stock", "ansible_operator_meta": {"name": "stock", "namespace": "default"}}
    (place / "env/extravars").write_text(json.dumps(variables))
    (place / "inventory/hosts").write_text(
        f"localhost ansible_connection=local ansible_python_interpreter={sys.executable}"
    )
    play = [{"hosts": "localhost", "gather_facts": scenario.endswith(WITH_FACTS), "roles": [{"name": "bench"}]}]
    (place / "project/play.yml").write_text(json.dumps(play))
    return min(_once(place, kubeconfig, number) for number in range(_RUNS))


def _once(place: Path, kubeconfig: Path, number: int) -> float:
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ.get('PATH', os.defpath)}",
        "K8S_AUTH_KUBECONFIG": str(kubeconfig),
        "ANSIBLE_ROLES_PATH": str(place / "roles"),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(programs / "ansible-runner"), "run", str(place), "-p", "play.yml", "--ident", str(number), "-q"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
