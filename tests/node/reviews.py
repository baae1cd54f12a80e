"""Reviews without a pause, as long as a test wants them: how many there were, and what failed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from runner.dev.api import Api
from tests.node.cluster import Cluster

CLIENTS = 2


@dataclass
class Reviews:
    """`seconds` of each that was allowed, and the API server's words for each that was not."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def ask(self, api: Api, path: str, body: str) -> None:
        """Once, as a dry run: nothing is stored."""
        start = time.monotonic()
        status, answer = api.send("POST", f"{path}?dryRun=All", body)
        if status == 201:
            self.seconds.append(time.monotonic() - start)
        else:
            self.failed.append(answer)


@contextmanager
def under_way(cluster: Cluster, path: str, body: Mapping[str, Any]) -> Iterator[Reviews]:
    """Have objects created at `path` of the API server, each of which it has reviewed, until the context ends."""
    reviews, over = Reviews(), threading.Event()
    text = json.dumps({**body, "metadata": {**body["metadata"], "name": None, "generateName": "reviewed-"}})

    def ask() -> None:
        api = cluster.plane.api()
        while not over.is_set():
            reviews.ask(api, path, text)

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield reviews
    finally:
        over.set()
        for client in clients:
            client.join()
        allowed, slowest = len(reviews.seconds), max(reviews.seconds, default=0.0)
        print(f"{allowed} reviews were allowed, {len(reviews.failed)} failed, at most {slowest:.1f} s each")
