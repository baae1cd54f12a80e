"""The few requests that modules make, each a plain path: no discovery beyond the one group that is asked for."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.operator_sdk.util.plugins.module_utils import login

try:
    from kubernetes.client.exceptions import ApiException
    from kubernetes.dynamic import DynamicClient
    from urllib3.exceptions import HTTPError
except ImportError:
    ApiException = None  # `connect` says what is missing, before anything else

Json = dict[str, Any]
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """The API server refused; `status` is the HTTP status, 0 where there was no answer."""

    def __init__(self, status: int, reason: str, body: str) -> None:
        self.status = status
        self.reason = reason
        self.body = body
        Exception.__init__(self, f"{status} {reason}: {_message(body)}")

    def as_dict(self) -> Json:
        return {"status": self.status, "reason": self.reason, "body": self.body}


class Resource(NamedTuple):
    """A kind as the API server serves it. `version` is without the group."""

    root: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    has_status: bool

    def path(self, namespace: str | None, name: str = "") -> str:
        """The path of an object, or of all of them. Raises ValueError where a namespace is missing."""
        if self.namespaced and not namespace:
            raise ValueError(f"namespace is required: {self.kind} is a namespaced kind")
        within = f"/namespaces/{quote(str(namespace), safe='')}" if self.namespaced else ""
        return f"{self.root}{within}/{self.plural}" + (f"/{quote(name, safe='')}" if name else "")


class Api:
    """The API server, as the module's options say to reach it."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401  (kubernetes is not typed)
        self._client = DynamicClient(client, discoverer=lambda *_: None)

    def find(self, api_version: str, kind: str) -> Resource | None:
        """The resource whose kind, plural, singular or, last, short name is `kind`. Raises ApiError."""
        root = ("/apis/" if "/" in api_version else "/api/") + api_version
        try:
            served = self.call("get", root)["resources"]
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        version, names = api_version.rpartition("/")[2], {item["name"] for item in served}
        for item in _matching([item for item in served if "/" not in item["name"]], kind):
            has_status = item["name"] + "/status" in names
            return Resource(root, version, item["kind"], item["name"], item["namespaced"], has_status)
        return None

    def call(
        self, method: str, path: str, body: Json | None = None, content_type: str = "application/json"
    ) -> Json:
        """Raises ApiError."""
        try:
            answer = self._client.request(method, path, body=body, content_type=content_type, serialize=False)
        except ApiException as error:
            raise ApiError(error.status or 0, str(error.reason), _text(error.body)) from error
        except HTTPError as error:
            raise ApiError(0, "No answer", str(error)) from error
        found: Json = json.loads(answer.data.decode("utf-8"))
        return found


def fail(module: AnsibleModule, message: str, error: Exception | None = None) -> NoReturn:
    """End the module with `message`, and with what the API server or a check said as `error`."""
    facts = {} if error is None else {"error": error.as_dict() if isinstance(error, ApiError) else str(error)}
    module.fail_json(msg=message, **facts)
    raise SystemExit(1)


def connect(module: AnsibleModule) -> Api:
    """Log in; fails the module where that is impossible."""
    if login.MISSING:
        module.fail_json(msg=missing_required_lib("kubernetes"), exception=login.MISSING)
    try:
        return Api(login.logged_in(module.params))
    except Exception as error:  # noqa: BLE001  (files, formats, credential plugins: each raises its own)
        fail(module, f"Cannot log in to Kubernetes: {error}")


def _matching(served: Any, kind: str) -> Any:  # noqa: ANN401  (as the API server says it)
    for field in ("kind", "name", "singularName"):
        found = [item for item in served if item.get(field) == kind]
        if found:
            return found
    return [item for item in served if kind in item.get("shortNames", ())]


def _text(body: Any) -> str:  # noqa: ANN401  (bytes, text or nothing)
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")


def _message(body: str) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body
