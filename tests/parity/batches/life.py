"""How an operator starts, lives and ends: its exit codes, and what it leaves behind."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from tests.parity.batches.common import tell
from tests.parity.operator import Operator
from tests.parity.stage import Stage, conditions

WATCHES = """
- {group: $GROUP, version: v1, kind: Slow, role: slow}
"""
TWO_GROUPS = """
- {group: $GROUP, version: v1, kind: Slow, role: slow}
- {group: other.$GROUP, version: v1, kind: Slow, role: slow}
- {group: $GROUP, version: v1, kind: Late, role: slow}
"""
ROLE = (
    tell("mark")
    + """
- name: Take a while
  ansible.builtin.command: "sleep {{ seconds }}"
"""
)


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    stage.role("slow", ROLE)
    stage.kinds("Slow")
    stage.kinds("Slow", group=f"other.{stage.group}")
    empty(stage, facts)
    late(stage, facts)
    graceful(stage, facts)
    cut_short(stage, facts)
    twice(stage, facts)


def empty(stage: Stage, facts: dict[str, Any]) -> None:
    """No watches at all, and SIGINT."""
    with stage.operator(watches="[]\n") as operator:
        facts["empty ready"] = operator.alive and operator.is_ready()
        operator.signal(signal.SIGINT)
        facts["interrupted code"] = operator.ended()


def late(stage: Stage, facts: dict[str, Any]) -> None:
    """Two kinds of one name, and one whose CRD comes only later."""
    stage.write("watches.yaml", TWO_GROUPS)
    with stage.operator(wait=False) as operator:
        facts["absent ready"] = operator.ask(operator.health, "/readyz")[0] if listens(stage, operator) else 0
        stage.create("Slow", "first", {"seconds": 0})
        facts["beside absent"] = stage.ran("first")
        facts["two groups"] = operator.alive
        stage.kinds("Late")
        stage.create("Late", "late", {"seconds": 0})
        facts["late"] = stage.ran("late")
        facts["late ready"] = bool(stage.wait("the operator to be ready", operator.is_ready))
        stage.delete("Slow", "first")
        stage.delete("Late", "late")
        facts["idle code"] = operator.stop()


def listens(stage: Stage, operator: Operator) -> bool:
    return bool(stage.wait("the probes to listen", lambda: operator.ask(operator.health, "/readyz")[0]))


def begun(stage: Stage, name: str, seconds: int) -> None:
    stage.create("Slow", name, {"seconds": seconds})
    stage.ran(name)


def graceful(stage: Stage, facts: dict[str, Any]) -> None:
    """SIGTERM during a short run, of an operator that leads by a Lease."""
    flags = ("--leader-elect", f"--leader-election-namespace={stage.namespace}")
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{stage.namespace}/leases/chosen"
    environment = {"OPERATOR_NAME": "chosen"}
    with stage.operator(*flags, watches=WATCHES, environment=environment) as operator:
        begun(stage, "graceful", 2)
        facts["lease"] = stage.cluster.call("GET", lease)[1].get("spec", {})
        facts["leader metric"] = operator.ask(operator.metrics, "/metrics")[1]
        code = operator.stop()
        found = conditions(stage.get("Slow", "graceful"))
        facts["released"] = stage.cluster.call("GET", lease)[1].get("spec", {}).get("holderIdentity")
        facts["graceful"] = (code, found.get("Successful", {}).get("status"))
        stage.delete("Slow", "graceful")


def cut_short(stage: Stage, facts: dict[str, Any]) -> None:
    with stage.operator(
        "--graceful-shutdown-timeout=1s", watches=WATCHES, environment={"MARK": stage.suffix}
    ) as operator:
        begun(stage, "cut", 1000)
        facts["cut short code"] = operator.stop()
        facts["cut short left"] = processes(stage.suffix)
        stage.delete("Slow", "cut")


def twice(stage: Stage, facts: dict[str, Any]) -> None:
    with stage.operator(watches=WATCHES, environment={"MARK": stage.suffix}) as operator:
        begun(stage, "twice", 1000)
        operator.signal(signal.SIGTERM)
        stage.wait("the operator to stop", lambda: "topping" in operator.stderr() or not operator.alive)
        operator.signal(signal.SIGTERM)
        facts["twice code"] = operator.ended()
        stage.wait("the run to be gone", lambda: not processes(stage.suffix))
        facts["twice left"] = processes(stage.suffix)
        stage.delete("Slow", "twice")


def processes(mark: str) -> list[str]:
    """Processes that inherited the operator's variable MARK."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"MARK={mark}".encode() in environ.read_bytes().split(b"\0"):
                found.append((environ.parent / "comm").read_text().strip())
        except OSError:
            continue
    return found
