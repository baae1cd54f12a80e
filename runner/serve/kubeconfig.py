"""The kubeconfig a run gets: the Go operator's text, with the real port and with secrets. Pure.

Two kinds of clients read it. Python's send `username` and `password`. Go's (kubectl, helm) send no user's
credentials over plain HTTP, but those of the server's URL: so the URL needs a secret, too. kubernetes.core keeps
one discovery cache file per URL, so the URL's secret is the owner's, the same for all its runs.
"""

from __future__ import annotations

import base64
import json

from runner.objects import Owner

_TEXT = """\
---
apiVersion: v1
kind: Config
clusters:
- cluster:
    insecure-skip-tls-verify: true
    server: "http://{user}:{owner_secret}@localhost:{port}"
  name: proxy-server
contexts:
- context:
    cluster: proxy-server
    user: admin/proxy-server
  name: {namespace}/proxy-server
current-context: {namespace}/proxy-server
preferences: {{}}
users:
- name: admin/proxy-server
  user:
    username: "{user}"
    password: "{run_secret}"
"""


def user_of(owner: Owner) -> str:
    """Who asks: padded base64 of the owner as the Go operator's proxy reads it (its alphabet needs no quoting)."""
    who = {
        "apiVersion": owner.gvk.api_version,
        "kind": owner.gvk.kind,
        "name": owner.name,
        "uid": owner.uid,
        "Namespace": owner.namespace,
    }
    return base64.b64encode(json.dumps(who, separators=(",", ":")).encode()).decode()


def basic(user: str, secret: str) -> str:
    """What follows `Basic` in the Authorization header."""
    return base64.b64encode(f"{user}:{secret}".encode()).decode()


def render(owner: Owner, port: int, *, owner_secret: str, run_secret: str) -> str:
    """The text of the file."""
    return _TEXT.format(
        user=user_of(owner),
        port=port,
        namespace=owner.namespace,
        owner_secret=owner_secret,
        run_secret=run_secret,
    )
