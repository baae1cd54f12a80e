"""The certificate that the operator keeps in a Secret is looked after for ever, whatever the API server says."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from runner.errors import ForbiddenError, NotFoundError
from runner.kube.client import Client
from runner.serve.admission import secret
from runner.serve.admission.secret import SecretCertificate
from runner.serve.certificates import ServingCertificate
from runner.stopping import ended
from tests.fixtures.waiting import until


class Api:
    """In place of the client: the first list of webhook configurations is not what it should be."""

    def __init__(self, first: object) -> None:
        self.first = first
        self.looks = 0

    async def namespace(self) -> str:
        return "shop"

    async def request(self, method: str, path: str, **_options: object) -> dict[str, Any]:
        if path.endswith("webhookconfigurations"):
            self.looks += 1
            if self.looks == 1:
                if isinstance(self.first, Exception):
                    raise self.first
                return {"items": self.first}
            return {}
        if method == "GET":
            raise NotFoundError(404, "NotFound", "there is none")
        return {}


@pytest.mark.parametrize(
    ("first", "unexpected"), [(ForbiddenError(403, "Forbidden", "not allowed"), False), (["no map"], True)]
)
async def test_what_goes_wrong_is_said_and_tried_again(
    first: object, unexpected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret, "AGAIN_AFTER", 0.01)
    api = Api(first)
    keeping = SecretCertificate(cast(Client, api), (), ServingCertificate("webhooks"), "certificate")
    with capture_logs() as logs:
        task = asyncio.create_task(keeping.run())
        await until(lambda: api.looks > 2)
        await ended(task)
    lost = [line for line in logs if line["event"] == secret.LOST]
    assert ["exc_info" in line for line in lost] == [unexpected]
