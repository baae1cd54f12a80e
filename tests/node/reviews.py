"""Reviews without a pause, as long as a test wants them: how many there were, and what failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kubernetes import config
from kubernetes.client import CustomObjectsApi
from kubernetes.client.exceptions import ApiException

from tests.node.cluster import Cluster

CLIENTS = 2


@dataclass
class Reviews:
    """`seconds` of each that was allowed, and the API server's words for each that was not."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def ask(self, api: CustomObjectsApi, namespace: str, plural: str, body: Mapping[str, Any]) -> None:
        """Once, as a dry run: nothing is stored."""
        start = time.monotonic()
        group, version = body["apiVersion"].split("/")
        try:
            api.create_namespaced_custom_object(group, version, namespace, plural, body, dry_run="All")
        except ApiException as error:
            self.failed.append(str(error.body))
        else:
            self.seconds.append(time.monotonic() - start)


@contextmanager
def under_way(cluster: Cluster, namespace: str, plural: str, body: Mapping[str, Any]) -> Iterator[Reviews]:
    """Have custom resources like `body` created, each of which is reviewed, until the context ends."""
    reviews, over = Reviews(), threading.Event()
    nameless = {**body, "metadata": {**body["metadata"], "name": None, "generateName": "reviewed-"}}

    def ask() -> None:
        with config.new_client_from_config(str(cluster.kubeconfig)) as client:
            while not over.is_set():
                reviews.ask(CustomObjectsApi(client), namespace, plural, nameless)

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
