"""What the sample operator takes in its pod, in memory and seconds: `python -m tests.node figures`."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bench.audit import AuditLog
from bench.observer import Observer, condition
from tests.fixtures.containers import OUT
from tests.fixtures.manifests import NAMESPACE
from tests.node import operators
from tests.node.cluster import Cluster
from tests.node.waiting import wait_for

Figure = tuple[str, str]
MIB = 1 << 20
ROUNDS, ONE_BY_ONE, AT_ONCE = 3, 20, 60
API, KIND = "sample.example.com/v1alpha1", "Memcached"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:"
# Five seconds of what the kubelet calls the working set: what is used, without the cache that can go at once.
SAMPLES = """
place=/sys/fs/cgroup/memory used=usage_in_bytes cache=total_inactive_file
[ -e $place/memory.$used ] || { place=/sys/fs/cgroup used=current cache=inactive_file; }
for each in $(seq 25); do
    echo $(cat $place/memory.$used) $(sed -n "s/^$cache //p" $place/memory.stat)
    sleep 0.2
done
"""


def figures(cluster: Cluster) -> Iterator[Figure]:
    """Install the operator, and measure one after the other; the cluster has its image. Raises DevError."""
    operators.install(cluster)
    seen = Observer(cluster.kubeconfig)
    try:
        yield "image, unpacked", f"{_image_bytes() / 1e6:.0f} MB"
        yield "from no replica to Ready", _seconds([_start(cluster) for _ in range(ROUNDS)])
        yield "memory at rest", _mebibytes(_memory(cluster, _pods(cluster)[0]), statistics.median)
        yield "created to Successful, one by one", _seconds([_one(seen, number) for number in range(ONE_BY_ONE)])
        yield from _many(cluster, seen)
        operators.scale(cluster, 2)
        (standby,) = (pod for pod in _pods(cluster) if pod != operators.leader(cluster))
        yield "memory of a standby at rest", _mebibytes(_memory(cluster, standby), statistics.median)
        yield "leader deleted to another leads", _seconds([_taken_over(cluster) for _ in range(ROUNDS)])
    finally:
        seen.close()
        operators.uninstall(cluster)


def _image_bytes() -> int:
    files = (path.lstat() for path in (OUT / "sample-root").rglob("*") if not path.is_dir())
    return sum({(file.st_dev, file.st_ino): file.st_size for file in files}.values())


def _start(cluster: Cluster) -> float:
    operators.stop(cluster)
    begin = time.monotonic()
    cluster.kubectl("scale", operators.DEPLOYMENT, "-n", NAMESPACE, "--replicas=1")
    wait = ("wait", "--for=condition=Available", operators.DEPLOYMENT, "-n", NAMESPACE, "--timeout=60s")
    cluster.kubectl(*wait, seconds=70)
    return time.monotonic() - begin


def _one(seen: Observer, number: int) -> float:
    begin = _create(seen, f"one-{number}")
    wait_for("it to be Successful", lambda: _successful(seen, f"one-{number}"), seconds=60, every=0.02)
    return time.monotonic() - begin


def _many(cluster: Cluster, seen: Observer) -> Iterator[Figure]:
    names = [f"many-{number}" for number in range(AT_ONCE)]
    pod, audit, used = _pods(cluster)[0], AuditLog(cluster.audit_log), list[int]()
    begin = time.monotonic()
    for name in names:
        _create(seen, name)
    while not all(_successful(seen, name) for name in names):
        used += _memory(cluster, pod)
    yield f"{AT_ONCE} at once, all Successful", f"within {time.monotonic() - begin:.0f} s, seen every 5 s"
    yield f"memory at most, of {_limit(cluster)}", _mebibytes(used, max)
    asked = Counter(one.verb for one in audit.requests(lambda one: one.user.startswith(ACCOUNT)))
    told = ", ".join(f"{count / AT_ONCE:.1f} {verb}" for verb, count in asked.most_common() if count >= AT_ONCE)
    yield "requests of the operator and its runs, for each", f"{asked.total() / AT_ONCE:.1f}: {told}"
    yield "restarts", str(_restarts(cluster))


def _taken_over(cluster: Cluster) -> float:
    operators.rolled_out(cluster, reviews=False)
    leader = wait_for("a leader", lambda: operators.leader(cluster), seconds=60)
    begin = time.monotonic()
    cluster.kubectl("delete", "pod", leader, "-n", NAMESPACE, "--wait=false")
    wait_for("another", lambda: operators.leader(cluster) not in ("", leader), seconds=60)
    return time.monotonic() - begin


def _create(seen: Observer, name: str) -> float:
    """When it was asked for. Its Deployment has no pods, for which the node would have no room in the end."""
    begin = time.monotonic()
    seen.create({"apiVersion": API, "kind": KIND, "metadata": {"name": name}, "spec": {"size": 0}})
    return begin


def _successful(seen: Observer, name: str) -> bool:
    return bool(condition(seen.get(API, KIND, name), "Successful").get("status") == "True")


def _memory(cluster: Cluster, pod: str) -> list[int]:
    """Bytes, for five seconds."""
    lines = cluster.kubectl("exec", pod, "-n", NAMESPACE, "--", "sh", "-c", SAMPLES).splitlines()
    return [int(used) - int(cache) for used, cache in map(str.split, lines)]


def _pods(cluster: Cluster) -> list[str]:
    return [body["metadata"]["name"] for body in operators.pods(cluster)]


def _restarts(cluster: Cluster) -> int:
    return sum(
        each["restartCount"] for pod in operators.pods(cluster) for each in pod["status"]["containerStatuses"]
    )


def _limit(cluster: Cluster) -> str:
    return str(operators.pods(cluster)[0]["spec"]["containers"][0]["resources"]["limits"]["memory"])


def _seconds(measured: Sequence[float]) -> str:
    return (
        f"{statistics.median(measured):.2f} s ({min(measured):.2f} to {max(measured):.2f}, {len(measured)} times)"
    )


def _mebibytes(measured: Sequence[int], chosen: Callable[[Sequence[int]], float]) -> str:
    return f"{chosen(measured) / MIB:.0f} MiB"
