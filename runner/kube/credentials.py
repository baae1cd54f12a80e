"""How the operator logs in: the kubeconfig or the service account, by kopf's login functions."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import yaml

from runner.config.settings import ClusterSettings
from runner.errors import CredentialsError
from runner.kube.impersonation import Headers, headers_of

if TYPE_CHECKING:
    import kopf

ROTATION = 60.0
"""Seconds after which a token file is read again; client-go's figure."""


Section = Mapping[str, Any]
PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A way in. `info` holds secrets; `impersonate` are headers that say whom to act as; `context` and `user` are
    for people, where they are known.

    `fresh_for` says when to read them again, `good_for` when they are certain to be refused: in seconds, infinite
    for what never changes by itself, or not known to end.
    """

    info: kopf.ConnectionInfo = field(repr=False)
    server_name: str = ""
    context: str = ""
    user: str = ""
    fresh_for: float = float("inf")
    good_for: float = float("inf")
    impersonate: Headers = ()


Login = Callable[[], Credentials]
"""Reads the credentials anew; may block (files, exec plugins), so call it in a thread of its own."""


def find_login(cluster: ClusterSettings) -> Login:
    """The first that applies: the kubeconfig(s) given, the pod's service account, ~/.kube/config.

    Raises CredentialsError naming what was tried if there is nothing.
    """
    if cluster.kubeconfig:
        files = [Path(part).expanduser() for part in cluster.kubeconfig.split(os.pathsep) if part.strip()]
        return lambda: from_kubeconfig(files)
    if in_cluster(cluster) is not None:
        return lambda: _required(in_cluster(cluster))
    home = Path(cluster.home or "~").expanduser() / ".kube" / "config"
    if home.is_file():
        return lambda: from_kubeconfig([home])
    raise CredentialsError(
        "no way to log in to a cluster was found: no kubeconfig was given, KUBECONFIG is empty, there is no "
        f"service account token (not in a pod, or automountServiceAccountToken is false) and {home} does not "
        "exist; set KUBECONFIG or run in a pod with a service account"
    )


def in_cluster(cluster: ClusterSettings) -> Credentials | None:
    """The pod's service account; the address is the one in the environment, so that no DNS is needed."""
    kopf = _kopf()
    info = kopf.login_with_service_account(settings=kopf.OperatorSettings())
    if info is None or not info.token:
        return None
    host, port = cluster.service_host, cluster.service_port
    if host:
        info = replace(info, server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}")
    return Credentials(info, user=_subject(info.token), fresh_for=ROTATION)


