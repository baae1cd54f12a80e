"""`prune: true` on a real API server: what a run no longer produces goes, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from bench.observer import Object, Observer, wait_for
from bench.operator import OperatorProcess
from runner.dev.controlplane import ControlPlane
from tests.fixtures.link import link
from tests.fixtures.operators import PATIENCE, Operate, Project, Share, SharedOperator, Things

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("prune")]

PREFIX = "ansible.sdk.operatorframework.io/"
PRODUCE = """
- name: Produce what the spec names
  kubernetes.core.k8s:
    definition: "{{ objects }}"
- name: Look at others
  kubernetes.core.k8s_info: "{{ look }}"
  when: look is defined
- name: Fail, if it is to
  ansible.builtin.command: "false"
  changed_when: true
  when: fails | default(false)
  ignore_errors: "{{ ignored | default(false) }}"
- name: Be called again, if it is to
  operator_sdk.util.requeue_after: {time: 1h}
  when: polls | default(false)
"""


def config_map(name: str, namespace: str, **metadata: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
    }


class Maps:
    """The ConfigMaps of a Thing, in the test's namespace."""

    def __init__(self, things: Things) -> None:
        self._things = things
        self.namespace = things.observer.namespace

    def spec(self, *names: str, **more: object) -> Object:
        return {"objects": [config_map(name, self.namespace) for name in names], **more}

    def give(self, name: str, *names: str, condition: str = "Successful", **more: object) -> None:
        """Have the Thing produce these, and wait until it has."""
        spec = {"look": None, "fails": None, "ignored": None, "polls": None, **self.spec(*names, **more)}
        if self._things.get(name):
            self._things.patch(name, {"spec": spec})
        else:
            self._things.create(name, {key: value for key, value in spec.items() if value is not None})
        self._things.wait(name, condition)

    def there(self) -> set[str]:
        found = self._things.observer.list("v1", "ConfigMap")
        return {body["metadata"]["name"] for body in found} - {"kube-root-ca.crt"}


@pytest.fixture
def maps(things: Things) -> Maps:
    return Maps(things)


def write(project: Project) -> None:
    """The same role run warm and cold."""
    project.role("produce", PRODUCE)
    project.watch("produce", "Producer", prune=True, snakeCaseParameters=False)
    project.watch("produce", "ColdProducer", prune=True, snakeCaseParameters=False, executor="cold")


@pytest.fixture(scope="module")
def shared(share: Share) -> SharedOperator:
    return share(write)


@pytest.fixture
def producers(things: Things) -> Things:
    return things.of("Producer")


def events(observer: Observer, reason: str) -> list[str]:
    return [event["message"] for event in observer.list("v1", "Event") if event.get("reason") == reason]


def runs(operator: OperatorProcess) -> list[Object]:
    return list(operator.records("Reconciled"))


def test_what_a_run_no_longer_produces_is_deleted_an_event_and_the_log_name_it_and_no_run_follows(
    shared: SharedOperator, producers: Things, observer: Observer
) -> None:
    maps = Maps(producers)
    observer.create(config_map("foreign", maps.namespace))
    maps.give("other", "others")
    maps.give("one", "first", "second", "third")
    maps.give("one", "third")
    assert maps.there() == {"third", "others", "foreign"}
    [message] = wait_for("the Event", lambda: events(observer, "Pruned"), seconds=PATIENCE)
    assert f"ConfigMap {maps.namespace}/first, ConfigMap {maps.namespace}/second" in message
    maps.give("one", "third", "fourth")
    assert [record.get("pruned") for record in shared.reconciles(maps.namespace)] == [
        None,
        None,
        [f"ConfigMap {maps.namespace}/first", f"ConfigMap {maps.namespace}/second"],
        None,
    ]


def test_a_restart_forgets_nothing_not_even_a_kind_that_is_no_longer_written(
    shared: SharedOperator, producers: Things
) -> None:
    maps = Maps(producers)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": maps.namespace}}
    maps.give("one", objects=[secret, config_map("first", maps.namespace)])
    places = producers.get("one")["metadata"]["annotations"][f"{PREFIX}prune-places"]
    assert places.startswith(f"v1/ConfigMap@{maps.namespace},v1/Secret@{maps.namespace};")
    shared.process.stop()
    producers.patch("one", {"spec": {"objects": [config_map("first", maps.namespace)]}})
    shared.process.start()
    producers.wait("one", "Successful")
    assert not producers.observer.get("v1", "Secret", "s")
    assert maps.there() == {"first"}


def test_nothing_is_deleted_after_a_run_that_lists_them_had_an_ignored_failure_or_asks_to_be_called_again(
    shared: SharedOperator, producers: Things
) -> None:
    maps = Maps(producers)
    hows: dict[str, Object] = {
        "lists": {"look": {"api_version": "v1", "kind": "ConfigMap", "namespace": maps.namespace}},
        "failed": {"fails": True, "ignored": True},
        "polls": {"polls": True},
    }
    reconciles = partial(shared.reconciles, maps.namespace)
    for name in hows:
        maps.give(name, f"{name}-first", f"{name}-second")
    for name, how in hows.items():
        producers.patch(name, {"spec": maps.spec(f"{name}-first", **how)})
    wait_for("the runs", lambda: {run["name"] for run in reconciles()[3:]} == set(hows), seconds=PATIENCE)
    assert {run["result"] for run in reconciles()} == {"succeeded", "requeued"}
    assert maps.there() == {f"{name}-{place}" for name in hows for place in ("first", "second")}
    for name in hows:
        maps.give(name, f"{name}-first")
    assert maps.there() == {f"{name}-first" for name in hows}


