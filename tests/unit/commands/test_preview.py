"""What `preview` asks the API server for, and how it shows the answer."""

from __future__ import annotations

import json
from typing import Any

from runner.commands.preview import applied, lines
from runner.differences import Difference

LAST = "kubectl.kubernetes.io/last-applied-configuration"


def wanted(**spec: object) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def live(before: dict[str, Any], **spec: object) -> dict[str, Any]:
    body = wanted(**spec)
    return {**body, "metadata": {"name": "a", "annotations": {LAST: json.dumps(before), "other": "kept"}}}


def test_what_was_applied_and_is_no_longer_wanted_goes() -> None:
    patch = applied(live(wanted(a=1, b={"c": 1, "d": 2}), a=1, b={"c": 1, "d": 2}, e=3), wanted(b={"c": 2}))
    assert patch["spec"] == {"a": None, "b": {"c": 2, "d": None}}


def test_what_others_have_set_stays() -> None:
    before = wanted(a=1)
    before["metadata"]["annotations"] = {}
    patch = applied(live(before, a=1), wanted(a=1))
    assert patch["metadata"] == {"name": "a", "annotations": {}}


def test_an_object_that_nobody_has_applied_loses_nothing() -> None:
    assert applied(wanted(a=1, b=2), wanted(a=3))["spec"] == {"a": 3}


def test_a_difference_is_shown_as_a_diff_of_yaml() -> None:
    found = Difference("ConfigMap", "shop", "web", {"data": {"a": "1"}}, {"data": {"a": "2"}}, ("data.a",))
    assert "".join(lines(found)) == (
        "--- ConfigMap shop/web (live)\n"
        "+++ ConfigMap shop/web (applied)\n"
        "@@ -1,2 +1,2 @@\n"
        " data:\n"
        "-  a: '1'\n"
        "+  a: '2'\n"
    )


def test_values_of_a_secret_are_not_shown() -> None:
    before, after = ({"kind": "Secret", "data": {"a": value}} for value in ("b25l", "dHdv"))
    text = "".join(lines(Difference("Secret", "", "x", before, after, ("data.a",))))
    assert "-  a: '*** (before)'\n+  a: '*** (after)'\n" in text
    assert not any(value in text for value in ("b25l", "dHdv"))
