"""The proxy before a real API server, used by the programs that roles use."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.config.settings import ClusterSettings
from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from runner.dev.programs import find_programs
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.objects import GroupVersionKind, Owner
from runner.serve.grants import Grant, basic
from runner.serve.ownership import Mechanism
from runner.serve.protected import ProtectedObject
from runner.serve.proxy import Proxy

pytestmark = pytest.mark.cluster

CONFIGMAP = GroupVersionKind("", "v1", "ConfigMap")


@dataclass(frozen=True)
class Run:
    """A run under way: programs find the proxy through their environment, as a role's do."""

    proxy: Proxy
    grant: Grant
    file: Path
    told: list[tuple[GroupVersionKind, Mechanism, str]]

    @property
    def owner(self) -> Owner:
        return self.grant.owner

    async def program(self, *command: str, stdin: str = "") -> tuple[int, str]:
        """The exit code, and what was said on either output."""
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, "KUBECONFIG": str(self.file), "K8S_AUTH_KUBECONFIG": str(self.file)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
        return process.returncode or 0, output.decode()

    async def kubectl(self, *arguments: str, stdin: str = "") -> tuple[int, str]:
        beside = find_programs().path("kube-apiserver").parent
        kubectl = shutil.which("kubectl", path=f"{beside}{os.pathsep}{os.environ['PATH']}")
        if kubectl is None:
            pytest.skip("no kubectl beside the API server or on PATH")
        return await self.program(kubectl, "-n", self.owner.namespace, *arguments, stdin=stdin)

    async def module(self, name: str, arguments: dict[str, Any]) -> tuple[int, str]:
        ansible = Path(sys.executable).with_name("ansible")
        interpreter = f"ansible_python_interpreter={sys.executable}"
        options = ("-m", f"kubernetes.core.{name}", "-a", json.dumps(arguments), "-e", interpreter)
        return await self.program(str(ansible), "localhost", *options)


@pytest.fixture
async def run(control_plane: ControlPlane, admin: Api, namespace: str, tmp_path: Path) -> AsyncIterator[Run]:
    owner = made(admin, namespace, "owner")
    client = await Client.connect(ClusterSettings(str(control_plane.kubeconfig)))
    told: list[tuple[GroupVersionKind, Mechanism, str]] = []
    proxy = Proxy(client, Discovery(client), port=0, on_dependent=lambda _, *dependent: told.append(dependent))
    await proxy.start()
    uid = owner["metadata"]["uid"]
    with proxy.grant(Owner(CONFIGMAP, namespace, "owner", uid)) as grant:
        file = tmp_path / "kubeconfig"
        file.write_text(grant.kubeconfig)
        yield Run(proxy, grant, file, told)
    await proxy.stop()
    await client.close()


async def test_what_a_module_creates_belongs_to_the_owner_and_is_known_as_its_own(run: Run, admin: Api) -> None:
    definition = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(run, "c"), "data": {"a": "1"}}
    code, said = await run.module("k8s", {"definition": definition})
    assert code == 0, said
    meta = read(admin, run, "c")["metadata"]
    assert [ref["uid"] for ref in meta["ownerReferences"]] == [run.owner.uid]
    assert run.proxy.own_write(meta["uid"], meta["resourceVersion"])
    assert run.told == [(CONFIGMAP, Mechanism.OWNER_REFERENCE, run.owner.namespace)]
    assert [child["metadata"]["uid"] for child in run.grant.children] == [meta["uid"]]


async def test_an_object_that_a_module_deletes_is_known_as_its_own_deletion(run: Run, admin: Api) -> None:
    uid = made(admin, run.owner.namespace, "c")["metadata"]["uid"]
    code, said = await run.module("k8s", {"kind": "ConfigMap", **metadata(run, "c"), "state": "absent"})
    assert code == 0, said
    assert run.proxy.own_write(uid, "")


async def test_a_module_hears_the_apis_own_refusal(run: Run) -> None:
    definition = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(run, "Not A Name")}
    code, said = await run.module("k8s", {"definition": definition})
    assert code != 0
    assert "lowercase RFC 1123 subdomain" in said


async def test_kubectl_applies_gets_and_watches(run: Run, admin: Api) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    code, said = await run.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
    assert code == 0, said
    assert read(admin, run, "c")["metadata"]["ownerReferences"][0]["uid"] == run.owner.uid
    code, said = await run.kubectl("wait", "configmap/c", "--for=jsonpath={.data.a}=1", "--timeout=30s")
    assert code == 0, said


async def test_what_kubectl_creates_in_protobuf_belongs_to_the_owner(run: Run, admin: Api) -> None:
    code, said = await run.kubectl("create", "configmap", "c", "--from-literal=a=1")
    assert code == 0, said
    code, said = await run.kubectl("create", "namespace", run.owner.namespace + "-x")
    assert code == 0, said
    found = read(admin, run, "c")
    assert [ref["uid"] for ref in found["metadata"]["ownerReferences"]] == [run.owner.uid]
    assert (found["metadata"]["name"], found["data"]) == ("c", {"a": "1"})
    status, elsewhere = admin.call("DELETE", f"/api/v1/namespaces/{run.owner.namespace}-x")
    assert status == 200, elsewhere
    primary = elsewhere["metadata"]["annotations"]["operator-sdk/primary-resource"]
    assert primary == f"{run.owner.namespace}/owner"


