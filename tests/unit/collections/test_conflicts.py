"""k8s_status reads and decides again when somebody else wrote between its reading and its writing."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.operator_sdk.util.plugins.module_utils.api import ApiError, Resource
from ansible_collections.operator_sdk.util.plugins.modules import k8s_status

PARAMS = {
    "api_version": "v1",
    "kind": "Thing",
    "name": "one",
    "namespace": "ns",
    "status": {},
    "conditions": [{"type": "Mine", "status": "True"}],
    "replace": False,
    "replace_lists": False,
}


class EndedError(Exception):
    """What the module ends with."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer


class Module:
    params = PARAMS

    def exit_json(self, **answer: Any) -> None:
        raise EndedError(**answer)

    fail_json = exit_json


class Api:
    """An object that others write to just before each of the first `conflicts` writes."""

    def __init__(self, conflicts: int) -> None:
        self._conflicts = conflicts
        self._version = 1
        self._conditions: list[dict[str, str]] = []

    def find(self, api_version: str, kind: str) -> Resource:
        return Resource("/api/v1", "v1", "Thing", "things", namespaced=True, has_status=True)

    def call(self, method: str, path: str, body: Any = None, content_type: str = "") -> Any:
        if method == "get":
            metadata = {"resourceVersion": str(self._version)}
            return {"metadata": metadata, "status": {"conditions": list(self._conditions)}}
        if self._conflicts:
            self._conflicts -= 1
            self._version += 1
            self._conditions.append({"type": f"Theirs{self._version}", "status": "True"})
        if body["metadata"]["resourceVersion"] != str(self._version):
            raise ApiError(409, "Conflict", "")
        return body


def answer(monkeypatch: pytest.MonkeyPatch, conflicts: int) -> dict[str, Any]:
    monkeypatch.setattr(k8s_status, "AnsibleModule", lambda **_: Module())
    monkeypatch.setattr(k8s_status, "connect", lambda _: Api(conflicts))
    with pytest.raises(EndedError) as ended:
        k8s_status.main()
    return ended.value.answer


def test_the_writes_of_others_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    given = answer(monkeypatch, conflicts=2)
    assert given["changed"]
    types = [condition["type"] for condition in given["result"]["status"]["conditions"]]
    assert types == ["Theirs2", "Theirs3", "Mine"]


def test_endless_conflicts_make_k8s_status_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    given = answer(monkeypatch, conflicts=99)
    assert given["msg"].startswith("Failed to replace status: 409 Conflict")
    assert given["error"]["status"] == 409
