"""Being a ServiceAccount of the local control plane, so that its RBAC is tried before production.

By a token, as its pods have one, and not by impersonation: the API server then sees what it sees of a pod (groups,
uid, no way to become somebody else that RBAC does not give), also for clients that cannot impersonate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runner.dev.api import Api
from runner.dev.certificates import write_kubeconfig
from runner.dev.directory import AS
from runner.dev.layout import Layout, Ports
from runner.errors import DevError

PREFIX = "serviceaccount"
SECONDS = 24 * 60 * 60
"""For which a token is good: a day's work."""


@dataclass(frozen=True)
class ServiceAccount:
    """Whom to be."""

    namespace: str
    name: str

    @property
    def file_name(self) -> str:
        """That of the kubeconfig."""
        return f"{AS}{self.namespace}-{self.name}.kubeconfig"


def parse(text: str) -> ServiceAccount:
    """From `serviceaccount/NAMESPACE/NAME`. Raises DevError."""
    match text.split("/"):
        case [prefix, namespace, name] if prefix == PREFIX and namespace and name:
            return ServiceAccount(namespace, name)
    raise DevError(
        f"--as {text}: give {PREFIX}/NAMESPACE/NAME, such as {PREFIX}/website-system/controller-manager"
    )


def write_kubeconfig_of(account: ServiceAccount, api: Api, layout: Layout, ports: Ports) -> tuple[Path, datetime]:
    """The kubeconfig with a new token of that account, and until when the token is good. Raises DevError."""
    token, until = _token(account, api)
    file = layout.config / account.file_name
    write_kubeconfig(file, layout, ports.server, account.name, token=token, namespace=account.namespace)
    return file, until


def _token(account: ServiceAccount, api: Api) -> tuple[str, datetime]:
    path = f"/api/v1/namespaces/{account.namespace}/serviceaccounts/{account.name}/token"
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    try:
        status, answer = api.call("POST", path, wanted | {"spec": {"expirationSeconds": SECONDS}})
    except OSError as error:
        raise DevError(
            f"the API server does not answer ({error}); start it with `ansible-operator dev up`"
        ) from None
    if status == 404:
        raise DevError(
            f"there is no ServiceAccount {account.name} in the namespace {account.namespace}: create it first, "
            "with the operator's manifests or "
            f"`kubectl create serviceaccount {account.name} -n {account.namespace}`"
        )
    if status != 201:
        raise DevError(f"the API server gave no token of {account.namespace}/{account.name}: {status} {answer}")
    return answer["status"]["token"], datetime.fromisoformat(answer["status"]["expirationTimestamp"])
