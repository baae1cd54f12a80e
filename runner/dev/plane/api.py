"""The few API calls that starting a control plane needs, as its administrator, over verified TLS."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any, cast

from runner.dev.plane.layout import HOST, Layout, Ports

TIMEOUT = 5


class Api:
    """A tiny blocking client of one API server."""

    def __init__(self, layout: Layout, ports: Ports) -> None:
        self._port = ports.api
        self._context = ssl.create_default_context(cafile=layout.certificate("ca"))
        self._context.load_cert_chain(layout.certificate("admin"), layout.key("admin"))

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """One request: the status and the JSON object (or the text) of the answer.

        Raises OSError or HTTPException while nothing answers.
        """
        status, content = self.send(method, path, None if body is None else json.dumps(body))
        return status, _decoded(content)

    def send(self, method: str, path: str, payload: str | None = None) -> tuple[int, str]:
        """The same, of JSON as it is written."""
        connection = http.client.HTTPSConnection(HOST, self._port, timeout=TIMEOUT, context=self._context)
        try:
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace")
        finally:
            connection.close()


def _decoded(content: str) -> object:
    try:
        return cast("object", json.loads(content))
    except ValueError:
        return content
