from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

import pytest

from runner.commands.once import for_one_run, held
from runner.config.settings import Settings

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def lease(namespace: str, renewed: str, holder: str = "me", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": namespace, "name": "lock"},
        "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15, **spec},
    }


def test_lease_that_was_renewed_of_late_is_held() -> None:
    assert held([lease("shop", "2026-01-01T11:59:50.000000Z")], NOW) == ["shop/lock by me"]


@pytest.mark.parametrize(
    "free",
    [
        lease("shop", "2026-01-01T11:59:40.000000Z"),
        lease("shop", "2026-01-01T11:59:59.000000Z", holder=""),
        lease("kube-system", "2026-01-01T11:59:59.000000Z"),
        lease("shop", "never"),
        {"metadata": {"namespace": "shop", "name": "lock"}},
    ],
    ids=["expired", "released", "Kubernetes' own", "unreadable", "empty"],
)
def test_any_other_lease_is_not(free: dict[str, Any]) -> None:
    assert held([free], NOW) == []


def flags(**given: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"check": False, "diff": False, "verbose": 0, **given})


@pytest.mark.parametrize("given", ["--forks 2", "'--forks 2'"])
def test_check_and_diff_are_ansible_playbooks_own(given: str) -> None:
    settings = for_one_run(Settings(ansible_args=given), flags(check=True, diff=True))
    assert settings.ansible_args == "--forks 2 --check --diff"


def test_output_is_as_short_as_ansible_playbooks_unless_more_is_asked_for() -> None:
    assert for_one_run(Settings(), flags()).ansible_verbosity == 0
    assert for_one_run(Settings(), flags(verbose=3)).ansible_verbosity == 3
