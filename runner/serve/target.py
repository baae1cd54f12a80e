"""What a request is about, read off its path as the API server reads it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
STREAMS = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose answer is somebody else's bytes, perhaps without an end."""


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
    parts = [unquote(part) for part in path.split("/") if part]
    group, version, rest = _split_group(parts)
    if not rest:
        return None
    options = parse_qs(query, keep_blank_values=True) if query else {}
    watch = options.get("watch", ["false"])[0].lower() not in {"false", "0", ""}
    if rest[0] == "watch":  # the old /api/v1/watch/... form
        rest, watch = rest[1:], True
    namespace, rest = _split_namespace(rest)
    if not rest:
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    return Target(group, version, plural, namespace, name, subresource, watch, "dryRun" in options)


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