def from_kubeconfig(files: list[Path]) -> Credentials:
    """The current context's cluster and user. Raises CredentialsError."""
    target = read(files)
    cluster, user, fresh_for, good_for = target.cluster, target.user, float("inf"), float("inf")
    if user.get("exec"):
        user, good_for = _from_plugin(target)
        fresh_for = good_for
    elif user.get("tokenFile"):
        user, fresh_for = {**user, "token": _token(Path(user["tokenFile"]))}, ROTATION
    provider = (user.get("auth-provider") or {}).get("config") or {}
    info = _kopf().ConnectionInfo(
        server=str(cluster["server"]).rstrip("/"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        proxy_url=cluster.get("proxy-url"),
        username=user.get("username"),
        password=user.get("password"),
        default_namespace=target.namespace or None,
        token=user.get("token") or provider.get("id-token") or provider.get("access-token"),
        **_either("ca", cluster, "certificate-authority"),
        **_either("certificate", user, "client-certificate"),
        **_either("private_key", user, "client-key"),
    )
    server_name = str(cluster.get("tls-server-name") or "")
    return Credentials(
        info,
        server_name,
        context=target.context,
        user=target.user_name,
        fresh_for=fresh_for,
        good_for=good_for,
        impersonate=headers_of(target.user),
    )


def _from_plugin(target: Target) -> tuple[Mapping[str, Any], float]:
    # Here and not above: the official client costs 18 MB and a third of a second, and few need it.
    plugin = import_module("kubernetes.config.exec_provider")
    node = import_module("kubernetes.config.kube_config").ConfigNode

    wanted = dict(target.user["exec"])
    if os.sep in str(wanted.get("command", "")):
        wanted["command"] = str(target.directory / wanted["command"])
    try:
        cluster = node("cluster", dict(target.cluster))
        answer = plugin.ExecProvider(node("exec", wanted), None, cluster).run()
    except (plugin.ConfigException, OSError) as error:
        hint = str(wanted.get("installHint") or "")
        raise CredentialsError(
            f"context {target.context!r}: the exec plugin {wanted.get('command')!r} failed: {error} {hint}".strip()
        ) from None
    fields = {
        "token": answer.get("token"),
        "client-certificate-data": answer.get("clientCertificateData"),
        "client-key-data": answer.get("clientKeyData"),
    }
    expiry = answer.get("expirationTimestamp")
    try:
        return {key: value for key, value in fields.items() if value}, _left(expiry)
    except (ValueError, TypeError):
        raise CredentialsError(
            f"context {target.context!r}: the exec plugin {wanted.get('command')!r} gave {expiry!r} as the "
            "expirationTimestamp of its token: it must be a time in RFC 3339, with its zone"
        ) from None


def _left(expiry: str | None) -> float:
    """Seconds. Raises ValueError for what is no time, TypeError for one without a zone."""
    if not expiry:
        return float("inf")
    return max(0.0, (datetime.fromisoformat(expiry) - datetime.now(UTC)).total_seconds())


def _token(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CredentialsError(f"token file {path} cannot be read: {error.strerror}") from None


def _either(name: str, section: Section, key: str) -> dict[str, Any]:
    """Data wins over a path where a kubeconfig has both, as in kubectl; ConnectionInfo refuses both."""
    if data := section.get(f"{key}-data"):
        return {f"{name}_data": data}
    return {f"{name}_path": section[key]} if section.get(key) else {}


def _subject(token: str | None) -> str:
    """The account that a service account's token names; "" where it cannot be read. Nothing is verified."""
    try:
        claims = (token or "").split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"])
    except (IndexError, KeyError, TypeError, ValueError):
        return ""


def _required(found: Credentials | None) -> Credentials:
    if found is None:
        raise CredentialsError("the service account token has vanished or is empty: is the volume still mounted?")
    return found


def _kopf() -> ModuleType:
    """kopf without the official client, which it would import just to recognise objects of it (18 MB, 0.3 s)."""
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    hide = "kopf" not in modules and "kubernetes" not in modules
    if hide:
        modules["kubernetes"] = None  # means: not installed
    try:
        return import_module("kopf")
    finally:
        if hide:
            del modules["kubernetes"]


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster and the user of the current context; paths are absolute. `user` holds secrets."""

    context: str
    cluster: Section
    user: Section = field(repr=False)
    directory: Path
    namespace: str = ""
    user_name: str = ""


def read(files: Iterable[Path]) -> Target:
    """The current context of these files together; absent files are skipped.

    Raises CredentialsError: none exists, one cannot be read, or the context is incomplete.
    """
    paths = list(files)
    found = [(path, _parse(path)) for path in paths if path.is_file()]
    if not found:
        raise CredentialsError(f"no kubeconfig found at {_names(paths)}: give the path of one that exists")
    where = _names(path for path, _ in found)
    current = next((text for _, body in found if (text := body.get("current-context"))), "")
    if not current:
        raise CredentialsError(f"{where}: no current-context: set it with `kubectl config use-context`")
    context = _named(found, "contexts", "context", current, where)[0]
    cluster, home = _named(found, "clusters", "cluster", context.get("cluster", ""), where)
    user, user_home = _named(found, "users", "user", context.get("user", ""), where)
    if not cluster.get("server"):
        raise CredentialsError(f"{where}: the cluster of context {current!r} names no server")
    namespace = str(context.get("namespace") or "")
    name = str(context.get("user", ""))
    return Target(current, _absolute(cluster, home), _absolute(user, user_home), user_home, namespace, name)


def _parse(path: Path) -> Section:
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise CredentialsError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # Not the error's own text: it quotes the file, which holds secrets.
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise CredentialsError(f"{path}: not valid YAML{line}") from None
    if not isinstance(body, dict):
        raise CredentialsError(f"{path}: not a kubeconfig: the top level must be a mapping")
    return body


def _named(
    found: Iterable[tuple[Path, Section]], section: str, key: str, name: str, where: str
) -> tuple[Section, Path]:
    for path, body in found:
        for item in body.get(section) or ():
            if item.get("name") == name:
                return item.get(key) or {}, path.parent.absolute()
    raise CredentialsError(f"{where}: {section} has no entry named {name!r}, which the current context needs")


def _absolute(section: Section, home: Path) -> Section:
    paths = {key: str(home / Path(section[key]).expanduser()) for key in PATHS if section.get(key)}
    return {**section, **paths}


def _names(paths: Iterable[Path]) -> str:
    return ", ".join(map(str, paths))
