"""Which kind a word means."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.errors import UsageError
from runner.kube.discovery import Resource
from runner.kube.named import choose
from runner.objects import GroupVersionKind


def kind(kind: str, plural: str, group: str, *short: str) -> Resource:
    names = frozenset({plural, kind.lower(), *short})
    return Resource(GroupVersionKind(group, "v1", kind), plural, True, frozenset(), frozenset(), names)


SITES = kind("Site", "sites", "web.example.com", "si")
OTHER_SITES = kind("Site", "sites", "cdn.example.com")
CACHES = kind("Cache", "caches", "web.example.com")


@pytest.mark.parametrize(
    "text", ["si", "site", "sites", "Site", "SITE", "sites.web.example.com", "site.v1.web.example.com"]
)
def test_kind_is_found_as_kubectl_finds_it(text: str) -> None:
    assert choose(text, [SITES, CACHES], "none") is SITES


def test_group_tells_kinds_of_one_name_apart() -> None:
    assert choose("site.cdn.example.com", [SITES, OTHER_SITES], "none") is OTHER_SITES


def test_name_of_two_kinds_is_refused_with_both() -> None:
    with pytest.raises(UsageError, match=r"say sites\.cdn\.example\.com or sites\.web\.example\.com"):
        choose("sites", [SITES, OTHER_SITES], "none")


def test_the_core_group_goes_before_others() -> None:
    pods, other = kind("Pod", "pods", ""), kind("Pod", "pods", "web.example.com")
    assert choose("pods", [other, pods], "none") is pods


def test_of_two_versions_the_first_is_meant() -> None:
    newer = replace(SITES, gvk=GroupVersionKind("web.example.com", "v2", "Site"))
    assert choose("site", [newer, SITES], "none") is newer
    assert choose("site.v1.web.example.com", [newer, SITES], "none") is SITES


def test_a_word_that_nobody_is_meant_by_is_refused_as_the_caller_says() -> None:
    with pytest.raises(UsageError, match="there is none"):
        choose("pods", [SITES], "there is none")
