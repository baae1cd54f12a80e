"""What a request is about, read off its path as the API server reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, unquote_plus

NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
STREAMS = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose answer is somebody else's bytes, perhaps without an end."""

_FORWARDED = re.compile(r"/[!-~]*")
_NOT_ESCAPED = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Target:
    """The resource a request names. `namespace`, `name` and `subresource` are empty where the path has none."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False
    dry_run: bool = False


def parse_target(raw_path: str) -> Target | None:
    """The target of a raw path with query; None when it is not about a resource (`/version`, `/apis/apps/v1`)."""
    path, _, query = raw_path.partition("?")
    parts = unquote(path).strip("/").split("/")  # an encoded slash separates as well
    group, version, rest = _split_group(parts)
    if not rest:
        return None
    options = _options(query)
    watch = options.get("watch", "false").lower() not in {"false", "0"}
    if rest[0] == "watch":  # the old /api/v1/watch/... form
        rest, watch = rest[1:], True
    namespace, rest = _split_namespace(rest)
    if not rest or not rest[0]:
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    return Target(group, version, plural, namespace, name, subresource, watch, "dryRun" in options)


def forwardable(raw_path: str) -> bool:
    """Whether a request's target arrives as it is: a path of this server in ASCII, without a fragment."""
    return _FORWARDED.fullmatch(raw_path) is not None and "#" not in raw_path


def _options(query: str) -> dict[str, str]:
    """The first value of each, by Go's rules: what has a semicolon or a bad escape is no option."""
    pairs = [pair.partition("=") for pair in query.split("&") if ";" not in pair and not _NOT_ESCAPED.search(pair)]
    return {unquote_plus(name): unquote_plus(value) for name, _, value in reversed(pairs)}


def _split_group(parts: list[str]) -> tuple[str, str, list[str]]:
    match parts:
        case ["api", version, *rest]:
            return "", version, rest
        case ["apis", group, version, *rest]:
            return group, version, rest
        case _:
            return "", "", []


def _split_namespace(rest: list[str]) -> tuple[str, list[str]]:
    """`namespaces/x/pods/...` is about pods in x; `namespaces`, `namespaces/x[/status]` about a Namespace."""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in NAMESPACE_SUBRESOURCES:
        return rest[1], rest[2:]
    return "", rest
