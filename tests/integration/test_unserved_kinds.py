"""Kinds that are absent or forbidden: they wait, and the others are served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
import yaml

from bench.observer import Object, Observer, wait_for
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP, Project, Share, SharedOperator, Things, definition, port

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("unserved_kinds")]

OK = "- name: Say something\n  ansible.builtin.debug: {msg: fine}\n"


LATE = "Late"
NAMESPACE = "unserved-kinds"


def write(project: Project) -> None:
    project.role("ok", OK)
    for kind in ("Allowed", "Forbidden", "AllowedLater", LATE):
        project.watch("ok", kind)


@pytest.fixture(scope="module")
def observer(control_plane: ControlPlane, kinds: Observer) -> Iterator[Observer]:
    """A view of a namespace of the module's own, in which the operator's account may do what it is allowed."""
    observer = Observer(control_plane.kubeconfig, NAMESPACE)
    observer.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield observer
    observer.delete("v1", "Namespace", NAMESPACE)
    observer.close()


@pytest.fixture(scope="module")
def shared(
    share: Share, observer: Observer, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> SharedOperator:
    """An operator with an account that may not watch all of its kinds, of which one is not served."""
    _allow(observer, "alloweds", "alloweds/status", "lates", "lates/status", "events")
    kubeconfig = _account_kubeconfig(observer, control_plane.kubeconfig, tmp_path_factory.mktemp("account"))
    return share(
        write,
        "--health-probe-bind-address=127.0.0.1:0",
        kubeconfig=kubeconfig,
        unserved=[LATE],
        WATCH_NAMESPACE=NAMESPACE,
    )


@pytest.fixture
def late_kind(observer: Observer) -> Iterator[str]:
    """The name of a kind that nobody serves yet, and that is removed in the end."""
    yield LATE
    observer.undefine("lates.test.example.com")


@pytest.mark.usefixtures("shared")
def test_a_kind_without_a_definition_is_waited_for_while_the_others_are_served(
    things: Things, observer: Observer, late_kind: str
) -> None:
    things.create("served", kind="Allowed")
    things.wait("served", "Successful", kind="Allowed")
    observer.apply(definition(late_kind))
    wait_for("the kind to be served", lambda: observer.serves(GROUP, late_kind), seconds=30)
    things.create("late", kind=late_kind)
    things.wait("late", "Successful", kind=late_kind)


def test_a_forbidden_kind_does_not_stop_the_others_and_the_log_and_the_probe_say_so(
    shared: SharedOperator, things: Things
) -> None:
    things.create("allowed", kind="Allowed")
    things.wait("allowed", "Successful", kind="Allowed")
    with urllib3.HTTPConnectionPool("127.0.0.1", port(shared.process, "probes"), retries=False) as pool:
        probe = pool.request("GET", "/readyz")
    assert (probe.status, f"{GROUP}, Kind=Forbidden (not allowed)" in probe.data.decode()) == (500, True)
    refusals = [record for record in shared.process.records() if "not allowed" in record["msg"]]
    (warning,) = [record for record in refusals if record["gvk"].endswith("Kind=Forbidden")]
    assert '"forbiddens"' in warning["todo"]


@pytest.mark.usefixtures("shared")
def test_a_forbidden_kind_is_served_once_it_is_allowed(things: Things, observer: Observer) -> None:
    things.create("waiting", kind="AllowedLater")
    _allow(observer, "allowedlaters", "allowedlaters/status", name="more")
    things.wait("waiting", "Successful", kind="AllowedLater")


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
