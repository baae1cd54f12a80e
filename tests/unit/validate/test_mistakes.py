"""Mistakes in watches, CRDs, samples and RBAC: `validate` finds each, at its line, and nothing else with it."""

from __future__ import annotations

import pytest

from tests.unit.validate.conftest import Sound
from tests.unit.validate.mistakes import Mistake, check

MEMCACHED = "config/crd/bases/cache.example.com_memcacheds.yaml"
RBAC = "config/rbac/role.yaml"
MISTAKES = (
    Mistake(
        "a field of watches that nobody reads",
        rule="watch-unknown-field",
        place="watches.yaml:19",
        says="[1].reconcilPeriod: unknown field, ignored; did you mean reconcilePeriod?",
        change={"watches.yaml": ("reconcilePeriod", "reconcilPeriod")},
    ),
    Mistake(
        "a watched version that is not served",
        rule="crd-not-served",
        place=f"{MEMCACHED}:16",
        says="spec.versions[0].served: v1alpha1 is watched and not served: set it to true",
        change={MEMCACHED: ("served: true", "served: false")},
    ),
)


def test_a_good_project_has_no_findings(good: Sound) -> None:
    assert good.validate() == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_the_mistake_is_found_where_it_is(good: Sound, mistake: Mistake) -> None:
    check(good, mistake)
