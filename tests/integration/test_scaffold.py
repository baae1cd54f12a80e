"""A project that `init` and `create` have made: it is accepted, it runs, and it passes its own tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
import yaml

from bench.start import package, start
from runner.cli import main
from runner.dev.controlplane import ControlPlane
from tests.fixtures.commands import run_to_end
from tests.fixtures.manifests import define_cert_manager, kubectl

pytestmark = pytest.mark.cluster
VENV = Path(sys.prefix)
CREATED = re.compile(r"serverside-applied \(server dry run\)$", re.MULTILINE)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With two kinds, one of them in no namespace."""
    directory = tmp_path_factory.mktemp("scaffold") / "shop-operator"
    assert main(["init", "--domain", "example.com", str(directory)]) == 0
    with chdir(directory):
        web = ["--group", "web", "--version", "v1alpha1", "--kind", "Website"]
        shop = ["--group", "shop", "--version", "v1", "--kind", "Basket"]
        assert main(["create", "api", *web]) == 0
        assert main(["create", "api", *shop, "--cluster-scoped", "--playbook"]) == 0
        assert main(["create", "webhook", *web, "--tasks", "--defaulting"]) == 0
    return directory


@pytest.fixture(scope="module")
def defined(project: Path, control_plane: ControlPlane) -> Iterator[Path]:
    """The project, of which the API server knows the kinds and the namespace."""
    define_cert_manager(control_plane)
    _kubectl(control_plane, "apply", "-k", str(project / "config/crd"))
    _kubectl(control_plane, "create", "namespace", "shop-operator-system")
    _kubectl(control_plane, "wait", "--for=condition=Established", "-f", str(project / "crds"))
    yield project
    _kubectl(control_plane, "delete", "namespace", "shop-operator-system", "--wait=false")
    _kubectl(control_plane, "delete", "-k", str(project / "config/crd"))


@pytest.mark.xdist_group("scaffold")
@pytest.mark.parametrize("name", ["crd", "default", "samples"])
def test_the_api_server_accepts_every_object_with_every_field(
    name: str, defined: Path, control_plane: ControlPlane
) -> None:
    built = subprocess.run(
        [kubectl(), "kustomize", defined / "config" / name], check=True, capture_output=True, text=True
    ).stdout
    arguments = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"]
    answer = _kubectl(control_plane, *arguments, stdin=built)
    assert len(CREATED.findall(answer)) == len([item for item in yaml.safe_load_all(built) if item])


@pytest.mark.timeout(300)
def test_it_passes_its_own_tests(project: Path, tmp_path: Path) -> None:
    """ansible-lint in the production profile, `validate`, and molecule on a control plane of its own."""
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    environment["MOLECULE_EPHEMERAL_DIRECTORY"] = str(tmp_path / "molecule")  # else by the project's name alone
    tests = ["make", "test", f"VENV={VENV}", f"--old-file={VENV}/.ready"]
    ended = run_to_end(tests, project, environment, tmp_path, seconds=240)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    assert "1 successful" in re.sub(r"\x1b\[\d*m", "", ended.stdout + ended.stderr)


@pytest.mark.timeout(300)
def test_four_commands_lead_to_a_reconciled_custom_resource(tmp_path: Path) -> None:
    """Also with a role that a package brings. 20 seconds on a quiet machine: `make bench-start`."""
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    steps = start(own)
    role = package(own / "roles/website", tmp_path / "collections")
    with_package = start(other, from_role=role, collections=tmp_path / "collections")
    for taken in (steps, with_package):
        assert len(taken) == 4
        assert sum(step.seconds for step in taken) < 100
    assert not (other / "roles/website").exists()


def _kubectl(control_plane: ControlPlane, *arguments: str, stdin: str = "") -> str:
    command = [str(kubectl()), f"--kubeconfig={control_plane.kubeconfig}", *arguments]
    ended = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
