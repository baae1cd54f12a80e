"""A cluster with one real node: the local control plane, and kubelet, kube-proxy and containerd in a sandbox."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from runner.dev.api import NODE_PATH, node_ready
from runner.dev.certificates import write_kubeconfig
from runner.dev.components import AuditLevel, Options
from runner.dev.controlplane import ControlPlane
from runner.dev.processes import Process, alive, tail
from runner.errors import DevError
from tests.fixtures.manifests import kubectl
from tests.node import files, images, network
from tests.node.programs import Programs, find_programs
from tests.node.sandbox import Sandbox
from tests.node.waiting import allowed, told

READY_WITHIN = 60.0
BUSYBOX = "localhost/busybox:1"
Report = Callable[[str, float], None]


class Cluster:
    """In `directory`; as a context manager it is started and stopped.

    `report` is told each step and its seconds. With `single_process_oom_kill`, a container of version 2 survives
    the process that the kernel ends for want of memory.
    """

    def __init__(
        self,
        directory: Path,
        report: Report = lambda _step, _seconds: None,
        *,
        single_process_oom_kill: bool = False,
    ) -> None:
        self.directory = directory
        self._node_directory = directory / "node"
        self._report = report
        self.plane = ControlPlane(
            directory / "plane", Options(audit=AuditLevel.METADATA, address=network.HOST_ADDRESS)
        )
        self.sandbox = Sandbox(self._node_directory)
        self.kills_one_process = single_process_oom_kill or not self.sandbox.unified
        self._daemons: dict[str, Process] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Return when the node is Ready. Raises DevError, and leaves nothing then."""
        other = network.running()
        if other is not None:
            raise DevError(f"{other}: a node runs there, one at a time; end it with `python -m tests.node down`")
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        with self._timed("programs"):
            programs = find_programs()
        with self._timed("sandbox"):
            self._enter(programs)
        with self._timed("control plane"):
            self.plane.start()
        with self._timed("images"):
            self._wait("containerd", self._containerd_answers)
            self._own_images(programs)
        with self._timed("node"):
            self._configure()
            self._serve()
            self._wait("the node to be Ready", self._node_ready)

    def stop(self) -> None:
        """Remove every process, mount, interface and cgroup, and the node's directory."""
        with ExitStack() as steps:  # backwards, and each even where another fails
            steps.callback(_remove_if_empty, self.directory)
            steps.callback(shutil.rmtree, self._node_directory, ignore_errors=True)
            steps.callback(self.plane.stop)
            steps.callback(network.disconnect)
            steps.callback(self.sandbox.stop)

    def crash(self) -> None:
        """End the node at once with all that runs on it, as a power cut does; its disk stays."""
        self.sandbox.stop()
        network.disconnect()

    def boot(self) -> None:
        """Start the node anew after `crash`, and return before it is Ready."""
        self._enter(find_programs())
        self._wait("containerd", self._containerd_answers)
        self._serve()

    def load(self, archive: Path) -> None:
        """Give the node the images of an archive."""
        self.sandbox.run("ctr", "--namespace=k8s.io", "images", "import", str(archive.absolute()))

    def apply(self, body: Mapping[str, object], namespace: str) -> None:
        """Create or change one object. Raises DevError."""
        self.kubectl("apply", "-n", namespace, "-f", "-", given=json.dumps(body))

    def kubectl(self, *arguments: str, given: str = "", seconds: float = 60) -> str:
        """What kubectl prints, as administrator. Raises DevError when it fails."""
        command = [str(kubectl()), f"--kubeconfig={self.plane.kubeconfig}", *map(told, arguments)]
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, check=False, timeout=allowed(seconds)
        )
        if done.returncode != 0:
            raise DevError(f"`kubectl {' '.join(arguments)}`: {done.stderr.strip()}")
        return done.stdout

    def _enter(self, programs: Programs) -> None:
        self.sandbox.start(programs)
        network.connect(self.sandbox.pid, self.directory)
        (self._node_directory / "containerd.toml").write_text(files.CONTAINERD)
        self._daemon("containerd")

    def _serve(self) -> None:
        self._daemon("kubelet")
        self._daemon("kube-proxy" if self._has_nat() else "services")

    def _daemon(self, name: str) -> None:
        self._daemons[name] = self.sandbox.spawn(name, files.COMMANDS[name])

    def _configure(self) -> None:
        directory, layout = self._node_directory, self.plane.layout
        shutil.copy(layout.certificate("ca"), directory / "ca.crt")
        for name in ("kubelet", "kube-proxy"):
            write_kubeconfig(directory / f"{name}.kubeconfig", layout, self.plane.ports.server, name)
        (directory / "kubelet.yaml").write_text(yaml.safe_dump(files.kubelet(self.kills_one_process)))
        (directory / "kube-proxy.yaml").write_text(yaml.safe_dump(files.kube_proxy()))
        (directory / "cni").mkdir(exist_ok=True)
        (directory / "cni" / "pods.conflist").write_text(json.dumps(files.cni()))

    def _own_images(self, programs: Programs) -> None:
        archive = self._node_directory / "image.tar"
        images.pause(programs.built / "pause", files.PAUSE_IMAGE, archive)
        self.load(archive)
        images.stand_in(programs.packages / "usr/bin/busybox", images.StandIn(BUSYBOX), archive)
        self.load(archive)
        archive.unlink()

    def _has_nat(self) -> bool:
        try:
            for change in ("--new-chain", "--delete-chain"):
                self.sandbox.run("iptables", "--table=nat", f"{change}=nat-is-there")
        except DevError:
            return False
        return True

    def _containerd_answers(self) -> bool:
        try:
            self.sandbox.run("ctr", "--connect-timeout=1s", "version")
        except DevError:
            return False
        return True

    def _node_ready(self) -> bool:
        status, node = self.plane.api().call("GET", NODE_PATH)
        return status == 200 and node_ready(node)

    def _wait(self, what: str, met: Callable[[], bool]) -> None:
        deadline = time.monotonic() + allowed(READY_WITHIN)
        while not met():
            for name, process in self._daemons.items():
                if not alive(process):
                    raise DevError(f"{name} has ended: {tail(self.sandbox.log(name))}")
            if time.monotonic() > deadline:
                said = "".join(f"\n  {name}: {tail(self.sandbox.log(name), 5)}" for name in self._daemons)
                raise DevError(f"{what}: not so within {READY_WITHIN:.0f} s; said last:{said}")
            time.sleep(0.05)

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self._report(step, time.monotonic() - start)


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):  # not empty, or gone
        directory.rmdir()
