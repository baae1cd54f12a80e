"""Operators in other environments: inventories, namespaces, defaults; one or a few runs of each."""

from __future__ import annotations

import base64
import sys
from typing import Any

from tests.parity.batches.common import DUMP
from tests.parity.batches.values import after
from tests.parity.stage import ABSENT, Stage, conditions

WATCHES = """
- {group: $GROUP, version: v1, kind: Plain, role: tell}
- {group: $GROUP, version: v1, kind: Verbatim, role: tell, snakeCaseParameters: false}
- {group: $GROUP, version: v1, kind: Realm, role: tell}
- version: v1
  kind: Secret
  role: tell
  manageStatus: false
  selector: {matchLabels: {reconcile: this}}
"""
LOCAL = "ansible_connection=local ansible_python_interpreter={{ansible_playbook_python}}"
COLLECTION = """
- {group: $GROUP, version: v1, kind: Verbatim, role: ns.col.told}
"""
ONE_WATCH = """
- {group: $GROUP, version: v1, kind: Plain, role: tell}
"""


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    stage.role("tell", DUMP)
    stage.kinds("Plain", "Verbatim")
    stage.kinds("Realm", scope="Cluster")
    facts |= {"group": stage.group, "venv": sys.prefix}
    namespaces(stage, facts)
    virtual_environment(stage, facts)
    inventory_directory(stage, facts)
    inventory_missing(stage, facts)


def namespaces(stage: Stage, facts: dict[str, Any]) -> None:
    """Two namespaces are watched, a third is not; facts are gathered; an inventory file; no flags at all."""
    other, unwatched = f"{stage.namespace}-b", f"{stage.namespace}-c"
    for name in (other, unwatched):
        stage.make_namespace(name)
    stage.write("inventory.ini", f"localhost marker=file {LOCAL}")
    environment = {
        "WATCH_NAMESPACE": f" {stage.namespace} ,,{other}",
        "ANSIBLE_INVENTORY": str(stage.project / "inventory.ini"),
        "ANSIBLE_GATHERING": ABSENT,
    }
    with stage.operator(watches=WATCHES, environment=environment):
        stage.create("Plain", "unseen", {}, namespace=unwatched)
        stage.create("Plain", "one", {})
        stage.create("Plain", "two", {}, namespace=other)
        stage.create("Verbatim", "verbatim", {"fooBar": "x"})
        stage.create("Plain", "emptykey", {"": "value", "text": "there"})
        stage.create("Realm", f"realm-{stage.suffix}", {})
        secret(stage, "secret")
        for name in ("one", "two", "verbatim", "emptykey", f"realm-{stage.suffix}", "secret"):
            facts[name.partition("-")[0]] = stage.told(name)[0] if stage.ran(name) else {}
        stage.succeeded("Plain", "one")
        facts["one files"] = after(stage.run_directory("Plain", "one"))
        facts["secret directory"] = facts["secret"].get("directory", "")
        facts["unseen"] = stage.told("unseen")
    for name in (other, unwatched):
        stage.cluster.call("DELETE", f"/api/v1/namespaces/{name}")


def secret(stage: Stage, name: str) -> None:
    body = {
        "metadata": {"name": name, "labels": {"reconcile": "this"}},
        "data": {"fooBar": base64.b64encode(b"x").decode()},
    }
    stage.cluster.call("POST", f"/api/v1/namespaces/{stage.namespace}/secrets", body)


def virtual_environment(stage: Stage, facts: dict[str, Any]) -> None:
    """Another home, too, with a collection in it."""
    stage.write("home/.ansible/collections/ansible_collections/ns/col/roles/told/tasks/main.yml", DUMP)
    environment = {"VIRTUAL_ENV": sys.prefix, "HOME": str(stage.project / "home")}
    with stage.operator(watches=ONE_WATCH + COLLECTION, environment=environment):
        stage.create("Plain", "venv", {})
        stage.create("Verbatim", "home", {})
        facts["venv run"] = stage.told("venv")[0] if stage.ran("venv") else {}
        facts["home"] = stage.told("home")[0] if stage.ran("home") else {}


def inventory_directory(stage: Stage, facts: dict[str, Any]) -> None:
    stage.write("inventories/hosts.ini", f"localhost {LOCAL}")
    stage.write("inventories/group_vars/all.yml", "text: from the inventory")
    with stage.operator(watches=ONE_WATCH, environment={"ANSIBLE_INVENTORY": str(stage.project / "inventories")}):
        stage.create("Plain", "directory", {})
        facts["directory run"] = stage.told("directory")[0] if stage.ran("directory") else {}


def inventory_missing(stage: Stage, facts: dict[str, Any]) -> None:
    with stage.operator(watches=ONE_WATCH, environment={"ANSIBLE_INVENTORY": "/nowhere/to/be/found"}):
        stage.create("Plain", "missing", {})
        stage.failed("Plain", "missing")
        facts["failure"] = conditions(stage.get("Plain", "missing")).get("Failure", {})
