"""The bundle of the sample operator before a real API server, and its scorecard."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from runner.cli import main
from runner.dev.controlplane import ControlPlane

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The sample operator's project, with its bundle."""
    for name in ("config", "crds", "roles", "playbooks"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "watches.yaml", tmp_path)
    assert main(["generate", "bundle", str(tmp_path), "--version=1.0.0", "--image=r.example.com/s:v1"]) == 0
    return tmp_path


def test_the_bundle_passes_its_scorecard_and_a_worse_one_does_not(
    project: Path, control_plane: ControlPlane, capfd: pytest.CaptureFixture[str]
) -> None:
    plane = f"--dir={control_plane.layout.directory}"
    arguments = ["scorecard", str(project / "bundle"), "--project", str(project), plane, "--output=json"]
    capfd.readouterr()
    assert main(arguments) == 0, capfd.readouterr().out
    states = _states(capfd.readouterr().out)
    assert set(states.values()) == {"pass"}
    assert len(states) == 6

    service = next((project / "bundle/manifests").glob("*_service.yaml"))
    service.write_text(service.read_text().replace("ports:", "prots:"))
    assert main([*arguments, "--selector=test=olm-bundle-validation-test", "--wait-time=0"]) == 1
    out = capfd.readouterr().out
    assert _states(out) == {"olm-bundle-validation": "fail"}
    assert 'unknown field \\"spec.prots\\"' in out


def _states(text: str) -> dict[str, str]:
    results = [result for test in json.loads(text)["items"] for result in test["status"]["results"]]
    return {result["name"]: result["state"] for result in results}
