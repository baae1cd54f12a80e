"""Who may pass the proxy: one grant per run, refused at once when the run is over, and the kubeconfig that holds
it.

Loopback is no border between the processes of a pod or a machine, hence the secrets. Two kinds of clients read
the kubeconfig. Python's send `username` and `password`. Go's (kubectl, helm) send no user's credentials over
plain HTTP, but those of the server's URL: so the URL needs a secret, too. kubernetes.core keeps one discovery
cache file per URL, so one run of an owner after another has the same URL. Grants that live at the same time never
share a secret, and those of reviews, which may only read, never have one of a run's.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import TracebackType
from typing import Any, Protocol

from runner.differences import Difference
from runner.marks import Marks
from runner.objects import LONGEST_NAME, GroupVersionKind, Owner
from runner.serve.checkmode import DryRuns
from runner.serve.dependents import OnWrite, OwnWrites, written
from runner.serve.forward import Target
from runner.serve.touched import Children, Touched

MOST_CALLS = 500
"""Calls of one run that are told from each other."""
MarkSource = Callable[[], Awaitable[Marks | None]]
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_TEXT = """\
---
apiVersion: v1
kind: Config
clusters:
- cluster:
    insecure-skip-tls-verify: true
    server: "http://{user}:{url_secret}@localhost:{port}"
  name: proxy-server
contexts:
- context:
    cluster: proxy-server
    user: admin/proxy-server
  name: {namespace}/proxy-server
current-context: {namespace}/proxy-server
preferences: {{}}
users:
- name: admin/proxy-server
  user:
    username: "{user}"
    password: "{run_secret}"
