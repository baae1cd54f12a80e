"""Who may pass the proxy: one grant per run, refused at once when the run is over.

Loopback is no border between the processes of a pod or a machine, hence the secrets.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

from runner.objects import Owner
from runner.serve.kubeconfig import basic, render, user_of


class Connection(Protocol):
    """What can be cut at once: an asyncio transport."""

    def abort(self) -> None: ...


@dataclass(slots=True)
class Counts:
    """What a run asked for: answered reads, successful writes, and its own objects as they were answered last."""

    reads: int = 0
    writes: int = 0
    children: dict[str, dict[str, Any]] = field(default_factory=dict)


class Grant:
    """A run's permission to pass, for as long as the context is open; `kubeconfig` is the text to hand to it."""

    def __init__(self, owner: Owner, kubeconfig: str, tokens: tuple[bytes, ...], grants: set[Grant]) -> None:
        self.owner = owner
        self.kubeconfig = kubeconfig
        self.counts = Counts()
        self._tokens = tokens
        self._grants = grants
        self._open: dict[asyncio.Task[object], Connection] = {}

    @property
    def children(self) -> tuple[dict[str, Any], ...]:
        """The objects of its own that the run wrote or read, as the API server last answered them."""
        return tuple(self.counts.children.values())

    def saw(self, method: str, body: object) -> None:
        """Take note of an answer about one object, if it is one of the run's own."""
        meta = body.get("metadata") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(meta, dict) or meta.get("uid") in (None, self.owner.uid):
            return
        if method == "DELETE":
            self.counts.children.pop(meta["uid"], None)
        elif method != "GET" or any(ref.get("uid") == self.owner.uid for ref in meta.get("ownerReferences") or ()):
            rest = {name: value for name, value in meta.items() if name != "managedFields"}
            self.counts.children[meta["uid"]] = {**body, "metadata": rest}

    def __enter__(self) -> Grant:
        self._grants.add(self)
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
    """All grants of one proxy. `port` says where the proxy listens; it is asked when a grant is issued."""

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port
        self._key = secrets.token_bytes(32)
        self._alive: set[Grant] = set()
        self._fenced = False

    def issue(self, owner: Owner) -> Grant:
        """A grant for one run; it is worth something once it is entered."""
        run_secret = secrets.token_urlsafe(32)
        owner_secret = hmac.new(self._key, owner.uid.encode(), hashlib.sha256).hexdigest()
        text = render(owner, self._port(), owner_secret=owner_secret, run_secret=run_secret)
        user = user_of(owner)
        tokens = tuple(basic(user, secret).encode() for secret in (run_secret, owner_secret))
        return Grant(owner, text, tokens, self._alive)

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
