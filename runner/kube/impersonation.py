"""Whom a kubeconfig's user acts as (`as`, `as-uid`, `as-groups`, `as-user-extra`), as the headers that say so."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any

from runner.errors import CredentialsError

_NAME = frozenset((string.ascii_letters + string.digits + "!#$&'*+-.^_`|~").encode())
"""Bytes that a header's name may hold, but for the percent sign, by which the others are escaped."""

IMPERSONATE = "impersonate-"
"""What the headers begin with, in lower case."""
Headers = tuple[tuple[str, str], ...]


def headers_of(user: Mapping[str, Any]) -> Headers:
    """Those that client-go would send; none for a user who acts as nobody else.

    Raises CredentialsError for groups, a uid or extra fields without a user, and for what no header can carry.
    """
    name, groups, extra = user.get("as"), user.get("as-groups") or (), user.get("as-user-extra") or {}
    if not name:
        if groups or extra or user.get("as-uid"):
            raise CredentialsError("the kubeconfig's user has as-uid, as-groups or as-user-extra without `as`")
        return ()
    if not isinstance(groups, list | tuple) or not isinstance(extra, Mapping):
        raise CredentialsError("the kubeconfig's as-groups must be a list, its as-user-extra a map of lists")
    headers = [("Impersonate-User", str(name))]
    headers += [("Impersonate-Uid", str(user["as-uid"]))] if user.get("as-uid") else []
    headers += [("Impersonate-Group", str(group)) for group in groups]
    headers += _extra(extra)
    for header, value in headers:
        if not value.isprintable():
            raise CredentialsError(f"the kubeconfig's `as` cannot be sent as {header}: {value!r}")
    return tuple(headers)


def _extra(extra: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, values in extra.items():
        for value in values if isinstance(values, list | tuple) else (values,):
            yield f"Impersonate-Extra-{_escaped(str(key))}", str(value)


def _escaped(key: str) -> str:
    return "".join(chr(byte) if byte in _NAME else f"%{byte:02X}" for byte in key.encode())
