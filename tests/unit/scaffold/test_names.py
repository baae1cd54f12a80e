"""Names of groups, versions, kinds and projects, and what is said of wrong ones."""

from __future__ import annotations

import pytest

from runner.errors import SettingsError
from runner.scaffold.names import Api, api, check_project


@pytest.mark.parametrize(
    ("group", "domain", "whole"),
    [
        ("web", "example.com", "web.example.com"),
        ("web.example.com", "", "web.example.com"),
        ("web.example.com", "example.com", "web.example.com"),
        ("example.com", "example.com", "example.com"),
        ("web.shop", "example.com", "web.shop.example.com"),
    ],
)
def test_a_group_gets_the_domain_of_the_project(group: str, domain: str, whole: str) -> None:
    assert api(group, "v1", "Website", domain) == Api(whole, "v1", "Website")


@pytest.mark.parametrize("version", ["v1", "v2", "v1alpha1", "v1beta12", "v10"])
def test_versions_are_those_of_kubernetes(version: str) -> None:
    assert api("web.example.com", version, "Website", "").version == version


@pytest.mark.parametrize(
    ("group", "version", "kind", "said"),
    [
        ("Web", "v1", "Website", "--group 'Web' is not a DNS name"),
        ("web_shop", "v1", "Website", "--group 'web_shop' is not a DNS name"),
        ("", "v1", "Website", "--group '' is not a DNS name"),
        ("web", "v1", "Website", "--group 'web' has no domain"),
        ("batch.k8s.io", "v1", "Website", "are Kubernetes' own"),
        ("web.example.com", "1", "Website", "--version '1' is not a version of an API, such as v1alpha1"),
        ("web.example.com", "v1alpha", "Website", "--version 'v1alpha'"),
        ("web.example.com", "v0", "Website", "--version 'v0'"),
        ("web.example.com", "v1", "website", "--kind 'website' is not in CamelCase, such as Website"),
        ("web.example.com", "v1", "web-site", "--kind 'web-site' is not in CamelCase, such as WebSite"),
        ("web.example.com", "v1", "1Site", "--kind '1Site' is not in CamelCase"),
        ("web.example.com", "v1", "SiteList", "is that of a list of objects"),
    ],
)
def test_a_wrong_name_is_refused_with_a_right_one(group: str, version: str, kind: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        api(group, version, kind, "")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        api("Web", "1", "website", "")
    assert [line.split()[0] for line in str(caught.value).splitlines()] == ["--group", "--version", "--kind"]


@pytest.mark.parametrize("name", ["Website", "web_site", "1st", "-web", "web-", "", "w" * 40])
def test_a_project_needs_a_name_that_objects_can_begin_with(name: str) -> None:
    with pytest.raises(SettingsError, match="--name"):
        check_project(name, "")


def test_a_domain_is_a_dns_name() -> None:
    with pytest.raises(SettingsError, match="--domain 'Example' is not a DNS name"):
        check_project("website", "Example")