def test_nothing_is_deleted_where_tags_leave_a_part_out(
    project: Project, operate: Operate, maps: Maps, things: Things
) -> None:
    project.role("produce", PRODUCE)
    project.watch("produce", prune=True, snakeCaseParameters=False)
    operator = operate("--ansible-args=--tags all")
    maps.give("one", "first", "second")
    maps.give("one", "first")
    assert maps.there() == {"first", "second"}
    assert [record["why"] for record in operator.records("Nothing pruned")] == ["--tags left out a part of it"] * 2


@pytest.mark.usefixtures("shared")
def test_a_cold_run_prunes_as_a_warm_one_does(things: Things) -> None:
    maps = Maps(things.of("ColdProducer"))
    maps.give("one", "first", "second")
    maps.give("one", "second")
    assert maps.there() == {"second"}


def test_run_once_prunes_by_what_stands_on_the_object_and_not_in_check_mode(
    control_plane: ControlPlane, maps: Maps, things: Things, project: Project
) -> None:
    project.role("produce", PRODUCE)
    project.watch("produce", prune=True, snakeCaseParameters=False)
    command = [sys.executable, "-m", "runner", "run-once", "thing", "one", "-n", maps.namespace]
    command += ["--kubeconfig", str(control_plane.kubeconfig), "--runner-dir", str(project / "runs")]

    def run_once(*flags: str) -> None:
        ended = subprocess.run(
            [*command, *flags], cwd=project.path, capture_output=True, text=True, check=False, timeout=120
        )
        assert ended.returncode == 0, ended.stderr

    things.create("one", maps.spec("first", "second"))
    run_once()
    things.patch("one", {"spec": maps.spec("first")})
    for flags, left in ((["--check"], {"first", "second"}), ([], {"first"})):
        run_once(*flags)
        assert maps.there() == left


def test_killed_between_run_and_prune_it_deletes_after_the_next_success_also_of_a_kind_long_given_up(
    project: Project, operate: Operate, control_plane: ControlPlane, maps: Maps, things: Things, tmp_path: Path
) -> None:
    project.role(
        "produce", f"{PRODUCE}- name: Wait for it\n  ansible.builtin.wait_for: {{path: '{tmp_path}/go'}}\n"
    )
    project.watch("produce", prune=True, snakeCaseParameters=False)
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    api = urlsplit(config["clusters"][0]["cluster"]["server"])
    with link(str(api.hostname), int(api.port or 443)) as between:
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{between.port}"
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        operator = operate(kubeconfig=tmp_path / "config")
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": maps.namespace}}
        (tmp_path / "go").touch()
        maps.give("one", objects=[secret, config_map("first", maps.namespace)])
        (tmp_path / "go").unlink()
        things.patch("one", {"spec": maps.spec("second")})
        wait_for("the run to write", lambda: "second" in maps.there(), seconds=PATIENCE)
        between.cut()
        (tmp_path / "go").touch()
        wait_for("the run to end", partial(ended, operator, 2), seconds=PATIENCE)
        operator.kill()
    assert maps.there() == {"first", "second"}
    things.patch("one", {"spec": maps.spec("third")})
    again = operate()
    things.wait("one", "Successful")
    assert maps.there() == {"third"}
    assert not things.observer.get("v1", "Secret", "s")
    assert len(runs(again)[-1]["pruned"]) == 3


def ended(operator: OperatorProcess, number: int) -> bool:
    """Whether so many runs have left their exit code."""
    codes = [path for path in operator.runner_dir.rglob("artifacts/*/rc") if "latest" not in path.parts]
    return len(codes) == number


def test_a_dependent_that_may_not_be_deleted_is_told_of_and_no_failure(
    project: Project, operate: Operate, control_plane: ControlPlane, maps: Maps, things: Things, tmp_path: Path
) -> None:
    project.role("produce", PRODUCE)
    project.watch("produce", prune=True, snakeCaseParameters=False)
    operator = operate(kubeconfig=account(control_plane, things.observer, tmp_path / "config"))
    maps.give("one", "first", "second")
    maps.give("one", "first")
    assert maps.there() == {"first", "second"}
    [message] = wait_for("the Event", lambda: events(things.observer, "PruneFailed"), seconds=PATIENCE)
    assert f"ConfigMap {maps.namespace}/second cannot be deleted: 403 Forbidden" in message
    assert "system:serviceaccount" not in message
    assert [record["result"] for record in runs(operator)] == ["succeeded", "succeeded"]


def account(control_plane: ControlPlane, observer: Observer, path: Path) -> Path:
    """The kubeconfig of one who may do everything in the test's namespace but delete ConfigMaps."""
    everything = [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "verbs": ["get", "list", "watch", "create", "update", "patch"],
        },
        {"apiGroups": ["test.example.com", "events.k8s.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["*"]},
    ]
    role, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    meta = {"name": "pruner"}
    observer.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    observer.create({"apiVersion": role, "kind": "Role", "metadata": meta, "rules": everything})
    observer.create(
        {
            "apiVersion": role,
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "pruner"},
            "subjects": [{"kind": "ServiceAccount", "name": "pruner", "namespace": observer.namespace}],
        }
    )
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    token = observer.token("pruner")
    config["users"] = [{"name": entry["name"], "user": {"token": token}} for entry in config["users"]]
    path.write_text(yaml.safe_dump(config))
    return path
