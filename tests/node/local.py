"""This machine as a cluster: the local control plane, and kubelet, kube-proxy and containerd in a sandbox."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import yaml

from runner.dev.api import NODE_PATH, node_ready
from runner.dev.certificates import write_kubeconfig
from runner.dev.components import AuditLevel, Options
from runner.dev.controlplane import ControlPlane
from runner.dev.layout import NODE
from runner.dev.processes import Process, alive, tail
from runner.errors import DevError
from tests.node import files, images, network
from tests.node.cluster import BUSYBOX, Cluster, Report, unreported
from tests.node.programs import Programs, find_programs
from tests.node.sandbox import NAME, Sandbox
from tests.node.waiting import allowed

READY_WITHIN = 60.0
DAEMONS = ("kubelet", "kube-proxy", "containerd", "containerd-shim", "pause")


class LocalCluster(Cluster):
    """Its parts: a control plane, a sandbox, and the daemons in it."""

    node = NODE

    def __init__(
        self, directory: Path, report: Report = unreported, *, single_process_oom_kill: bool = False
    ) -> None:
        super().__init__(directory, report, single_process_oom_kill=single_process_oom_kill)
        self._node_directory = directory / "node"
        self._plane = ControlPlane(
            directory / "plane", Options(audit=AuditLevel.METADATA, address=network.HOST_ADDRESS)
        )
        self._sandbox = Sandbox(self._node_directory)
        self._daemons: dict[str, Process] = {}

    @property
    def kubeconfig(self) -> Path:
        return self._plane.kubeconfig

    @property
    def audit_log(self) -> Path:
        return self._plane.audit_log

    def check(self) -> None:
        other = network.running()
        if other is not None:
            raise DevError(f"{other}: a node runs there, one at a time; end it with `python -m tests.node down`")

    def make(self) -> None:
        with self.timed("programs"):
            programs = find_programs()
        with self.timed("sandbox"):
            self._enter(programs)
        with self.timed("control plane"):
            self._plane.start()
        with self.timed("images"):
            self._wait("containerd", self._containerd_answers)
            self._own_images(programs)
        with self.timed("node"):
            self._configure()
            self._serve()
            self._wait("the node to be Ready", self._node_ready)

    def stop(self) -> None:
        with ExitStack() as steps:  # backwards, and each even where another fails
            steps.callback(_remove_if_empty, self.directory)
            steps.callback(shutil.rmtree, self._node_directory, ignore_errors=True)
            steps.callback(self._plane.stop)
            steps.callback(network.disconnect)
            steps.callback(self._sandbox.stop)

    def crash(self) -> None:
        self._sandbox.stop()
        network.disconnect()

    def boot(self) -> None:
        self._enter(find_programs())
        self._wait("containerd", self._containerd_answers)
        self._serve()

    def load(self, archive: Path) -> None:
        self._sandbox.run("ctr", "--namespace=k8s.io", "images", "import", str(archive.absolute()))

    def traces(self) -> Mapping[str, Sequence[str]]:
        return {
            "mounts": Path("/proc/self/mounts").read_text().splitlines(),
            "interfaces": sorted(path.name for path in network.INTERFACES.iterdir()),
            "cgroups": sorted(map(str, Path("/sys/fs/cgroup").rglob(NAME))),
            "processes": sorted(_processes(*DAEMONS)),
        }

    def _enter(self, programs: Programs) -> None:
        self._sandbox.start(programs)
        network.connect(self._sandbox.pid, self.directory)
        (self._node_directory / "containerd.toml").write_text(files.CONTAINERD)
        self._daemon("containerd")

    def _serve(self) -> None:
        self._daemon("kubelet")
        self._daemon("kube-proxy" if self._has_nat() else "services")

    def _daemon(self, name: str) -> None:
        self._daemons[name] = self._sandbox.spawn(name, files.COMMANDS[name])

    def _configure(self) -> None:
        directory, layout = self._node_directory, self._plane.layout
        shutil.copy(layout.certificate("ca"), directory / "ca.crt")
        for name in ("kubelet", "kube-proxy"):
            write_kubeconfig(directory / f"{name}.kubeconfig", layout, self._plane.ports.server, name)
        (directory / "kubelet.yaml").write_text(yaml.safe_dump(files.kubelet(self.kills_one_process)))
        (directory / "kube-proxy.yaml").write_text(yaml.safe_dump(files.kube_proxy()))
        (directory / "cni").mkdir(exist_ok=True)
        (directory / "cni" / "pods.conflist").write_text(json.dumps(files.cni()))

    def _own_images(self, programs: Programs) -> None:
        archive = self._node_directory / "image.tar"
        images.pause(programs.built / "pause", files.PAUSE_IMAGE, archive)
        self.load(archive)
        self.load_stand_in(BUSYBOX, archive)

    def _has_nat(self) -> bool:
        try:
            for change in ("--new-chain", "--delete-chain"):
                self._sandbox.run("iptables", "--table=nat", f"{change}=nat-is-there")
        except DevError:
            return False
        return True

    def _containerd_answers(self) -> bool:
        try:
            self._sandbox.run("ctr", "--connect-timeout=1s", "version")
        except DevError:
            return False
        return True

    def _node_ready(self) -> bool:
        status, node = self._plane.api().call("GET", NODE_PATH)
        return status == 200 and node_ready(node)

    def _wait(self, what: str, met: Callable[[], bool]) -> None:
        deadline = time.monotonic() + allowed(READY_WITHIN)
        while not met():
            for name, process in self._daemons.items():
                if not alive(process):
                    raise DevError(f"{name} has ended: {tail(self._sandbox.log(name))}")
            if time.monotonic() > deadline:
                said = "".join(f"\n  {name}: {tail(self._sandbox.log(name), 5)}" for name in self._daemons)
                raise DevError(f"{what}: not so within {READY_WITHIN:.0f} s; said last:{said}")
            time.sleep(0.05)


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):  # not empty, or gone
        directory.rmdir()


def _processes(*names: str) -> Iterator[str]:
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = comm.read_text().strip()
        except OSError:  # ended meanwhile
            continue
        if name in names:
            yield f"{comm.parent.name} {name}"
