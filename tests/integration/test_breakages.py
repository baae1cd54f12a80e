# ruff: noqa: E501  (texts as people read them)
"""Thirteen ways to break a role, and what condition, Event and a terminal's log say of each, to the letter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from textwrap import indent
from typing import Any
from uuid import uuid4

import pytest
import yaml

from bench.observer import Object, Observer, condition, wait_for
from runner.dev.controlplane import ControlPlane
from tests.fixtures.operators import GROUP, Project, definition
from tests.fixtures.terminal import Terminal

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400), pytest.mark.xdist_group("breakages")]

OLD = version("ansible-core").startswith("2.18.")
DEADLINE = 10
LONGEST = 300
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "NAME", namespace: "{{ ansible_operator_meta.namespace }}"}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: blog}}
  template:
    metadata: {labels: {app: blog}}
    spec: {containers: [{name: web, image: nginx}]}
"""


@dataclass(frozen=True)
class Breakage:
    """`tasks` are those of the role of that kind, `told` what is to be read; `files` are more of the role's.

    `older` is what can be told with ansible-core 2.18, where that knows less; `logged` what the log says, where it
    knows more; `task` the one that failed, if Ansible came to the end of one.
    """

    kind: str
    tasks: str
    told: str
    files: Mapping[str, str] = field(default_factory=dict)
    older: str = ""
    logged: str = ""
    task: str = ""


def k8s(name: str, replicas: str) -> str:
    """The rest of a task that creates a Deployment."""
    definition = DEPLOYMENT.replace("NAME", name).replace("REPLICAS", replicas)
    return f"  kubernetes.core.k8s:\n    definition:\n{indent(definition.strip(), ' ' * 6)}\n"


