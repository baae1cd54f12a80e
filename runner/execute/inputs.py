"""What a run reads: environment, extra vars, inventory and play, as files in its private data directory.

The bundled collection `operator_sdk.util` is found behind every place where a user may have their own: Ansible
looks in its configured paths and then along Python's, so it goes to the end of PYTHONPATH.
ANSIBLE_COLLECTIONS_PATH would override an ansible.cfg, or Ansible's defaults.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import site
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from runner.config.arguments import unquoted
from runner.errors import RunError
from runner.execute.run import Run
from runner.execute.rundir import RunDirectory, private_directory, write_private

_PROXIES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_ANY_UNPARSED = "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED"
_LEFT_PLAY = re.compile("[0-9a-f]{32}")


_UTIL = Path("ansible_collections", "operator_sdk", "util")


def write_inputs(directory: RunDirectory, run: Run, environment: Mapping[str, str]) -> Path:
    """Write every file that the run reads, and return the playbook to run.

    `environment` is the one that Ansible will inherit. Raises RunError when the inventory or the playbook
    cannot be read, or the directory cannot be written.
    """
    try:
        for name in ("env", "inventory", "project", "artifacts"):
            private_directory(directory.path / name)
        directory.make_temporary()
        _write_environment(directory, run, environment)
        _write_inventory(directory.path / "inventory", environment)
        return _write_play(directory.path / "project", run)
    except (OSError, RunError, ValueError, RecursionError) as error:
        with suppress(OSError):  # what is wrong with the directory may be in its way, too
            directory.kubeconfig.unlink(missing_ok=True)
        if isinstance(error, RunError):
            raise
        raise RunError(f"cannot prepare the run directory of {run.key}: {error}") from error


def _write_environment(directory: RunDirectory, run: Run, environment: Mapping[str, str]) -> None:
    env = directory.path / "env"
    kubeconfig = str(directory.kubeconfig)
    write_private(directory.kubeconfig, run.kubeconfig)
    variables = {
        "K8S_AUTH_KUBECONFIG": kubeconfig,
        "KUBECONFIG": kubeconfig,
        "TMPDIR": str(directory.temporary),
    }
    write_private(env / "envvars", _compact(variables | of_all_runs(environment)))
    # Ansible takes what its JSON reader refuses for YAML, in which nothing is unsafe; a tab first is JSON only
    write_private(env / "extravars", "\t" + _compact(run.extra_vars))
    (env / "settings").unlink(missing_ok=True)  # the Go operator's would send the events to its socket
    if run.ansible_args:
        write_private(env / "cmdline", unquoted(run.ansible_args))
    else:
        (env / "cmdline").unlink(missing_ok=True)


def of_all_runs(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that every run gets and the operator itself has not."""
    modules = python_path(environment)
    paths = {"PYTHONPATH": modules} if modules else {}
    return paths | _past_proxies(environment) | _strict_inventory(environment)


def _strict_inventory(environment: Mapping[str, str]) -> dict[str, str]:
    """An inventory that fails to parse fails the run, where the environment doesn't decide.

    Ansible only warns of it, leaves out the plays of its hosts, and calls the run successful.
    """
    given = environment.get("ANSIBLE_INVENTORY") and _ANY_UNPARSED not in environment
    return {_ANY_UNPARSED: "true"} if given else {}


def _past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """What exempts this operator's own API proxy, on localhost, where the pod's environment names another proxy.

    Go never sends loopback through a proxy; the Python client does unless NO_PROXY says otherwise.
    """
    if not any(environment.get(name) for name in _PROXIES):
        return {}
    exempt = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    exempt = ",".join(filter(None, (exempt, "localhost", "127.0.0.1")))
    return {"NO_PROXY": exempt, "no_proxy": exempt}


def _write_inventory(inventory: Path, environment: Mapping[str, str]) -> None:
    given = environment.get("ANSIBLE_INVENTORY")
    if not given:
        write_private(inventory / "hosts", generated_inventory(environment.get("VIRTUAL_ENV", "")))
    elif Path(given).is_dir():
        shutil.copytree(given, inventory, dirs_exist_ok=True)
    elif Path(given).exists():
        shutil.copy(given, inventory / "hosts")
    else:
        raise RunError(f"ANSIBLE_INVENTORY names {given}, which does not exist: mount it, or unset the variable")


def generated_inventory(virtual_env: str) -> str:
    """The inventory for roles that act through the API only: this very host, this very Python."""
    python = f"{virtual_env}/bin/python3" if virtual_env else "{{ansible_playbook_python}}"
    return f"localhost ansible_connection=local ansible_python_interpreter={python}"


def _write_play(project: Path, run: Run) -> Path:
    for left in project.iterdir():
        if _LEFT_PLAY.fullmatch(left.name):
            left.unlink()  # of an operator that was killed
    if not run.content.is_role:
        write_private(project / "playbook.yaml", run.content.path.read_text(encoding="utf-8", errors="replace"))
        return run.content.path
    name = run.content.path.name
    what: dict[str, Any] = {"roles": [{"name": name}]}
    if run.content.tasks:
        part = {"name": name, "tasks_from": run.content.tasks}
        what = {"tasks": [{"name": run.content.tasks, "ansible.builtin.import_role": part}]}
    play = {"hosts": "localhost", "gather_facts": run.gather_facts, **what}
    path = project / uuid4().hex
    write_private(path, json.dumps([play]))
    return path


def roles_path(run: Run, environment: Mapping[str, str]) -> str | None:
    """ANSIBLE_ROLES_PATH for the run: the role's parent directory before what is there; None leaves it alone."""
    if not run.content.is_role:
        return None
    return ":".join(filter(None, (f"{run.content.path.parent}/", environment.get("ANSIBLE_ROLES_PATH"))))


def remove_inputs(directory: RunDirectory, playbook: Path) -> None:
    """Remove what must not outlive the run: its kubeconfig, its temporary files, a play written for it."""
    directory.kubeconfig.unlink(missing_ok=True)
    if playbook.parent == directory.path / "project":
        playbook.unlink(missing_ok=True)
    directory.clear_temporary()


def _compact(values: Mapping[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":"), sort_keys=True)


COLLECTIONS = Path(__file__).parents[1] / "collections"


def python_path(environment: Mapping[str, str], installed: Iterable[str] | None = None) -> str | None:
    """PYTHONPATH for runs that inherit `environment`; None leaves it alone.

    `installed` are the directories of installed packages, which Python looks through after PYTHONPATH: a
    collection in one of them is the user's own. By default they are those of this Python, which runs Ansible, too.
    """
    places = _site_packages() if installed is None else installed
    if any((Path(place) / _UTIL).is_dir() for place in places):
        return None
    return os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), str(COLLECTIONS))))


def _site_packages() -> list[str]:
    return [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
