"""What a run in check mode may ask of the API server, and what its dry runs tell: which objects would change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from aiohttp import hdrs

from runner.differences import Difference, difference
from runner.errors import KubeError, NotFoundError, without_account
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.serve import forward
from runner.serve.forward import STREAMS, Target, is_upgrade, tokens

REFUSAL = (
    "check mode: the API proxy lets nothing pass that would change the cluster. Modules of kubernetes.core "
    "ask for a dry run by themselves; skip what cannot with `when: not ansible_check_mode`"
)
READS_ONLY = "tasks of admission may read the cluster, and change nothing: the API proxy lets only reads pass"
AMBIGUOUS = (
    "check mode and tasks of admission: the path holds an empty segment, a dot segment or an escaped slash, which "
    "another server might read differently; request the plain path of the object"
)
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups whose objects are questions: nothing of them is stored."""
CREATED = 201
_SEEN = frozenset({"", "scale"})
"""Subresources whose dry runs are compared; a status is nothing that drifts."""
_WAYS_IN = STREAMS - {"log"}
"""Subresources that lead into a container, a node or an application, by GET as well."""

log = structlog.get_logger(__name__)


def reads(method: str, target: Target | None) -> bool:
    """Whether the request only asks, a review of access included."""
    return not changes(method, target, has_body=False) and (method in _READS or _is_review(method, target))


def _is_review(method: str, target: Target | None) -> bool:
    return method == "POST" and target is not None and target.group in _REVIEWS


def changes(method: str, target: Target | None, *, has_body: bool) -> bool:
    """Whether the request may change something, or yields a credential with which others could.

    A deletion with a body may: the API server takes its options from there and forgets the URL's `dryRun`.
    A dry run of a token request is answered with a token that is valid.
    """
    if target is None:
        return method not in _READS
    if target.subresource in _WAYS_IN or (target.group, target.plural) == ("", "proxy"):
        return True  # whatever the method: the other end decides what a GET does
    if method in _READS or _is_review(method, target):
        return False
    if target.subresource == "token" or (method == "DELETE" and has_body):
        return True
    return not target.dry_run


def opens_stream(headers: Mapping[str, str]) -> bool:
    """Whether the request asks for a connection in both directions, as exec and consoles do."""
    return is_upgrade(headers) and tokens(headers, hdrs.UPGRADE) != {"h2c"}


class DryRuns:
    """The differences that one run was told of; `unread` says what could not be compared, and why."""

    def __init__(self) -> None:
        self.unread: list[str] = []
        self._found: dict[tuple[object, ...], Difference] = {}

    @property
    def differences(self) -> tuple[Difference, ...]:
        return tuple(self._found.values())

    def note(self, found: Difference | None) -> None:
        if found is not None:
            self._found[found.kind, found.namespace, found.name, found.paths] = found


def compared(method: str, target: Target | None) -> bool:
    """Whether the answer to a request tells what would change."""
    return (
        target is not None
        and target.dry_run
        and method in {"POST", "PUT", "PATCH", "DELETE"}
        and target.subresource in _SEEN
    )


class Comparing:
    """Reads live what a dry run was about, and notes the difference."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def note(
        self, dry_runs: DryRuns, method: str, raw_path: str, target: Target, *, status: int, raw: bytes
    ) -> None:
        """Take note of a successful answer to a dry run."""
        answer = forward.parsed(raw)
        if not isinstance(answer, dict):
            dry_runs.unread.append(f"{method} {target.plural}: the answer is no JSON object")
            return
        try:
            kind = await self._kind(target)
            if method == "DELETE" and not target.name:
                for item in answer.get("items") or ():
                    dry_runs.note(difference(kind, item, None))
                return
            live = None if status == CREATED else await self._live(raw_path)
        except (KubeError, OSError) as error:
            log.warning(
                "a dry run could not be compared", resource=target.plural, name=target.name, error=str(error)
            )
            dry_runs.unread.append(f"{target.plural} {target.name}: {without_account(str(error))}")
            return
        if method != "DELETE":
            dry_runs.note(difference(kind, live, answer))
        elif live is not None and not (live.get("metadata") or {}).get("deletionTimestamp"):
            dry_runs.note(difference(kind, live, None))

    async def _kind(self, target: Target) -> str:
        resource = await self._discovery.by_plural(target.group, target.version, target.plural)
        return resource.gvk.kind if resource is not None else target.plural

    async def _live(self, raw_path: str) -> dict[str, Any] | None:
        try:
            return dict(await self._client.request("GET", raw_path.partition("?")[0]))
        except NotFoundError:
            return None
