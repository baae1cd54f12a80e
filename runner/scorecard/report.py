"""The results of a scorecard, for people and in operator-sdk's format. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from runner.scorecard.checks import Result
from runner.validate.bundle.files import SUITES

API_VERSION = "scorecard.operatorframework.io/v1alpha3"


def as_text(results: Iterable[Result]) -> str:
    """A line a test, below it what is wrong and what to do."""
    return "".join(line + "\n" for result in results for line in _lines(result))


def _lines(result: Result) -> Iterable[str]:
    yield f"{result.state}  {result.name}"
    yield from (f"      error: {error}" for error in result.errors)
    yield from (f"      do: {suggestion}" for suggestion in result.suggestions)


def as_json(results: Iterable[Result]) -> str:
    """A TestList, as `operator-sdk scorecard -o json` prints it."""
    tests = [_test(result) for result in results]
    return json.dumps({"kind": "TestList", "apiVersion": API_VERSION, "items": tests}, indent=2) + "\n"


def labels(name: str) -> dict[str, str]:
    """Those of a test, by which it is selected."""
    return {"suite": SUITES[name], "test": f"{name}-test"}


def _test(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"name": result.name, "log": result.log, "state": str(result.state)}
    for field in ("errors", "suggestions"):
        if said := getattr(result, field):
            found[field] = list(said)
    return {
        "kind": "Test",
        "apiVersion": API_VERSION,
        "spec": {
            "image": "",
            "entrypoint": ["scorecard-test", result.name],
            "labels": labels(result.name),
            "storage": {"spec": {"mountPath": {}}},
        },
        "status": {"results": [found]},
    }
