"""An independent view of the cluster: plain HTTPS requests, and a watch that remembers every version it saw."""

from __future__ import annotations

import base64
import json
import threading
from pathlib import Path
from typing import Any

import urllib3
import yaml

Object = dict[str, Any]
MERGE = "application/merge-patch+json"


class Cluster:
    """Requests with the client certificate of a kubeconfig; `work` takes the certificate's files."""

    def __init__(self, kubeconfig: Path, work: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        parts = {"ca": cluster["certificate-authority-data"]}
        parts |= {"cert": user["client-certificate-data"], "key": user["client-key-data"]}
        for name, data in parts.items():
            (work / f"{name}.pem").write_bytes(base64.b64decode(data))
        self._server = cluster["server"]
        self._pool = urllib3.PoolManager(
            ca_certs=str(work / "ca.pem"),
            cert_file=str(work / "cert.pem"),
            key_file=str(work / "key.pem"),
            maxsize=16,
            timeout=urllib3.Timeout(connect=10, read=60),
            retries=urllib3.Retry(3, backoff_factor=0.2),
        )

    def close(self) -> None:
        self._pool.clear()

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and decoded JSON of one request; a PATCH is a merge patch."""
        kind = MERGE if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body)
        answer = self._pool.request(method, self._server + path, body=data, headers={"Content-Type": kind})
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.status, json.loads(answer.data) if is_json else answer.data.decode()

    def stream(self, path: str) -> urllib3.BaseHTTPResponse:
        return self._pool.request(
            "GET", self._server + path, preload_content=False, timeout=urllib3.Timeout(connect=10, read=600)
        )


class History:
    """Every version of the objects below a path, in order, as a watch told of them."""

    def __init__(self, cluster: Cluster, path: str) -> None:
        self.versions: list[Object] = []
        self._answer = cluster.stream(f"{path}?watch=true&allowWatchBookmarks=false&timeoutSeconds=600")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def of(self, name: str) -> list[Object]:
        return [body for body in list(self.versions) if body["metadata"]["name"] == name]

    def close(self) -> None:
        self._answer.shutdown()
        self._thread.join(10)
        self._answer.close()

    def _read(self) -> None:
        rest = b""
        try:
            for part in self._answer.stream(65536, decode_content=True):
                *lines, rest = (rest + part).split(b"\n")
                self.versions.extend(json.loads(line)["object"] for line in lines if line.strip())
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            return  # closed
