"""What the API proxy does with a role's requests, and which changes of dependents run the owner again."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from tests.parity.batches.common import ASK
from tests.parity.stage import Stage

WATCHES = """
- group: $GROUP
  version: v1
  kind: Owner
  role: asks
  blacklist: [{group: "", version: v1, kind: Secret}]
- {group: $GROUP, version: v1, kind: Wide, role: asks, watchClusterScopedResources: true}
- {group: $GROUP, version: v1, kind: Loner, role: asks, watchDependentResources: false}
- {group: $GROUP, version: v1, kind: Realm, role: asks}
"""
ONLY_REALM = """
- {group: $GROUP, version: v1, kind: Realm, role: asks}
"""
ONLY_LONER = """
- {group: $GROUP, version: v1, kind: Loner, role: asks}
"""
PAUSE, TRIES = 3.0, 30
"""Seconds between changes that wait for a watch to begin, and how many there are at most."""
YAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {day: 2001-01-01}\n"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def protobuf(name: str) -> str:
    """A ConfigMap as Kubernetes' clients in Go send it, in base64."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    body = field(1, field(1, name.encode())) + field(2, field(1, b"key") + field(2, b"value"))
    unknown = field(1, field(1, b"v1") + field(2, b"ConfigMap")) + field(2, body)
    return base64.b64encode(b"k8s\0" + unknown + field(3, b"") + field(4, b"")).decode()


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"a": "1"}}


def cluster_role(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [],
    }


class Places:
    """Paths of what the roles ask for."""

    def __init__(self, stage: Stage) -> None:
        self.other = f"{stage.namespace}-b"
        self.maps = f"/api/v1/namespaces/{stage.namespace}/configmaps"
        self.elsewhere = f"/api/v1/namespaces/{self.other}/configmaps"
        self.secrets = f"/api/v1/namespaces/{stage.namespace}/secrets"
        self.accounts = f"/api/v1/namespaces/{stage.namespace}/serviceaccounts"
        self.roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
        self.children = stage.path("Child")


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    stage.role("asks", ASK)
    stage.kinds("Owner", "Wide", "Loner", "Child")
    stage.kinds("Realm", scope="Cluster")
    places = Places(stage)
    stage.make_namespace(places.other)
    stage.cluster.call("POST", places.maps, config_map("there"))
    stage.cluster.call("POST", places.accounts, {"metadata": {"name": "account"}})
    facts |= {"group": stage.group, "namespace": stage.namespace, "uids": {}}
    flags = ("--max-concurrent-reconciles=1", "--reconcile-period=0s")
    with stage.operator(*flags, watches=WATCHES):
        requests(stage, places, facts)
        dependents(stage, places, facts)
    realm = f"realm-{stage.suffix}"
    stage.write(f"requests/{realm}.json", json.dumps([get("map", f"{places.maps}/realm")]))
    with stage.operator(*flags, watches=ONLY_REALM):
        stage.ran(realm, 2)
        owned = f"{places.maps}/realm"
        facts["recovered"] = until_runs(
            stage, realm, lambda n: stage.cluster.call("PATCH", owned, {"data": {"a": f"x{n}"}})
        )
    with stage.operator("--inject-owner-ref=false", *flags, watches=ONLY_LONER):
        ask(stage, "Loner", "plain", [post("map", places.maps, config_map("plain"))])
        facts["not injected"] = stage.cluster.call("GET", f"{places.maps}/plain")[1]
        facts["not injected answer"] = stage.told("plain")[0]["answers"]["map"]["status"]
        stage.cluster.call("DELETE", f"{places.maps}/plain")
        ask(stage, "Loner", "after-plain", [])
        facts["not injected runs"] = len(stage.told("plain"))
    for name in ("role", "realm", "wide"):
        stage.cluster.call("DELETE", f"{places.roles}/{name}-{stage.suffix}")
    stage.cluster.call("DELETE", f"/api/v1/namespaces/{places.other}")


def post(name: str, path: str, body: object, kind: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"id": name, "method": "POST", "path": path, "body": body, "headers": {"Content-Type": kind}, **more}


def get(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "method": "GET", "path": path, **more}


def ask(stage: Stage, kind: str, name: str, wanted: list[dict[str, Any]]) -> dict[str, Any]:
    """A custom resource whose role sends these requests, once it has run."""
    body = begin(stage, kind, name, wanted)
    settled(stage, kind, name)
    return body


def begin(stage: Stage, kind: str, name: str, wanted: list[dict[str, Any]]) -> dict[str, Any]:
    file = stage.write(f"requests/{name}.json", json.dumps(wanted))
    return stage.create(kind, name, {"file": str(file)})