BREAKAGES = (
    Breakage(
        "Undefined",
        '- name: Say something\n  ansible.builtin.debug:\n    msg: "{{ mesage }}"\n',
        "'mesage' is undefined (Say something, roles/undefined/tasks/main.yml:3)",
        older="'mesage' is undefined (Say something, roles/undefined/tasks/main.yml:1)",
        task="Say something (roles/undefined/tasks/main.yml:1)",
    ),
    Breakage(
        "Template",
        "- name: Write the page\n  ansible.builtin.template: {src: page.j2, dest: /tmp/never, mode: '0600'}\n",
        "'titel' is undefined in templates/page.j2:2 (Write the page, roles/template/tasks/main.yml:1)",
        {"templates/page.j2": "<h1>\n{{ titel }}\n</h1>\n"},
        older="'titel' is undefined (Write the page, roles/template/tasks/main.yml:1)",
        task="Write the page (roles/template/tasks/main.yml:1)",
    ),
    Breakage(
        "Refused",
        "- name: Create the Deployment\n" + k8s("blog", "-1"),
        "Deployment blog refused (422): spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        " (Create the Deployment, roles/refused/tasks/main.yml:1)",
        task="Create the Deployment (roles/refused/tasks/main.yml:1)",
    ),
    Breakage(
        "Forbidden",
        "- name: Read the password\n  kubernetes.core.k8s_info:\n    kind: Secret\n    name: password\n"
        '    namespace: "{{ ansible_operator_meta.namespace }}"\n',
        'Secret password refused (403): the operator may not get resource "secrets"'
        ' in API group "" in the namespace "{namespace}" (Read the password, roles/forbidden/tasks/main.yml:1)',
        task="Read the password (roles/forbidden/tasks/main.yml:1)",
    ),
    Breakage(
        "Loop",
        "- name: Create the Deployment\n" + k8s("blog-{{ item.name }}", '"{{ item.size }}"')
        + "  loop: [{name: a, size: 1}, {name: b, size: three}, {name: c, size: 1}]\n",
        "Deployment blog-b refused (400): spec.replicas: got string, want int32"
        " (Create the Deployment, roles/loop/tasks/main.yml:1, item 2 of 3)",
        older="Deployment blog-a refused (400): spec.replicas: got string, want int32"
        " (Create the Deployment, roles/loop/tasks/main.yml:1, item 1 of 3 and 2 more)",  # every template gives text
        task="Create the Deployment (roles/loop/tasks/main.yml:1)",
    ),
    Breakage(
        "Hidden",
        "- name: Use the password\n  ansible.builtin.command: /bin/false hunter2\n  no_log: true\n",
        "A task failed, and no_log hides its output (Use the password, roles/hidden/tasks/main.yml:1)",
        task="Use the password (roles/hidden/tasks/main.yml:1)",
    ),
    Breakage(
        "Syntax",
        '- name: Say something\n  ansible.builtin.debug:\n    msg: "no end\n',
        "YAML parsing failed: While scanning a quoted scalar found unexpected end of stream (roles/syntax/tasks/main.yml:4)",
        older="YAML parsing failed: found unexpected end of stream. while scanning a quoted scalar (roles/syntax/tasks/main.yml:4)",
    ),
    Breakage(
        "Misspelt",
        "- name: Create it\n  kubernetes.cor.k8s: {state: present}\n",
        "couldn't resolve module/action 'kubernetes.cor.k8s'. This often indicates a misspelling, missing collection, or"
        " incorrect module path (roles/misspelt/tasks/main.yml:1)",
    ),
    Breakage(
        "Fail",
        '- name: Refuse\n  ansible.builtin.fail: {msg: "spec.size must be at most 5: it is {{ size }}"}\n  vars: {size: 7}\n',
        "spec.size must be at most 5: it is 7",
        logged="spec.size must be at most 5: it is 7 (Refuse, roles/fail/tasks/main.yml:1)",
        task="Refuse (roles/fail/tasks/main.yml:1)",
    ),
    Breakage(
        "Assert",
        "- name: Check\n  ansible.builtin.assert: {that: size | int < 5, fail_msg: Five is the most}\n  vars: {size: 7}\n",
        "Five is the most",
        logged="Five is the most (Check, roles/assert/tasks/main.yml:1)",
        task="Check (roles/assert/tasks/main.yml:1)",
    ),
    Breakage(
        "Command",
        "- name: List it\n  ansible.builtin.command: ls /no/such/file\n",
        "exit code 2: ls: cannot access '/no/such/file': No such file or directory (List it, roles/command/tasks/main.yml:1)",
        task="List it (roles/command/tasks/main.yml:1)",
    ),
    Breakage(
        "Hang",
        "- name: Wait for what never comes\n  ansible.builtin.command: sleep 3600\n",
        f"The run was ended because it took longer than {DEADLINE} s (--run-deadline)"
        " (Wait for what never comes, roles/hang/tasks/main.yml:1)",
    ),
    Breakage(
        "Status",
        "- name: Set the status\n  operator_sdk.util.k8s_status:\n    api_version: v1\n    kind: ConfigMap\n    name: blog\n"
        '    namespace: "{{ ansible_operator_meta.namespace }}"\n    status: {ready: true}\n',
        "Resource v1.ConfigMap does not support the status subresource (Set the status, roles/status/tasks/main.yml:1)",
        task="Set the status (roles/status/tasks/main.yml:1)",
    ),
)  # fmt: skip
RULES = [
    {"apiGroups": ["test.example.com"], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
]


@dataclass(frozen=True)
class Broken:
    """What is to be seen in the namespace, once all of them have failed."""

    namespace: str
    objects: Mapping[str, Object]
    events: Mapping[str, Object]
    log: Mapping[str, list[str]]


@pytest.fixture(scope="module")
def broken(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broken]:
    """One operator, with an account of its own, for all of them."""
    directory = tmp_path_factory.mktemp("breakages")
    namespace = f"test-{uuid4().hex[:8]}"
    observer = Observer(control_plane.kubeconfig, namespace)
    observer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    project = Project(directory / "project")
    project.path.mkdir()
    for breakage in BREAKAGES:
        write(project, breakage)
        observer.apply(definition(breakage.kind))
    for breakage in BREAKAGES:
        wait_for("the kind to be served", partial(observer.serves, GROUP, breakage.kind), seconds=30)
    kubeconfig = account(control_plane, observer, directory)
    flags = (f"--run-deadline={DEADLINE}s", "--max-concurrent-runs=2")
    environment = {"WATCH_NAMESPACE": namespace, "ANSIBLE_GATHERING": "explicit"}
    try:
        with Terminal(project.path, kubeconfig, directory, *flags, **environment) as terminal:
            terminal.wait("Ready")
            yield seen(observer, terminal)
    finally:
        for breakage in BREAKAGES:
            observer.delete(
                "apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{breakage.kind.lower()}s.test.example.com"
            )
        observer.delete("v1", "Namespace", namespace)
        observer.close()


def write(project: Project, breakage: Breakage) -> None:
    role = breakage.kind.lower()
    directory = project.path / "roles" / role
    for name, text in {"tasks/main.yml": breakage.tasks, **breakage.files}.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    project.watch(role, kind=breakage.kind)


def account(control_plane: ControlPlane, observer: Observer, directory: Path) -> Path:
    """The kubeconfig of a service account that may do what RULES allow."""
    group, name = "rbac.authorization.k8s.io", "operator"
    observer.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": name}}
    observer.create({**role, "rules": RULES})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": observer.namespace}
    ref = {"apiGroup": group, "kind": "Role", "name": name}
    observer.create({**role, "kind": "RoleBinding", "roleRef": ref, "subjects": [subject]})
    config: dict[str, Any] = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": observer.token(name)}
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def seen(observer: Observer, terminal: Terminal) -> Broken:
    """An object of each kind; those that have failed are deleted, for they would be tried again and again."""
    objects: dict[str, Object] = {}
    events: dict[str, Object] = {}
    for breakage in BREAKAGES:
        observer.create({"apiVersion": GROUP, "kind": breakage.kind, "metadata": {"name": "blog"}, "spec": {}})
    for breakage in BREAKAGES:
        what = f"{breakage.kind} to fail, and to have an Event"
        objects[breakage.kind] = wait_for(what, partial(failed, observer, breakage.kind), seconds=90)
        events[breakage.kind] = wait_for(what, partial(warning, observer, breakage.kind), seconds=30)
        observer.delete(GROUP, breakage.kind, "blog")
    log = {breakage.kind: lines(terminal, f"{breakage.kind} {observer.namespace}/blog") for breakage in BREAKAGES}
    return Broken(observer.namespace, objects, events, log)


def lines(terminal: Terminal, key: str) -> list[str]:
    """What the terminal shows of an object up to its first failure."""
    terminal.wait(f"{key}: failed after ")
    shown = terminal.lines()
    end = next(number for number, line in enumerate(shown) if f"{key}: failed after " in line)
    return [*(line for line in shown[:end] if key in line), *shown[end : end + 2]]


def failed(observer: Observer, kind: str) -> Object | None:
    body = observer.get(GROUP, kind, "blog")
    return body if condition(body, "Failure").get("status") == "True" else None


def warning(observer: Observer, kind: str) -> Object | None:
    return next((e for e in observer.list("v1", "Event") if e["involvedObject"]["kind"] == kind), None)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.kind)
