"""The Role that lets the operator keep the key of marks, where a watch asks for `prune`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from runner.generate.certificates import granted

FILE = Path("config/rbac/prune_key_role.yaml")
NAME = "prune-key-role"
_ID, _FILE = "--leader-election-id", "--prune-key-file"


def roles(deployment: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A Role for the Secret and its binding; none where the operator is given a file with the key.

    Creation can't be limited to a name: RBAC knows names of existing objects only.
    """
    pod = deployment["spec"]["template"]["spec"]
    arguments = [str(word) for word in pod["containers"][0].get("args") or ()]
    if _value(arguments, _FILE):
        return []
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    metadata = {"name": NAME, "namespace": "system"}
    name = f"{_value(arguments, _ID) or 'ansible-operator'}-prune-key"
    rules = [{**secrets, "verbs": ["create"]}, {**secrets, "resourceNames": [name], "verbs": ["get"]}]
    account = pod.get("serviceAccountName", "default")
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": "system"}]
    return list(granted("Role", metadata, rules, subjects))


def _value(arguments: list[str], flag: str) -> str:
    """The value of a flag, written in one word or in two; empty where it isn't given."""
    joined = next((word.partition("=")[2] for word in arguments if word.startswith(f"{flag}=")), "")
    return joined or next((value for name, value in pairwise(arguments) if name == flag), "")
