"""A kind as people name it on a command line: plural, singular, kind or short name, with its group if need be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from runner.config.settings import ClusterSettings
from runner.errors import ApiError, UsageError
from runner.kube.client import Client
from runner.kube.credentials import find_login
from runner.kube.discovery import Resource, resources_of, root
from runner.objects import Body

DEFAULT = "default"
"""The namespace where neither the command line nor the kubeconfig names one."""


@dataclass(frozen=True, slots=True)
class Context:
    """A client with the credentials of a person, and the namespace that their kubeconfig names."""

    client: Client
    namespace: str


@asynccontextmanager
async def in_context(cluster: ClusterSettings) -> AsyncIterator[Context]:
    """For a short command: credentials are read once. Raises CredentialsError."""
    login = await asyncio.to_thread(find_login, cluster)
    credentials = await asyncio.to_thread(login)
    client = await Client.connect(cluster, login=lambda: credentials)
    try:
        yield Context(client, credentials.info.default_namespace or DEFAULT)
    finally:
        await client.close()


async def find_kind(client: Client, word: str) -> Resource:
    """The resource that kubectl would take for `word`: of several groups the core group's.

    Raises UsageError for one that no group or more than one has; ApiError and UnreachableError.
    """
    place = word.lower().partition(".")[2]
    groups = [group for group in await _groups(client) if place in ("", *_names(*group))]
    answers = await asyncio.gather(*(_served(client, *group) for group in groups))
    found = [
        resource
        for group, entries in zip(groups, answers, strict=True)
        for resource in resources_of(*group, entries)
    ]
    nobody = (
        f"the API server has no kind {word!r}: name it by its kind, plural, singular or short name, if "
        "need be with its group, such as memcacheds.cache.example.com"
    )
    return choose(word, found, nobody)


def choose(word: str, known: Iterable[Resource], nobody: str) -> Resource:
    """The one that `word` means: of several versions the first, of several groups the core group's.

    Raises UsageError: with `nobody` where it means none of them, or where it may be any of several groups'.
    """
    found: dict[str, Resource] = {}
    for resource in known:
        if resource.gvk.is_meant(word, resource.names):
            found.setdefault(resource.gvk.group, resource)
    if not found:
        raise UsageError(nobody)
    if len(found) > 1 and "" not in found:
        choices = " or ".join(sorted(f"{resource.plural}.{group}" for group, resource in found.items()))
        raise UsageError(f"several groups have a kind {word!r}: say {choices}")
    return found.get("") or next(iter(found.values()))


async def _groups(client: Client) -> list[tuple[str, str]]:
    """Every group with its versions, the preferred one first; the core group before all others."""
    answer = await client.request("GET", "/apis")
    found = [("", "v1")]
    for group in answer.get("groups") or ():
        preferred = group["preferredVersion"]["version"]
        versions = dict.fromkeys([preferred, *(each["version"] for each in group.get("versions") or ())])
        found += [(group["name"], version) for version in versions]
    return found


def _names(group: str, version: str) -> tuple[str, str]:
    return group, f"{version}.{group}"


async def _served(client: Client, group: str, version: str) -> list[Body]:
    """What a version of a group serves; nothing where that cannot be said, because who serves it is away."""
    try:
        answer = await client.request("GET", root(group, version), tries=1)
    except ApiError:
        return []
    return list(answer.get("resources") or ())
