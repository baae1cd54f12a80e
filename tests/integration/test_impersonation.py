"""A kubeconfig's `as` before a real API server: the operator and its runs act as that account, and as no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from runner.config.settings import ClusterSettings
from runner.dev.controlplane import ControlPlane
from runner.kube.client import Client
from runner.kube.discovery import Discovery
from runner.objects import GroupVersionKind, Owner
from runner.serve.grants import basic
from runner.serve.proxy import Proxy

pytestmark = pytest.mark.cluster

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
JANE = {"as": "jane", "as-uid": "7", "as-groups": ["dev", "ops"], "as-user-extra": {"example.com/why": ["test"]}}
OWNER = Owner(GroupVersionKind("test.example.com", "v1", "Thing"), "default", "a", "uid")


@asynccontextmanager
async def acting_as(plane: ControlPlane, tmp_path: Path, user: dict[str, Any]) -> AsyncIterator[Client]:
    config = yaml.safe_load(plane.kubeconfig.read_text())
    config["users"][0]["user"] |= user
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    client = await Client.connect(ClusterSettings(str(tmp_path / "kubeconfig")))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def run_of(client: Client) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """The proxy's address, and a session with the credentials of a run that is under way."""
    proxy = Proxy(client, Discovery(client), port=0)
    await proxy.start()
    try:
        with proxy.grant(OWNER) as grant:
            user = yaml.safe_load(grant.kubeconfig)["users"][0]["user"]
            headers = {"Authorization": f"Basic {basic(user['username'], user['password'])}"}
            async with aiohttp.ClientSession(headers=headers) as session:
                yield f"http://localhost:{proxy.port}", session
    finally:
        await proxy.stop()


async def test_operator_acts_as_whom_its_kubeconfig_says(control_plane: ControlPlane, tmp_path: Path) -> None:
    async with acting_as(control_plane, tmp_path, JANE) as client:
        who = (await client.request("POST", REVIEWS, body=REVIEW))["status"]["userInfo"]

    assert (who["username"], who["uid"]) == ("jane", "7")
    assert {"dev", "ops"} <= set(who["groups"])
    assert "system:masters" not in who["groups"]
    assert who["extra"] == {"example.com/why": ["test"]}


async def test_run_acts_as_whom_the_operators_kubeconfig_says(control_plane: ControlPlane, tmp_path: Path) -> None:
    async with (
        acting_as(control_plane, tmp_path, JANE) as client,
        run_of(client) as (url, session),
        session.post(url + REVIEWS, json=REVIEW) as answer,
    ):
        who = (await answer.json())["status"]["userInfo"]

    assert who["username"] == "jane"
    assert {"dev", "ops"} <= set(who["groups"])


async def test_upgrade_of_a_run_goes_as_the_same_account(control_plane: ControlPlane, tmp_path: Path) -> None:
    path = "/api/v1/namespaces/default/pods/none/exec?command=true"
    upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    async with (
        acting_as(control_plane, tmp_path, JANE) as client,
        run_of(client) as (url, session),
        session.post(url + path, headers=upgrade) as answer,
    ):
        assert answer.status == 403
        assert 'User "jane"' in (await answer.json())["message"]


@pytest.mark.parametrize("header", ["Impersonate-User", "impersonate-group", "Impersonate-Extra-why"])
async def test_run_of_an_operator_that_acts_as_somebody_cannot_act_as_a_third(
    control_plane: ControlPlane, tmp_path: Path, header: str
) -> None:
    async with (
        acting_as(control_plane, tmp_path, JANE) as client,
        run_of(client) as (url, session),
        session.post(url + REVIEWS, json=REVIEW, headers={header: "system:masters"}) as answer,
    ):
        assert answer.status == 403
        assert "lets nobody act as a third" in (await answer.json())["message"]


async def test_run_of_an_operator_without_it_impersonates_as_rbac_lets_it(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with (
        acting_as(control_plane, tmp_path, {}) as client,
        run_of(client) as (url, session),
        session.post(url + REVIEWS, json=REVIEW, headers={"Impersonate-User": "joe"}) as answer,
    ):
        assert (await answer.json())["status"]["userInfo"]["username"] == "joe"


async def test_change_of_the_account_is_noticed_when_credentials_are_read_again(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with acting_as(control_plane, tmp_path, JANE) as client:
        file = tmp_path / "kubeconfig"
        file.write_text(file.read_text().replace("as: jane", "as: joe"))
        connection = client._connection
        connection._tried_at = float("-inf")
        await connection.refused(await connection.current())

        who = (await client.request("POST", REVIEWS, body=REVIEW))["status"]["userInfo"]
    assert who["username"] == "joe"
