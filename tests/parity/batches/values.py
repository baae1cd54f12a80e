"""What a run gets: variables, command, environment, files; from one CR of many kinds, each with its own watch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.parity.batches.common import DUMP, as_play
from tests.parity.stage import Stage

SNAKE = {
    "fooBar": "foo_bar", "FooBar": "_foo_bar", "foo-bar": "foo_bar", "K8s": "_k8s", "k8sVersion": "k8s_version",
    "sizeK8sBuckets": "size_k8s_buckets", "a1b2": "a_1_b2", "1a2b3c": "1a_2_b3c", "v1beta2Foo": "v1beta2_foo",
    "s3URL": "s3_url", "x509CertURL": "x509_cert_url", "oauth2Proxy": "oauth2_proxy", "HTTPServer": "http_server",
    "HTTPSPort": "http_s_port", "httpsPort": "https_port", "HTTP": "__http", "URL": "__url", "IP": "__ip",
    "IPs": "__ips", "HTTPURL": "http__url", "IPAddress": "ip_address", "podIPs": "pod_ips",
    "IPv6Address": "ip_v6_address", "userID": "user_id", "userIDs": "user_i_ds", "numCPUs": "num_cp_us",
    "JSONData": "_json_data", "TLSSecretName": "_tls_secret_name", "CPU": "_cpu", "ZIPCode": "_z_ip_code",
    "RECIPE": "_rec_ip_e", "XMLHTTPRequest": "_xml_http_request", "aB": "ab", "aBc": "a_bc", "ABc": "_a_bc",
    "fooBARBaz": "foo_bar_baz", "_Private": "_private", "dash-": "dash_", "foo__bar": "foo__bar",
    "kubernetes.io/hostname": "kubernetes.io/hostname", "888": "888",
}  # fmt: skip
"""The whole table of 3.4."""

SPEC: dict[str, Any] = {
    "fooBar": "camel",
    "text": "{{ 1 + 1 }}",
    "nested": {"deepKey": [{"innerKey": 1}], "numberKey": 1.5, "flagKey": True, "nullKey": None},
    "matchLabels": {"appName": "x"},
    "overlaid": "by the CR",
    "ansibleOperatorMeta": "by the CR",
    "cases": [{key: key} for key in SNAKE],
    "podIPs": "from podIPs",
    "pod_ips": "from pod_ips",
}

WATCHES = """
- group: $GROUP
  version: v1
  kind: Full
  role: tell
  vars: {overlaid: by the watch, meta: "{{ ansible_operator_meta }}"}
- {group: $GROUP, version: v1, kind: Unsafe, role: tell, markUnsafe: true, vars: {plain: "{{ 2 + 2 }}"}}
- {group: $GROUP, version: v1, kind: Verbatim, role: tell, snakeCaseParameters: false, manageStatus: false}
- {group: $GROUP, version: v1, kind: Absent, role: tell}
- {group: $GROUP, version: v1, kind: Realm, role: $ROOT/roles/tell}
- {group: $GROUP, version: v1, kind: Book, playbook: playbooks/book.yml, role: none}
- {group: $GROUP, version: v1, kind: Whole, playbook: $ROOT/playbooks/book.yml}
- {group: $GROUP, version: v1, kind: Fqcn, role: ns.col.told}
- {group: $GROUP, version: v1, kind: Direct, role: direct}
- {group: $GROUP, version: v1, kind: Below, role: below}
- {group: $GROUP, version: v1, kind: First, role: first}
- {group: $GROUP, version: v1, kind: Nested, role: default/x-deploy}
- {group: $GROUP, version: v1, kind: Linked, role: linked}
- {group: $GROUP, version: v1, kind: Slashed, role: tell/}
- {group: $GROUP, version: v1, kind: Relative, role: roles/tell}
- GROUP: $GROUP
  Version: v1
  KIND: Cased
  Role: tell
  VARS: {cased: here}
  maxWorkers: 3
  ansibleVerbosity: 4
  frob: 1
- group: ${GROUP}
  version: "v1"
  kind: Coerced
  role: tell
  role: tell
  maxRunnerArtifacts: 5.0
  vars:
    y: why
    off: not
    1: one
    "float": 1.0
    octal: 017
    octals: 0o17
    date: 2001-01-01
    big: 123456789012345678901
    quoted: "yes"
    bare: yes
    twice: first
    twice: second
- group: ${GROUP}
  version: v1
  kind: Replaced
  role: tell
  vars:
    braced: "${VALUE}"
    bare: "$VALUE"
    dashed: "$VALUE-x"
    longer: "$VALUEx"
    unset: "${UNSET}"
    fallback: "${VALUE:-x}"
    dollars: "a$$b"
    digit: "a$1b"
    bang: "a$!b"
    minus: "a$-b"
    empty: "a${}b"
    space: "a$ b"
    point: "a$.b"
    last: "a$"
    jinja: "{{ 3 + 3 }}"  # $UNSET
    unclosed: "a${VALUE"
