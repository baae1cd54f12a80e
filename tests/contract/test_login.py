"""Where credentials are looked for, and what a kubeconfig may say."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.config.settings import ClusterSettings
from runner.errors import CredentialsError
from runner.kube import credentials
from runner.kube.credentials import Credentials, find_login

CLUSTER = {"server": "https://kube.example.com:6443/"}


def config(path: Path, **sections: Any) -> Path:
    """A kubeconfig with one context; `cluster` and `user` replace its parts, None leaves the section out."""
    cluster, user = sections.get("cluster", CLUSTER), sections.get("user", {"token": "t"})
    body = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        **({"clusters": [{"name": "c", "cluster": cluster}]} if cluster is not None else {}),
        **({"users": [{"name": "u", "user": user}]} if user is not None else {}),
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(body))
    return path


def token_of(found: Credentials) -> str | None:
    return found.info.token


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a pod whose service account is mounted."""
    kopf = credentials._kopf()
    info = kopf.ConnectionInfo(server="https://kubernetes.default.svc", token="of-the-pod")
    monkeypatch.setattr(kopf, "login_with_service_account", lambda **_: info)
    return {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443", "HOME": "/nowhere"}


def test_a_given_kubeconfig_wins_over_every_other_login(tmp_path: Path, pod: dict[str, str]) -> None:
    given, other = config(tmp_path / "a", user={"token": "given"}), config(tmp_path / "b")
    assert token_of(find_login(ClusterSettings.read({**pod, "KUBECONFIG": str(other)}, str(given)))()) == "given"


def test_kubeconfig_wins_over_the_service_account(tmp_path: Path, pod: dict[str, str]) -> None:
    path = config(tmp_path / "a", user={"token": "mine"})
    assert token_of(find_login(ClusterSettings.read({**pod, "KUBECONFIG": str(path)}))()) == "mine"


def test_the_service_account_wins_over_the_home_directory(tmp_path: Path, pod: dict[str, str]) -> None:
    config(tmp_path / ".kube" / "config")
    found = find_login(ClusterSettings.read({**pod, "KUBECONFIG": "", "HOME": str(tmp_path)}))()
    assert token_of(found) == "of-the-pod"
    assert found.info.server == "https://10.0.0.1:6443"
    assert found.fresh_for == 60.0


def test_people_are_told_the_context_and_its_user(tmp_path: Path) -> None:
    found = find_login(ClusterSettings.read({"KUBECONFIG": str(config(tmp_path / "a"))}))()
    assert (found.context, found.user) == ("here", "u")


@pytest.mark.parametrize(
    ("token", "user"),
    [
        ("e30.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bnM6b3AifQ.x", "system:serviceaccount:ns:op"),
        ("opaque", ""),
        ("a.b.c", ""),
        ("e30.W10.x", ""),
        (None, ""),
    ],
)
def test_people_are_told_the_service_account_if_its_token_names_it(token: str | None, user: str) -> None:
    assert credentials._subject(token) == user


def test_an_ipv6_address_of_the_service_is_bracketed(pod: dict[str, str]) -> None:
    found = find_login(ClusterSettings.read({**pod, "KUBERNETES_SERVICE_HOST": "fd00::1"}))()
    assert found.info.server == "https://[fd00::1]:6443"


def test_the_kubeconfig_in_the_home_directory_comes_last(tmp_path: Path) -> None:
    config(tmp_path / ".kube" / "config", user={"token": "home"})
    found = find_login(ClusterSettings.read({"HOME": str(tmp_path)}))()
    assert token_of(found) == "home"
    assert found.info.server == "https://kube.example.com:6443"


def test_a_login_that_is_nowhere_names_what_was_tried(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError) as caught:
        find_login(ClusterSettings.read({"HOME": str(tmp_path)}))
    for tried in ("KUBECONFIG", "service account", str(tmp_path / ".kube" / "config")):
        assert tried in str(caught.value)


def test_several_kubeconfigs_count_as_one_and_the_first_value_wins(tmp_path: Path) -> None:
    first = config(tmp_path / "a", user=None)
    second = config(tmp_path / "b", cluster={"server": "https://other"}, user={"token": "second"})
    found = find_login(ClusterSettings.read({}, f"{first}:{tmp_path / 'absent'}:{second}"))()
    assert token_of(found) == "second"
    assert found.info.server == "https://kube.example.com:6443"


def test_a_path_in_a_kubeconfig_is_relative_to_its_file(tmp_path: Path) -> None:
    path = config(tmp_path / "deep" / "a", cluster={**CLUSTER, "certificate-authority": "../ca.crt"})
    assert find_login(ClusterSettings.read({}, str(path)))().info.ca_path == str(tmp_path / "deep" / "../ca.crt")


def test_data_in_a_kubeconfig_wins_over_a_path(tmp_path: Path) -> None:
    both = {**CLUSTER, "certificate-authority": "ca.crt", "certificate-authority-data": "eA=="}
    info = find_login(ClusterSettings.read({}, str(config(tmp_path / "a", cluster=both))))().info
    assert (info.ca_data, info.ca_path) == ("eA==", None)


def test_a_token_file_wins_over_a_token_and_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("filed\n")
    found = find_login(
        ClusterSettings.read({}, str(config(tmp_path / "a", user={"token": "t", "tokenFile": "token"})))
    )()
    assert (token_of(found), found.fresh_for, found.good_for) == ("filed", 60.0, float("inf"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "no kubeconfig found"),
        (lambda path: path.write_text("token: [secret"), "not valid YAML at line 1"),
        (lambda path: path.write_text("- secret"), "top level"),
        (lambda path: path.write_text("{}"), "current-context"),
        (lambda path: config(path, cluster=None), "clusters has no entry named 'c'"),
        (lambda path: config(path, user=None), "users has no entry named 'u'"),
        (lambda path: config(path, cluster={"x": 1}), "names no server"),
        (lambda path: config(path, user={"tokenFile": "absent"}), "token file"),
        (lambda path: config(path, user={"exec": {"apiVersion": "v1", "command": "/absent"}}), "exec plugin"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named_and_not_quoted(
    tmp_path: Path, spoil: Callable[[Path], object], words: str
) -> None:
    path = config(tmp_path / "a")
    spoil(path)
    with pytest.raises(CredentialsError, match=words) as caught:
        find_login(ClusterSettings.read({}, str(path)))()
    assert str(tmp_path) in str(caught.value) or "exec plugin" in words
    assert "secret" not in str(caught.value)


def plugged(directory: Path, expiry: str) -> Path:
    """A kubeconfig whose exec plugin gives a token until then."""
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "plugged", "expirationTimestamp": expiry},
    }
    plugin = directory / "plugin"
    plugin.write_text(f"#!{sys.executable}\nprint({json.dumps(answer)!r})\n")
    plugin.chmod(0o700)
    return config(directory / "a", user={"exec": {"apiVersion": answer["apiVersion"], "command": "./plugin"}})


def test_an_exec_plugin_gives_a_token_until_it_expires(tmp_path: Path) -> None:
    found = find_login(ClusterSettings.read({}, str(plugged(tmp_path, "2999-01-01T00:00:00Z"))))()
    assert token_of(found) == "plugged"
    assert 0 < found.fresh_for == found.good_for < float("inf")


@pytest.mark.parametrize("expiry", ["tomorrow", "2999-01-01T00:00:00"])
def test_an_exec_plugin_that_gives_no_time_for_an_expiry_is_named(tmp_path: Path, expiry: str) -> None:
    with pytest.raises(CredentialsError, match=f"exec plugin .* {expiry!r}"):
        find_login(ClusterSettings.read({}, str(plugged(tmp_path, expiry))))()


def test_credentials_do_not_show_their_secrets(tmp_path: Path) -> None:
    found = find_login(ClusterSettings.read({}, str(config(tmp_path / "a", user={"token": "hush-hush"}))))()
    assert "hush-hush" not in repr(found)