def test_condition_and_event_say_what_broke_and_where(broken: Broken, breakage: Breakage) -> None:
    told = told_of(breakage, broken)
    assert condition(broken.objects[breakage.kind], "Failure")["message"] == told
    event = broken.events[breakage.kind]
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "ReconcileFailed", told)
    assert len(told) <= LONGEST


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.kind)
def test_a_terminal_shows_the_task_that_failed_why_and_what_follows(broken: Broken, breakage: Breakage) -> None:
    role, key = breakage.kind.lower(), f"{breakage.kind} {broken.namespace}/blog"
    assert [without_what_varies(line) for line in broken.log[breakage.kind]] == [
        f"… info    {key}: running roles/{role}, because it was created",
        *([f"… info    {key}: failed: {breakage.task}, … s"] if breakage.task else []),
        f"… error   {key}: failed after … s: {breakage.logged or told_of(breakage, broken)}",
        "    next try at once, whole output: …/stdout",
    ]
    assert max(map(len, broken.log[breakage.kind])) <= LONGEST


def told_of(breakage: Breakage, broken: Broken) -> str:
    return ((OLD and breakage.older) or breakage.told).replace("{namespace}", broken.namespace)


def without_what_varies(line: str) -> str:
    """`…` for the time of day, durations, and the directory of the run."""
    line = re.sub(r"^\d\d:\d\d:\d\d ", "… ", line)
    line = re.sub(r"( failed after |, )\d+(?:\.\d)? s(?=:|$)", r"\1… s", line)
    return re.sub(r"output: /\S+/stdout$", "output: …/stdout", line)