---
this: second document is not read
"""
KINDS = (
    *("Full", "Unsafe", "Verbatim", "Absent", "Book", "Whole", "Fqcn", "Direct", "Below", "First", "Nested"),
    *("Linked", "Slashed", "Relative", "Cased", "Coerced", "Replaced"),
)
ANNOTATION = "ansible.sdk.operatorframework.io/"
EXTRA_ARGS = "'--tags all -e overlaid=args -e only=args'"


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    write_project(stage)
    stage.kinds(*KINDS)
    stage.kinds("Realm", scope="Cluster")
    key = stage.group.upper().replace(".", "_")
    environment = {
        "ROOT": str(stage.project),
        "VALUE": "value",
        "ANSIBLE_COLLECTIONS_PATH": str(stage.project / "collections"),
        "ANSIBLE_ROLES_PATH": f"{stage.project}/elsewhere:{stage.project}/more",
        f"ANSIBLE_VERBOSITY_FULL_{key}": "3",
        f"ANSIBLE_VERBOSITY_UNSAFE_{key}": "8",
        f"ANSIBLE_VERBOSITY_COERCED_{key}": "0",
        "ANSIBLE_STDOUT_CALLBACK": "default",
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "RELATED_IMAGE_X": "inherited",
    }
    flags = (f"--ansible-args={EXTRA_ARGS}", "--ansible-verbosity=1")
    with stage.operator(*flags, watches=WATCHES, environment=environment) as operator:
        create(stage)
        names = [kind.lower() for kind in KINDS] + [f"realm-{stage.suffix}", "noisy", "odd"]
        for name in names:
            stage.ran(name)
        for kind, name in (
            ("Full", "full"),
            ("Book", "book"),
            ("Coerced", "coerced"),
            ("Unsafe", "unsafe"),
            ("Full", "noisy"),
            ("Full", "odd"),
        ):
            stage.succeeded(kind, name)
        for name in names:
            told = stage.told(name)
            facts[name.removesuffix(f"-{stage.suffix}")] = told[0] if told else {}
        for kind in ("Full", "Book", "Coerced", "Unsafe"):
            facts[f"{kind.lower()} files"] = after(stage.run_directory(kind, kind.lower()))
        facts["noisy files"] = after(stage.run_directory("Full", "noisy"))
        facts["odd files"] = after(stage.run_directory("Full", "odd"))
        facts["full object"] = stage.get("Full", "full")
        facts["collision"] = operator.alive
    facts |= {
        "group": stage.group,
        "namespace": stage.namespace,
        "project": str(stage.project),
        "suffix": stage.suffix,
    }
    facts["proxy port"] = operator.proxy


def write_project(stage: Stage) -> None:
    stage.role("tell", DUMP)
    stage.role("default/x-deploy", DUMP)
    stage.write("collections/ansible_collections/ns/col/roles/told/tasks/main.yml", DUMP)
    stage.write("elsewhere/direct/tasks/main.yml", DUMP)
    stage.write("more/roles/below/tasks/main.yml", DUMP)
    stage.write("elsewhere/first/tasks/main.yml", DUMP)
    stage.role("first", DUMP)
    (stage.project / "roles" / "linked").symlink_to("tell")
    stage.write("playbooks/book.yml", as_play(DUMP))


def create(stage: Stage) -> None:
    stage.create("Full", "full", SPEC)
    stage.create("Unsafe", "unsafe", SPEC, annotations={"note": "{{ 5 + 5 }}"})
    stage.create("Verbatim", "verbatim")
    stage.create("Absent", "absent")
    stage.create("Realm", f"realm-{stage.suffix}", {"a": 1})
    stage.create("Full", "noisy", {}, annotations={f"{ANNOTATION}verbosity": "5"})
    stage.create("Full", "odd", {}, annotations={f"{ANNOTATION}verbosity": "many"})
    for kind in KINDS:
        if kind not in ("Full", "Unsafe", "Verbatim", "Absent"):
            stage.create(kind, kind.lower(), {"fooBar": "x"})


def after(directory: Path) -> dict[str, Any]:
    """The files of a run that is over."""
    latest = directory / "artifacts" / "latest"
    found: dict[str, Any] = {"directory": directory.is_dir(), "link": latest.is_symlink()}
    if not latest.is_dir():
        return found
    found["target"] = str(latest.readlink())
    found["names"] = sorted(path.name for path in latest.iterdir())
    found["stdout"] = (latest / "stdout").read_text()
    found["rc"] = (latest / "rc").read_text()
    found["command"] = json.loads((latest / "command").read_text())
    found["project"] = sorted(path.name for path in (directory / "project").iterdir())
    found["kubeconfigs"] = [str(path) for path in directory.rglob("kubeconfig*")]
    return found
