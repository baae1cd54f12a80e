"""Kinds that are absent or forbidden: they wait, and the others are served."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
import yaml

from bench.observer import Object, Observer, wait_for
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP, Operate, Project, Things, definition

pytestmark = pytest.mark.cluster

OK = "- name: Say something\n  ansible.builtin.debug: {msg: fine}\n"


@pytest.fixture
def ok(project: Project) -> Project:
    project.role("ok", OK)
    project.watch("ok")
    return project


@pytest.fixture
def late_kind(observer: Observer, namespace: str) -> Iterator[str]:
    """The name of a kind that nobody serves yet, and that is removed in the end."""
    kind = "Late" + namespace.removeprefix("test-").translate(str.maketrans("0123456789", "ghijklmnop"))
    yield kind
    observer.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{kind.lower()}s.test.example.com")


def test_a_kind_without_a_definition_is_waited_for_while_the_others_are_served(
    ok: Project, operate: Operate, things: Things, observer: Observer, late_kind: str
) -> None:
    ok.watch("ok", kind=late_kind)
    operate()
    things.create("served")
    things.wait("served", "Successful")
    observer.apply(definition(late_kind))
    wait_for("the kind to be served", lambda: observer.serves(GROUP, late_kind), seconds=30)
    things.create("late", kind=late_kind)
    things.wait("late", "Successful", kind=late_kind)


def test_a_forbidden_kind_does_not_stop_the_others_and_the_log_and_the_probe_say_so(
    ok: Project, operate: Operate, things: Things, observer: Observer, control_plane: ControlPlane, tmp_path: Path
) -> None:
    ok.watch("ok", kind="Gadget")
    _allow(observer, "things", "things/status", "events")
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    operator = operate(
        f"--health-probe-bind-address=127.0.0.1:{port}",
        kubeconfig=_account_kubeconfig(observer, control_plane.kubeconfig, tmp_path),
    )
    things.create("served")
    things.wait("served", "Successful")
    with urllib3.HTTPConnectionPool("127.0.0.1", port, retries=False) as pool:
        probe = pool.request("GET", "/readyz")
    assert (probe.status, f"{GROUP}, Kind=Gadget (not allowed)" in probe.data.decode()) == (500, True)
    (warning,) = [record for record in operator.records() if "not allowed" in record["msg"]]
    assert '"gadgets"' in warning["todo"]


def test_a_forbidden_kind_is_served_once_it_is_allowed(
    project: Project,
    operate: Operate,
    things: Things,
    observer: Observer,
    control_plane: ControlPlane,
    tmp_path: Path,
) -> None:
    project.role("ok", OK)
    project.watch("ok", kind="Gadget")
    _allow(observer, "events")
    operate(kubeconfig=_account_kubeconfig(observer, control_plane.kubeconfig, tmp_path))
    things.create("waiting", kind="Gadget")
    _allow(observer, "gadgets", "gadgets/status", name="more")
    things.wait("waiting", "Successful", kind="Gadget")


def _allow(observer: Observer, *resources: str, name: str = "operator") -> None:
    """Let the test's own service account do everything with these resources in its namespace."""
    group = GROUP.partition("/")[0]
    rbac, place = "rbac.authorization.k8s.io", {"name": name}
    account = {"kind": "ServiceAccount", "name": "operator", "namespace": observer.namespace}
    rules = [{"apiGroups": ["", group], "resources": list(resources), "verbs": ["*"]}]
    role: Object = {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": place, "rules": rules}
    binding: Object = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": place,
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        "subjects": [account],
    }
    observer.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator"}})
    observer.apply(role)
    observer.apply(binding)


def _account_kubeconfig(observer: Observer, admin: Path, folder: Path) -> Path:
    """A kubeconfig that logs in as the test's service account."""
    config = yaml.safe_load(admin.read_text())
    config["users"][0]["user"] = {"token": observer.token("operator")}
    file = folder / "account.kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