async def test_an_exec_is_answered_by_the_api_server(run: Run, admin: Api) -> None:
    """Nodes are only pretended here, so the control plane's own refusal is as far as it goes."""
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "image": "registry.invalid/m"}]}}
    status, answer = admin.call("POST", f"/api/v1/namespaces/{run.owner.namespace}/pods", pod)
    assert status == 201, answer
    code, said = await run.kubectl("wait", "pod/p", "--for=condition=Ready", "--timeout=30s")
    assert code == 0, said
    code, said = await run.module("k8s_exec", {"namespace": run.owner.namespace, "pod": "p", "command": "ls"})
    assert code != 0
    assert "nothing runs in them" in said


async def test_after_the_run_nothing_passes(run: Run) -> None:
    run.grant.revoke()
    code, said = await run.kubectl("get", "configmaps")
    assert code != 0
    assert "Unauthorized" in said or "logged in" in said


def metadata(run: Run, name: str) -> dict[str, str]:
    return {"name": name, "namespace": run.owner.namespace}


def made(admin: Api, namespace: str, name: str) -> dict[str, Any]:
    body = {"metadata": {"name": name}}
    status, answer = admin.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)
    assert status == 201, answer
    return dict(answer)


def read(admin: Api, run: Run, name: str) -> dict[str, Any]:
    status, answer = admin.call("GET", f"/api/v1/namespaces/{run.owner.namespace}/configmaps/{name}")
    assert status == 200, answer
    return dict(answer)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/api/v1/namespaces%2F{}%2Fconfigmaps", {}),
        ("/%61pi/v1/namespaces/{}/config%6Daps/", {}),
        ("/api/v1/namespaces/{}/configmaps?dryRun=All;", {}),
        ("/api/v1/namespaces/{}/configmaps", {"Content-Encoding": "gzip"}),
        ("/api/v1/namespaces/{}/configmaps", {"Connection": "Upgrade", "Upgrade": "websocket"}),
        ("/api/v1/namespaces/{}/configmaps#x", {}),
        ("/api/v1/namespaces/x/../{}/configmaps", {}),
        ("//api/v1/namespaces/{}/configmaps", {}),
    ],
)
async def test_nothing_is_created_without_its_owner_however_it_is_asked_for(
    run: Run, admin: Api, path: str, headers: dict[str, str]
) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(run, "c"), "data": {"a": "\udc80"}}
    raw = json.dumps(body, ensure_ascii=False).encode(errors="surrogateescape")  # with a byte that is no UTF-8
    await posted(run, path.format(run.owner.namespace), raw, headers)
    status, found = admin.call("GET", f"/api/v1/namespaces/{run.owner.namespace}/configmaps/c")
    assert (status, found.get("metadata", {}).get("ownerReferences", ())) in [
        (404, ()),
        (200, [{**OWNED, "name": "owner", "uid": run.owner.uid}]),
    ]


async def test_the_owners_uid_in_the_data_of_a_protobuf_is_no_owner(run: Run, admin: Api) -> None:
    text = f'"${run.owner.uid}'  # as protobuf writes the uid of a reference
    code, said = await run.kubectl("create", "configmap", "c", f"--from-literal=a={text}")
    assert code == 0, said
    found = read(admin, run, "c")
    assert ([ref["uid"] for ref in found["metadata"]["ownerReferences"]]) == [run.owner.uid]
    assert found["data"] == {"a": text}


OWNED = {"apiVersion": "v1", "kind": "ConfigMap"}


async def posted(run: Run, target: str, body: bytes, headers: dict[str, str]) -> bytes:
    """The status line for a request whose target no client library has put in order."""
    user = yaml.safe_load(run.grant.kubeconfig)["users"][0]["user"]
    login = {"Authorization": f"Basic {basic(user['username'], user['password'])}"}
    every = {"Host": "x", "Content-Length": str(len(body)), "Content-Type": "application/json", **login, **headers}
    reader, writer = await asyncio.open_connection("127.0.0.1", run.proxy.port)
    head = "".join(f"{name}: {value}\r\n" for name, value in every.items())
    writer.write(f"POST {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
    line = await asyncio.wait_for(reader.readline(), 30)
    writer.close()
    return line


async def test_a_protected_secret_is_not_to_be_had_and_the_others_are(run: Run, admin: Api) -> None:
    namespace = run.owner.namespace
    for name in ("own", "password"):
        code, said = await run.kubectl("create", "secret", "generic", name, "--from-literal=a=b")
        assert code == 0, said
    run.proxy.protection.protect("webhooks", [ProtectedObject("", "secrets", namespace, "own")])
    code, said = await run.kubectl("get", "secret", "own")
    assert (code, "is the operator's own" in said) == (1, True)
    for scope in ("--namespace", namespace), ("--all-namespaces", "--chunk-size=5"):
        code, said = await run.kubectl("get", "secrets", "--output=name", *scope)
        assert code == 0
        assert {"secret/own", "secret/password"} & set(said.split()) == {"secret/password"}
    code, said = await run.module("k8s_info", {"kind": "Secret", "namespace": namespace})
    assert code == 0
    assert ('"name": "password"' in said, '"name": "own"' in said) == (True, False)
