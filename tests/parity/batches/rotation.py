"""Which artifacts stay: four runs of custom resources that ask for different numbers of them."""

from __future__ import annotations

from typing import Any

from tests.parity.batches.common import tell
from tests.parity.batches.values import ANNOTATION
from tests.parity.stage import Stage

WATCHES = """
- {group: $GROUP, version: v1, kind: Few, role: tell, maxRunnerArtifacts: 3}
- {group: $GROUP, version: v1, kind: All, role: tell, maxRunnerArtifacts: -1}
"""
RUNS = 4
WANTED = {"one": "1", "two": "2", "every": "0"}
"""Annotations of custom resources of the kind that keeps three."""


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    stage.role("tell", tell("mark"))
    stage.kinds("Few", "All")
    with stage.operator(watches=WATCHES):
        for name, count in WANTED.items():
            stage.create("Few", name, {"round": 1}, annotations={f"{ANNOTATION}max-runner-artifacts": count})
        stage.create("Few", "three", {"round": 1})
        stage.create("All", "all", {"round": 1})
        places = [("Few", name) for name in (*WANTED, "three")] + [("All", "all")]
        for number in range(1, RUNS + 1):
            for kind, name in places:
                stage.patch(kind, name, {"spec": {"round": number}})
            for kind, name in places:
                again(stage, kind, name, number)
        for kind, name in places:
            artifacts = stage.run_directory(kind, name) / "artifacts"
            facts[name] = len(
                [entry for entry in artifacts.iterdir() if entry.is_dir() and not entry.is_symlink()]
            )
            facts[f"{name} latest"] = (artifacts / "latest" / "rc").is_file()
            facts[f"{name} runs"] = len(stage.told(name))


def again(stage: Stage, kind: str, name: str, number: int) -> None:
    stage.ran(name, number)
    stage.succeeded(kind, name)
