"""What `ansible-runner run` takes for a role: what the Go operator starts for each reconcile."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from runner.dev.show.contents import WITH_FACTS, write_project

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
