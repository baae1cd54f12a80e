"""What `dev run` makes of its flags and its project."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from runner.commands.devrun import apply_samples, on_plane
from runner.config.settings import Settings


@pytest.mark.parametrize(
    ("made", "how"),
    [
        (["config/samples/kustomization.yaml", "crds/samples/a.yaml"], "-k config/samples"),
        (["crds/samples/a.yaml"], "-f crds/samples"),
        ([], "-f FILE"),
    ],
)
def test_how_samples_are_applied_is_said_as_one_would_type_it(tmp_path: Path, made: list[str], how: str) -> None:
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert (
        apply_samples(tmp_path, Path("/plane/kubeconfig")) == f"kubectl --kubeconfig /plane/kubeconfig apply {how}"
    )


def test_it_listens_where_no_other_operator_of_the_machine_does() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        settings = on_plane(Settings(user_metrics_bind_address=address), Path("kubeconfig"))
    assert (settings.proxy_port, settings.metrics_bind_address, settings.health_probe_bind_address) == (
        0,
        "0",
        "0",
    )
    assert (settings.user_metrics_bind_address, settings.webhook_port) == ("0", 0)


@pytest.mark.parametrize(("asked", "got"), [("auto", "dev"), ("off", "off")])
def test_the_api_server_asks_it_unless_webhooks_are_off(asked: str, got: str) -> None:
    assert on_plane(Settings(webhooks=asked), Path("kubeconfig")).webhooks == got