def settled(stage: Stage, kind: str, name: str) -> None:
    stage.ran(name)
    stage.succeeded(kind, name)


def requests(stage: Stage, places: Places, facts: dict[str, Any]) -> None:
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "name": "there", "uid": there_uid(stage, places)}
    annotated = {"operator-sdk/primary-resource": "some/body", "mine": "kept"}
    nameless = {"metadata": {"name": "nameless"}}
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    put = {"id": "put", "method": "PUT", "path": f"{places.maps}/there", "body": config_map("there")}
    watch = f"{places.maps}?watch=true&timeoutSeconds=5"
    wanted = [
        post("json", places.maps, config_map("json")),
        post("yaml", places.maps, YAML, "application/yaml"),
        post("protobuf", places.maps, None, "application/vnd.kubernetes.protobuf", base64=protobuf("protobuf")),
        post("elsewhere", places.elsewhere, config_map("elsewhere", annotations=annotated)),
        post("role", places.roles, cluster_role(f"role-{stage.suffix}")),
        post("appended", places.maps, config_map("appended", ownerReferences=[foreign])),
        post("nameless", places.maps, nameless),
        post("secret", places.secrets, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "secret"}}),
        {**put, "headers": {"Content-Type": "application/json"}},
        {
            "id": "patch",
            "method": "PATCH",
            "path": f"{places.maps}/there",
            "body": {"data": {"b": "2"}},
            "headers": {"Content-Type": merge},
        },
        {
            "id": "apply",
            "method": "PATCH",
            "path": f"{places.maps}/applied?fieldManager=x",
            "body": config_map("applied"),
            "headers": {"Content-Type": apply},
        },
        post("subresource", f"{places.accounts}/account/token", token),
        post("review", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review),
        post(
            "unknown", "/apis/none.example.com/v1/things", {"apiVersion": "none.example.com/v1", "kind": "Thing"}
        ),
        post("again", places.maps, config_map("json")),
        get("absent", f"{places.maps}/absent"),
        get("version", "/version"),
        get("one", f"{places.maps}/there"),
        get("list", f"{places.maps}?limit=1"),
        get("selected", f"{places.maps}?labelSelector=a%20in%20(b)"),
        get("field", f"{places.maps}?fieldSelector=metadata.name%3Dthere"),
        get("table", f"{places.maps}/there", headers={"Accept": TABLE}),
        get("watch", watch, first_line=True),
        get("watch one", f"{watch}&fieldSelector=metadata.name%3Dthere", first_line=True),
        post("doomed", places.maps, config_map("doomed")),
        {"id": "delete", "method": "DELETE", "path": f"{places.maps}/doomed"},
    ]
    owner = ask(stage, "Owner", "asker", wanted)
    realm_role, realm_map = cluster_role(f"realm-{stage.suffix}"), config_map("realm")
    realm = ask(
        stage,
        "Realm",
        f"realm-{stage.suffix}",
        [post("map", places.maps, realm_map), post("role", places.roles, realm_role)],
    )
    facts["answers"] = stage.told("asker")[0]["answers"]
    facts["uids"] = {"owner": owner["metadata"]["uid"], "realm": realm["metadata"]["uid"]}
    facts["realm name"] = f"realm-{stage.suffix}"
    for name in ("json", "yaml", "protobuf", "appended", "nameless", "there", "applied", "realm"):
        facts[name] = stage.cluster.call("GET", f"{places.maps}/{name}")[1]
    facts["elsewhere"] = stage.cluster.call("GET", f"{places.elsewhere}/elsewhere")[1]
    facts["secret"] = stage.cluster.call("GET", f"{places.secrets}/secret")[1]
    for name in ("role", "realm"):
        facts[f"cluster {name}"] = stage.cluster.call("GET", f"{places.roles}/{name}-{stage.suffix}")[1]


def there_uid(stage: Stage, places: Places) -> str:
    return str(stage.cluster.call("GET", f"{places.maps}/there")[1]["metadata"]["uid"])


def reference(stage: Stage, kind: str, name: str, version: str = "v1") -> dict[str, str]:
    uid = stage.get(kind, name).get("metadata", {}).get("uid", "")
    return {"apiVersion": f"{stage.group}/{version}", "kind": kind, "name": name, "uid": uid}


def child(stage: Stage, name: str) -> dict[str, Any]:
    return {"apiVersion": f"{stage.group}/v1", "kind": "Child", "metadata": {"name": name}, "spec": {"a": 0}}


