"""The key of marks survives restarts: in a Secret in a pod, in a file elsewhere."""

from __future__ import annotations

import json
import stat
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from runner.config.settings import ClusterSettings, Settings
from runner.kube.mark_key import AGAIN_AFTER, MarkKey, _read_or_create
from runner.marks import ObjectName
from tests.contract.standin import Bench
from tests.fixtures.clock import FakeClock

IN_POD = Settings(cluster=ClusterSettings(service_host="10.0.0.1"), leader_election_id="shop-operator")
NAME = ObjectName("", "ConfigMap", "shop", "a")
SECRETS = "/api/v1/namespaces/default/secrets"


@dataclass
class Secrets:
    """The Secrets of a namespace, on a scripted API server."""

    stored: dict[str, Any] = field(default_factory=dict)
    refused: int = 0
    creator: str = ""
    """A replica that creates the Secret first."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if self.refused:
            return web.json_response(
                {"kind": "Status", "message": "no", "code": self.refused}, status=self.refused
            )
        if request.method == "POST":
            body = json.loads(await request.read())
            if self.creator:
                self.stored[body["metadata"]["name"]] = secret(self.creator)
            if body["metadata"]["name"] in self.stored:
                return web.json_response({"kind": "Status", "reason": "AlreadyExists"}, status=409)
            self.stored[body["metadata"]["name"]] = body
            return web.json_response(body, status=201)
        name = request.path.rpartition("/")[2]
        if name not in self.stored:
            return web.json_response({"kind": "Status", "reason": "NotFound"}, status=404)
        return web.json_response(self.stored[name])


def secret(key: str) -> dict[str, Any]:
    return {"kind": "Secret", "data": {"key": b64encode(key.encode()).decode()}}


async def mark(key: MarkKey) -> str:
    marks = await key.marks()
    return marks.mark("uid", NAME) if marks is not None else ""


@pytest.fixture
def stored(bench: Bench) -> Secrets:
    bench.answer = Secrets()
    return bench.answer


async def test_the_first_pod_creates_the_secret_and_every_other_reads_it(bench: Bench, stored: Secrets) -> None:
    first = await mark(MarkKey(bench.client, IN_POD))
    assert stored.stored["shop-operator-prune-key"]["immutable"] is True
    assert await mark(MarkKey(bench.client, IN_POD)) == first != ""


async def test_of_two_replicas_that_start_together_both_use_the_key_that_was_created(
    bench: Bench, stored: Secrets
) -> None:
    stored.creator = "k" * 32
    first = await mark(MarkKey(bench.client, IN_POD))
    assert await mark(MarkKey(bench.client, IN_POD)) == first != ""


async def test_the_key_is_read_once(bench: Bench, stored: Secrets) -> None:
    key = MarkKey(bench.client, IN_POD)
    await mark(key)
    asked = len(bench.seen)
    await mark(key)
    assert len(bench.seen) == asked


async def test_a_key_that_may_not_be_read_is_looked_for_again_after_a_while(bench: Bench, stored: Secrets) -> None:
    clock = FakeClock()
    key = MarkKey(bench.client, IN_POD, clock.clock())
    stored.refused = 403
    assert await mark(key) == ""
    stored.refused = 0
    assert await mark(key) == ""
    clock.advance(AGAIN_AFTER)
    assert await mark(key) != ""


async def test_a_secret_without_a_key_marks_nothing(bench: Bench, stored: Secrets) -> None:
    stored.stored["shop-operator-prune-key"] = secret("short")
    assert await mark(MarkKey(bench.client, IN_POD)) == ""


async def test_outside_of_pods_the_key_is_a_private_file_that_stays(bench: Bench, tmp_path: Path) -> None:
    settings = Settings(state_directory=tmp_path / "state")
    first = await mark(MarkKey(bench.client, settings))
    assert stat.S_IMODE((tmp_path / "state/prune-key").stat().st_mode) == 0o600
    assert await mark(MarkKey(bench.client, settings)) == first != ""
    assert bench.seen == []


async def test_a_file_that_is_named_goes_before_the_secret(bench: Bench, stored: Secrets, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k" * 32)
    settings = Settings(cluster=IN_POD.cluster, prune_key_file=str(tmp_path / "key"))
    assert await mark(MarkKey(bench.client, settings)) != ""
    assert bench.seen == []


async def test_without_any_place_for_a_key_nothing_is_marked(bench: Bench) -> None:
    assert await mark(MarkKey(bench.client, Settings())) == ""


def test_operators_that_start_together_end_with_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(_read_or_create, [tmp_path / "state/prune-key"] * 64))
    assert len(keys) == 1
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["prune-key"]