"""


async def no_marks() -> Marks | None:
    """Nothing is marked, and so nothing is pruned."""
    return None


class Connection(Protocol):
    """What can be cut at once: an asyncio transport."""

    def abort(self) -> None: ...


class Purpose(StrEnum):
    """What a grant is for."""

    RUN = "run"
    REVIEW = "review"


class Grant:
    """A run's permission to pass, for as long as the context is open; `kubeconfig` is then the text to hand to it.

    `slot` tells grants of one owner and purpose apart that live at the same time.

    `calls` are those that the run has made, as RBAC sees them: verb, group, resource, namespace, name.
    """

    def __init__(
        self,
        owner: Owner,
        purpose: Purpose,
        grants: Grants,
        children: Children | None,
        own: OwnWrites,
        key: MarkSource,
    ) -> None:
        self.owner = owner
        self._key = key
        self.purpose = purpose
        self.slot = 0
        self.touched: Touched | None = None
        self.marks: Marks | None = None
        self._on_write: OnWrite | None = None
        self._own = own
        self.kubeconfig = ""
        self.dry_runs: DryRuns | None = None
        self.reads_only = False
        self.calls: set[tuple[str, ...]] = set()
        self._children = children
        self._tokens: tuple[bytes, ...] = ()
        self._grants = grants
        self._open: dict[asyncio.Task[object], Connection] = {}

    @property
    def keeps(self) -> bool:
        """Whether anybody wants the objects of its own that the run wrote or read."""
        return self._children is not None

    @property
    def children(self) -> tuple[dict[str, Any], ...]:
        """The objects of its own that the run wrote or read, as last answered; none where nobody wants them."""
        return self._children.bodies() if self._children is not None else ()

    async def key(self) -> Marks | None:
        """Marks for the objects that the run creates; None while there is no key for them."""
        return await self._key()

    def take_account(self, on_write: OnWrite, marks: Marks | None = None) -> Touched:
        """From now on note what the run deals with, mark what it creates, and report its kinds and namespaces."""
        self.touched, self._on_write, self.marks = Touched(marks), on_write, marks
        return self.touched

    async def writes(self, kind: GroupVersionKind, namespace: str) -> None:
        """The run has a dependent there, or is about to."""
        if self._on_write is not None:
            await self._on_write(kind, namespace)

    async def own_write(self, method: str, write: Awaitable[object]) -> None:
        """Await a write of the operator's own that follows from this run, so that no run follows the write."""
        with self._own.under_way():
            for uid, version in written(method, await write):
                self._own.add(uid, version)

    def only_dry_runs(self) -> None:
        """From now on nothing passes that would change the cluster; what would change it is noted."""
        self.dry_runs = DryRuns()

    def only_reads(self) -> None:
        """From now on nothing but reads passes."""
        self.reads_only = True

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What the run would have changed, as far as its dry runs tell."""
        return self.dry_runs.differences if self.dry_runs is not None else ()

    @property
    def unread(self) -> tuple[str, ...]:
        """Of which dry runs it is not known what they would have changed, and why."""
        return tuple(self.dry_runs.unread) if self.dry_runs is not None else ()

    def saw(self, method: str, body: object, size: int) -> None:
        """Take note of an answer of so many bytes about one object, if it is one of the run's own."""
        if self._children is not None:
            self._children.saw(method, body, size)

    def called(self, method: str, target: Target) -> None:
        """Take note of a call."""
        call = call_of(method, target)
        if len(self.calls) < MOST_CALLS and all(len(part) <= LONGEST_NAME for part in call):
            self.calls.add(call)

    def __enter__(self) -> Grant:
        self.slot = self._grants.add(self)
        self.kubeconfig, self._tokens = self._grants.credentials(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.revoke()

    def revoke(self) -> None:
        """Refuse what comes from now on and cut what is open."""
        self._grants.discard(self)
        for request, connection in tuple(self._open.items()):
            request.cancel()  # not one step further, even if it could go on at this moment
            connection.abort()

    @contextmanager
    def passing(self, request: asyncio.Task[object], connection: Connection) -> Iterator[None]:
        """A request of this grant is under way: the asyncio task that sees to it, and where it came from."""
        self._open[request] = connection
        try:
            yield
        finally:
            del self._open[request]

    def accepts(self, token: bytes) -> bool:
        """Takes as long for a wrong token as for a right one."""
        return sum(hmac.compare_digest(known, token) for known in self._tokens) > 0


class Grants:
    """All grants of one proxy. `port` says where it listens, `keeps` of which owners' runs objects are kept.

    Both are asked when a grant is issued.
    """

    def __init__(
        self,
        port: Callable[[], int],
        keeps: Callable[[GroupVersionKind], bool],
        own: OwnWrites,
        marks: MarkSource = no_marks,
    ) -> None:
        self._port = port
        self._marks = marks
        self._keeps = keeps
        self._own = own
        self._key = secrets.token_bytes(32)
        self._alive: set[Grant] = set()
        self._fenced = False

    def issue(self, owner: Owner, purpose: Purpose = Purpose.RUN) -> Grant:
        """A grant for one run; it is worth something once it is entered."""
        children = Children(owner) if self._keeps(owner.gvk) else None
        return Grant(owner, purpose, self, children, self._own, self._marks)

    def add(self, grant: Grant) -> int:
        """The grant lives from now on; returns the lowest slot that no other has."""
        taken = {
            other.slot
            for other in self._alive
            if (other.owner.uid, other.purpose) == (grant.owner.uid, grant.purpose)
        }
        self._alive.add(grant)
        return next(slot for slot in itertools.count() if slot not in taken)

    def discard(self, grant: Grant) -> None:
        """The grant is worth nothing any more."""
        self._alive.discard(grant)

    def credentials(self, grant: Grant) -> tuple[str, tuple[bytes, ...]]:
        """The kubeconfig of a grant, and what its clients send; secret."""
        owner, run_secret = grant.owner, secrets.token_urlsafe(32)
        part = json.dumps((owner.uid, grant.purpose, grant.slot)).encode()
        url_secret = hmac.new(self._key, part, hashlib.sha256).hexdigest()
        text = render(owner, self._port(), url_secret=url_secret, run_secret=run_secret)
        return text, tuple(basic(user_of(owner), secret).encode() for secret in (run_secret, url_secret))

    def find(self, authorization: str | None) -> Grant | None:
        """The living grant that an Authorization header belongs to."""
        scheme, _, token = (authorization or "").partition(" ")
        if self._fenced or scheme.lower() != "basic":
            return None
        presented = token.strip().encode(errors="replace")
        return next((grant for grant in self._alive if grant.accepts(presented)), None)

    def refuse_all(self) -> None:
        """Nothing passes from now on, also no later grant: somebody else may be the leader by now."""
        self._fenced = True
        for grant in tuple(self._alive):
            grant.revoke()


def call_of(method: str, target: Target) -> tuple[str, ...]:
    """A call as RBAC sees it: verb, group, resource with its subresource, namespace, name."""
    if method == "DELETE":
        verb = "delete" if target.name else "deletecollection"
    else:
        verb = _VERBS.get(method) or ("watch" if target.watch else "get" if target.name else "list")
    resource = f"{target.plural}/{target.subresource}" if target.subresource else target.plural
    return verb, target.group, resource, target.namespace, target.name


def user_of(owner: Owner) -> str:
    """Who asks: padded base64 of the owner as the Go operator's proxy reads it (its alphabet needs no quoting)."""
    who = {
        "apiVersion": owner.gvk.api_version,
        "kind": owner.gvk.kind,
        "name": owner.name,
        "uid": owner.uid,
        "Namespace": owner.namespace,
    }
    return base64.b64encode(json.dumps(who, separators=(",", ":")).encode()).decode()


def basic(user: str, secret: str) -> str:
    """What follows `Basic` in the Authorization header."""
    return base64.b64encode(f"{user}:{secret}".encode()).decode()


def render(owner: Owner, port: int, *, url_secret: str, run_secret: str) -> str:
    """The text of the file."""
    return _TEXT.format(
        user=user_of(owner),
        port=port,
        namespace=owner.namespace,
        url_secret=url_secret,
        run_secret=run_secret,
    )
