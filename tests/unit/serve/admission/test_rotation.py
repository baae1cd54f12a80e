"""When the operator's own certificate is made and replaced, and where its authority is announced."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runner.serve.admission import rotation
from runner.serve.admission.rotation import (
    LEFT,
    SETTLES,
    Kept,
    of_secret,
    patch_of_configuration,
    patch_of_crd,
    step,
    to_secret,
)
from runner.serve.certificates import Pair, issued

NOW = datetime.now(UTC)
FRESH = timedelta(days=90)


def pairs(validity: timedelta = FRESH) -> Pair:
    return issued(["localhost"], validity)


@pytest.fixture(scope="module")
def first() -> Pair:
    return pairs()


@pytest.fixture(scope="module")
def second() -> Pair:
    return pairs()


def test_without_a_certificate_one_is_made(first: Pair) -> None:
    assert step(Kept(), NOW, lambda: first) == Kept(first, authorities=(first.authority,))


def test_one_that_has_ended_is_replaced_at_once(first: Pair, second: Pair) -> None:
    kept = Kept(first, authorities=(first.authority,))
    assert step(kept, NOW + 2 * FRESH, lambda: second).current == second


def test_one_that_nobody_can_read_is_replaced(second: Pair) -> None:
    assert step(Kept(Pair(b"x", b"y", b"z")), NOW, lambda: second).current == second


def test_one_that_lasts_is_left_alone(first: Pair) -> None:
    kept = Kept(first, authorities=(first.authority,))
    assert step(kept, NOW + FRESH - LEFT - timedelta(days=1), pairs) is kept


def test_the_next_is_announced_before_it_is_shown(first: Pair, second: Pair) -> None:
    due = NOW + FRESH - LEFT + timedelta(days=1)
    announced = step(Kept(first, authorities=(first.authority,)), due, lambda: second)
    assert (announced.current, announced.following) == (first, second)
    assert announced.authorities == (first.authority, second.authority)
    assert step(announced, due + SETTLES / 2, pairs) is announced
    shown = step(announced, due + SETTLES, pairs)
    assert (shown.current, shown.following) == (second, None)
    assert shown.authorities == (first.authority, second.authority)


def test_what_was_replaced_is_forgotten_with_the_rotation_after(first: Pair, second: Pair) -> None:
    third = pairs()
    kept = Kept(second, authorities=(first.authority, second.authority))
    assert step(kept, NOW + FRESH, lambda: third).authorities in [
        (second.authority, third.authority),
        (third.authority,),
    ]


def test_a_secret_holds_all_of_it(first: Pair, second: Pair) -> None:
    kept = Kept(first, second, NOW, (first.authority, second.authority))
    read = of_secret({"data": to_secret(kept)})
    assert (read.since, read.authorities) == (NOW, kept.authorities)
    for was, now in ((kept.current, read.current), (kept.following, read.following)):
        assert was is not None
        assert now is not None
        assert (now.certificate, now.key) == (was.certificate, was.key)


@pytest.mark.parametrize(
    "data", [None, {}, {"tls.crt": "%"}, {"tls.crt": "eA=="}, {"tls.crt": 7}, {"next.since": "eA=="}]
)
def test_a_secret_that_is_not_ours_holds_nothing(data: Any) -> None:
    assert of_secret({"data": data}).current is None


def config(**service: Any) -> dict[str, Any]:
    return {"service": {"name": "s", "namespace": "system", "path": "/validate-a", **service}}


def webhook(name: str, client: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "clientConfig": client}


def test_the_authority_goes_into_each_webhook_of_ours() -> None:
    body = {"webhooks": [webhook("other", config(path="/other")), webhook("ours", config())]}
    assert patch_of_configuration(body, "system", {"/validate-a"}, b"PEM") == [
        {"op": "test", "path": "/webhooks/1/name", "value": "ours"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": base64.b64encode(b"PEM").decode()},
    ]


def known() -> Iterator[dict[str, Any]]:
    yield {**config(), "caBundle": base64.b64encode(b"PEM").decode()}
    yield config(namespace="elsewhere")
    yield {"url": "https://127.0.0.1/validate-a"}
    yield {}


@pytest.mark.parametrize("client", list(known()))
def test_what_is_current_or_not_ours_is_left_alone(client: dict[str, Any]) -> None:
    assert patch_of_configuration({"webhooks": [webhook("a", client)]}, "system", {"/validate-a"}, b"PEM") == []


def test_the_authority_goes_into_the_conversion_of_a_crd() -> None:
    crd = {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config(path="/convert")}}}}
    (operation,) = patch_of_crd(crd, "system", b"PEM")
    assert operation["path"] == "/spec/conversion/webhook/clientConfig/caBundle"
    assert patch_of_crd({"spec": {"conversion": {"strategy": "None"}}}, "system", b"PEM") == []
    assert patch_of_crd({}, "system", b"PEM") == []


def test_a_rotation_takes_less_time_than_is_left() -> None:
    assert rotation.SETTLES < rotation.LEFT < rotation.VALIDITY


def test_kept_is_compared_by_what_it_holds(first: Pair) -> None:
    kept = Kept(first)
    assert replace(kept) == kept
