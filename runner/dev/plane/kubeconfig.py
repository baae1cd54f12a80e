"""Kubeconfig files for the clients of one control plane, each with its own client certificate inside."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import yaml

from runner.dev.plane.layout import Layout


def write(file: Path, layout: Layout, server: str, client: str) -> None:
    """Write a kubeconfig for the client certificate called `client`; mode 0600, replaced as a whole."""
    content = yaml.safe_dump(_kubeconfig(layout, server, client), sort_keys=False)
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(content)
    partial.rename(file)


def _kubeconfig(layout: Layout, server: str, client: str) -> dict[str, object]:
    cluster = {"server": server, "certificate-authority-data": _encoded(layout.certificate("ca"))}
    user = {
        "client-certificate-data": _encoded(layout.certificate(client)),
        "client-key-data": _encoded(layout.key(client)),
    }
    context = {"cluster": "dev", "user": client, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "dev", "cluster": cluster}],
        "users": [{"name": client, "user": user}],
        "contexts": [{"name": "dev", "context": context}],
        "current-context": "dev",
    }


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
