"""What operators under development have told an API server: only what nobody answers any more is removed."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from aiohttp import web

from runner.errors import ApiError, NotFoundError
from runner.kube.client import Client
from runner.serve.admission.remains import CRDS, GROUP, clear
from runner.serve.certificates import LOCAL, ServingCertificate, issued
from runner.serve.metrics import Listener

VALIDATING = f"{GROUP}/validatingwebhookconfigurations"


class Api:
    """In place of the client: what is there, and what was done to it."""

    def __init__(self, **there: list[Any]) -> None:
        self.there = there
        self.done: list[tuple[str, str]] = []

    async def request(self, method: str, path: str, **_options: object) -> dict[str, Any]:
        if method == "GET":
            return {"items": self.there.get(path.rpartition("/")[2], [])}
        self.done.append((method, path))
        raise NotFoundError(404, "NotFound", "it is gone already")


class Refusing(Api):
    """Lets nobody look."""

    async def request(self, method: str, path: str, **_options: object) -> dict[str, Any]:
        raise ApiError(403, "Forbidden", f"{method} {path}")


@pytest.fixture
async def here() -> AsyncIterator[dict[str, Any]]:
    """The `clientConfig` of an operator that runs, for a conversion."""
    certificate = ServingCertificate("webhooks", None)
    listener = Listener("127.0.0.1:0", web.Application(), "--webhook-port", certificate.context)
    await listener.start()
    yield client_config(listener.port, certificate.authority)
    await listener.stop()


def client_config(port: int, authority: bytes, path: str = "/convert") -> dict[str, Any]:
    return {"url": f"https://127.0.0.1:{port}{path}", "caBundle": base64.b64encode(authority).decode()}


def configuration(*configs: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "webhooks": [{"clientConfig": config} for config in configs]}


def crd(config: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"conversion": {"webhook": {"clientConfig": config}}}}


async def cleared(api: Api) -> list[tuple[str, str]]:
    await clear(cast("Client", api))
    return api.done


async def test_what_an_operator_that_runs_has_told_stays(here: dict[str, Any]) -> None:
    api = Api(validatingwebhookconfigurations=[configuration(here)], customresourcedefinitions=[crd(here)])
    assert await cleared(api) == []


async def test_what_nobody_answers_is_removed(here: dict[str, Any]) -> None:
    gone = {**here, "url": "https://127.0.0.1:1/convert"}
    api = Api(validatingwebhookconfigurations=[configuration(gone)], customresourcedefinitions=[crd(gone)])
    assert await cleared(api) == [("DELETE", f"{VALIDATING}/a"), ("PATCH", f"{CRDS}/a")]


async def test_whoever_has_another_key_does_not_answer_in_its_place(here: dict[str, Any]) -> None:
    other = client_config(int(here["url"].split(":")[2].partition("/")[0]), issued(LOCAL).authority)
    assert await cleared(Api(customresourcedefinitions=[crd(other)])) == [("PATCH", f"{CRDS}/a")]


@pytest.mark.parametrize(
    "config",
    [{"service": {"name": "a"}}, {"url": "https://example.com:1/convert"}, {"url": "https://127.0.0.1:1/x"}],
)
async def test_a_conversion_that_is_somebody_elses_stays(config: dict[str, Any]) -> None:
    assert await cleared(Api(customresourcedefinitions=[crd(config)])) == []


async def test_who_may_not_look_goes_on() -> None:
    assert await cleared(Refusing()) == []
