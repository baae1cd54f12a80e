"""The names that people give: of projects, groups, versions and kinds. A wrong one is told of a right one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.errors import SettingsError

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_LONGEST_LABEL = 63
# `NAME-controller-manager-metrics` has to be the name of a Service.
_LONGEST_PROJECT = _LONGEST_LABEL - len("-controller-manager-metrics")
# What the API server itself has, and nobody else may define.
_RESERVED = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")


@dataclass(frozen=True, slots=True)
class Api:
    """A kind of a version of a group."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, kind {self.kind}"


def api(group: str, version: str, kind: str, domain: str) -> Api:
    """The API of those words, its group below `domain`. Raises SettingsError with all that is wrong with them."""
    whole = group if not domain or group == domain or group.endswith(f".{domain}") else f"{group}.{domain}"
    problems = [*_group_problems(group, whole), *_version_problems(version), *_kind_problems(kind)]
    if problems:
        raise SettingsError("\n".join(problems))
    return Api(whole, version, kind)


def check_project(name: str, domain: str) -> None:
    """Raises SettingsError where one of them cannot be used."""
    if not re.fullmatch(_LABEL, name) or not name[0].isalpha() or len(name) > _LONGEST_PROJECT:
        raise SettingsError(
            f"the project cannot be named {name!r}: its objects' names begin with it, so it takes at most"
            f" {_LONGEST_PROJECT} lower-case letters, digits and `-`, a letter first, such as website-operator;"
            " give one with --name"
        )
    if domain and not _SUBDOMAIN.fullmatch(domain):
        raise SettingsError(f"--domain {domain!r} is not a DNS name, such as example.com")


def stem(kind: str) -> str:
    """What files, roles and playbooks of a kind are named after."""
    return kind.lower()


def _group_problems(group: str, whole: str) -> list[str]:
    if not _SUBDOMAIN.fullmatch(group) or len(whole) > 4 * _LONGEST_LABEL:
        return [f"--group {group!r} is not a DNS name: write lower-case letters, digits and `-`, such as web"]
    if "." not in whole:
        return [
            f"--group {group!r} has no domain, and such groups are Kubernetes' own: write"
            f" --group {group}.example.com, or give the project a `domain` in PROJECT"
        ]
    if _RESERVED.fullmatch(whole):
        return [f"--group {group!r}: groups below k8s.io and kubernetes.io are Kubernetes' own"]
    return []


def _version_problems(version: str) -> list[str]:
    if _VERSION.fullmatch(version):
        return []
    return [f"--version {version!r} is not a version of an API, such as v1alpha1, v1beta2 or v1"]


def _kind_problems(kind: str) -> list[str]:
    if not _KIND.fullmatch(kind) or len(kind) > _LONGEST_LABEL:
        better = _camel(kind)
        return [f"--kind {kind!r} is not in CamelCase, such as {better or 'Website'}"]
    if kind.endswith("List"):
        return [f"--kind {kind!r}: a name that ends in List is that of a list of objects; take another one"]
    return []


def _camel(text: str) -> str:
    parts = re.findall(r"[A-Za-z0-9]+", text)
    joined = "".join(part[:1].upper() + part[1:] for part in parts)
    return joined if _KIND.fullmatch(joined) else ""