def dependents(stage: Stage, places: Places, facts: dict[str, Any]) -> None:
    """Who runs again when somebody else changes, or removes, what it made: an owner for each case."""
    wide, narrow = (f"{name}-{stage.suffix}" for name in ("wide", "narrow"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "blacklisted"}}
    made = {name: [post("map", places.maps, config_map(name))] for name in ("updated", "deleted", "alone")}
    made |= {name: [post("map", places.elsewhere, config_map(name))] for name in ("away-updated", "away-deleted")}
    made |= {name: [post("child", places.children, child(stage, name))] for name in ("child", "labels", "status")}
    made |= {"version": [], "created": [], "blacklisted": [post("secret", places.secrets, secret)]}
    made |= {
        name: [post("role", places.roles, cluster_role(f"{name}-{stage.suffix}"))] for name in ("wide", "narrow")
    }
    kinds = {"wide": "Wide", "alone": "Loner"}
    for name, wanted in made.items():
        begin(stage, kinds.get(name, "Owner"), name, wanted)
    for name in made:
        settled(stage, kinds.get(name, "Owner"), name)
    others = config_map("others", ownerReferences=[reference(stage, "Owner", "version", "v9")])
    stage.cluster.call("POST", places.maps, others)
    stage.patch(
        "Child", "status", {"status": {"ready": 1}}, sub="status"
    )  # a first one changes the managed fields

    def patch(path: str) -> Callable[[int], object]:
        return lambda n: stage.cluster.call("PATCH", path, {"data": {"a": f"x{n}"}})

    facts["updated"] = until_runs(stage, "updated", patch(f"{places.maps}/updated"))
    facts["away-updated"] = until_runs(stage, "away-updated", patch(f"{places.elsewhere}/away-updated"))
    facts["child"] = until_runs(stage, "child", lambda n: stage.patch("Child", "child", {"spec": {"a": n}}))
    labels = f"{places.roles}/{wide}"
    facts["wide"] = until_runs(
        stage, "wide", lambda n: stage.cluster.call("PATCH", labels, {"metadata": {"labels": {"n": f"x{n}"}}})
    )
    loud: dict[str, Callable[[], object]] = {
        "labels": lambda: stage.patch("Child", "labels", {"metadata": {"labels": {"a": "b"}}}),
        "version": lambda: patch(f"{places.maps}/others")(1),
        "deleted": lambda: stage.cluster.call("DELETE", f"{places.maps}/deleted"),
        "away-deleted": lambda: stage.cluster.call("DELETE", f"{places.elsewhere}/away-deleted"),
    }
    quiet: dict[str, Callable[[], object]] = {
        "status": lambda: stage.patch("Child", "status", {"status": {"ready": 2}}, sub="status"),
        "created": lambda: stage.cluster.call(
            "POST", places.maps, config_map("created", ownerReferences=[reference(stage, "Owner", "created")])
        ),
        "blacklisted": lambda: stage.cluster.call("DELETE", f"{places.secrets}/blacklisted"),
        "narrow": lambda: stage.cluster.call("DELETE", f"{places.roles}/{narrow}"),
        "alone": lambda: stage.cluster.call("DELETE", f"{places.maps}/alone"),
    }
    facts |= {name: runs > 0 for name, runs in runs_after(stage, loud, wait=True).items()}
    facts["put back"] = bool(
        stage.wait("the map to be back", lambda: stage.cluster.call("GET", f"{places.maps}/deleted")[0] == 200)
    )
    facts |= runs_after(stage, quiet, wait=False)
    facts["own writes"] = len(stage.told("asker"))


def until_runs(stage: Stage, name: str, change: Callable[[int], object]) -> bool:
    """Change with 1, 2, ... until it runs: the watch of dependents may only be starting."""
    before = len(stage.told(name))
    for number in range(1, TRIES + 1):
        change(number)
        if stage.comes(lambda: len(stage.told(name)) > before, seconds=PAUSE):
            return True
    return False


def runs_after(stage: Stage, causes: dict[str, Callable[[], object]], *, wait: bool) -> dict[str, int]:
    """How many runs each owner has after its cause; without `wait`, once markers have run after them."""
    before = {name: len(stage.told(name)) for name in causes}
    for cause in causes.values():
        cause()
    if wait:
        for name in causes:
            stage.ran(name, before[name] + 1)
    else:
        for kind in ("Owner", "Loner"):
            ask(stage, kind, f"marker-{kind.lower()}", [])
    return {name: len(stage.told(name)) - count for name, count in before.items()}
