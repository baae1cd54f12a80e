"""What tests need of a cluster whose pods run: one that this machine is, or one that kind makes."""

from __future__ import annotations

import json
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.errors import DevError
from tests.fixtures.manifests import kubectl
from tests.node import cgroups, images
from tests.node.images import StandIn
from tests.node.waiting import allowed, told

BUSYBOX = StandIn("localhost/busybox:1")
"""The image of the tests' own pods."""
Report = Callable[[str, float], None]


def unreported(_step: str, _seconds: float) -> None:
    """For whoever does not want to know."""


class Cluster(ABC):
    """A control plane with an audit log, and one node for pods; as a context manager it is started and stopped.

    This machine, and so the API server, reaches pods and Services. What it keeps is in `directory`; `report` is
    told each step of the start and its seconds. With `single_process_oom_kill`, a container of cgroups of version
    2 survives the process that the kernel ends for want of memory, as with version 1.
    """

    node: str
    """The name of the node that pods are on."""

    def __init__(
        self,
        directory: Path,
        report: Report = unreported,
        *,
        single_process_oom_kill: bool = False,
    ) -> None:
        self.directory = directory
        self.unified = any(each.unified for each in cgroups.own())
        self.kills_one_process = single_process_oom_kill or not self.unified
        self._report = report

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Return when the node is Ready. Raises DevError, and leaves nothing then."""
        self.check()
        try:
            self.make()
        except BaseException:
            self.stop()
            raise

    @property
    @abstractmethod
    def kubeconfig(self) -> Path:
        """The administrator's."""

    @property
    @abstractmethod
    def audit_log(self) -> Path:
        """One JSON event a line, of every request."""

    @abstractmethod
    def check(self) -> None:
        """Raises DevError where it cannot be started."""

    @abstractmethod
    def make(self) -> None:
        """What `start` does; what is left of it where it fails, `stop` removes."""

    @abstractmethod
    def stop(self) -> None:
        """Remove all that `start` has made, as far as it came."""

    @abstractmethod
    def crash(self) -> None:
        """End the node at once with all that runs on it, as a power cut does; its disk and the API server stay."""

    @abstractmethod
    def boot(self) -> None:
        """Start the node anew after `crash`, and return before it is Ready."""

    @abstractmethod
    def load(self, archive: Path) -> None:
        """Give the node the images of an archive. Raises DevError."""

    @abstractmethod
    def traces(self) -> Mapping[str, Sequence[str]]:
        """What a cluster of this kind leaves on the machine while it runs: after `stop` as before `start`."""

    def apply(self, body: Mapping[str, object], namespace: str) -> None:
        """Create or change one object. Raises DevError."""
        self.kubectl("apply", "-n", namespace, "-f", "-", given=json.dumps(body))

    def kubectl(self, *arguments: str, given: str = "", seconds: float = 60) -> str:
        """What kubectl prints, as administrator. Raises DevError when it fails."""
        command = [str(kubectl()), f"--kubeconfig={self.kubeconfig}", *map(told, arguments)]
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, check=False, timeout=allowed(seconds)
        )
        if done.returncode != 0:
            raise DevError(f"`kubectl {' '.join(arguments)}`: {done.stderr.strip()}")
        return done.stdout

    def load_stand_in(self, image: StandIn, archive: Path) -> None:
        """Give the node a shell under the name of an image, by way of `archive`. Raises DevError."""
        images.stand_in(image, archive)
        self.load(archive)
        archive.unlink()

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Report the step when it is over."""
        start = time.monotonic()
        yield
        self._report(step, time.monotonic() - start)
