"""One control plane: start it until pods can be created, look at it, end it.

The directory tells the whole story (`controlplane.json`, a record a process), so that another process,
or a later one, can go on from whatever state this one left behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from runner.dev import processes
from runner.dev.api import (
    NODE_PATH,
    Api,
    api_ready,
    first_objects,
    pods_admitted,
    pods_possible,
    port_taken,
    wait_until,
    with_kubelet,
)
from runner.dev.certificates import create_certificates, write_kubeconfig
from runner.dev.components import (
    NAMES,
    POD_LOG,
    Component,
    Options,
    all_components,
    audit_policy,
    pod_logs,
)
from runner.dev.directory import (
    State,
    check_mark,
    first_missing,
    put_mark,
    read_state,
    remove_directory,
    remove_files,
    write_state,
)
from runner.dev.layout import HOST, Layout, Ports, choose_ports
from runner.dev.processes import Process, locked_directory
from runner.dev.programs import Programs, find_programs
from runner.errors import ComponentError, DevError

ATTEMPTS = 5
# How long data that is kept may take to be written out.
KEEP_GRACE_SECONDS = 10.0
DATA_STORE = ("etcd", "kube-apiserver")
CLIENTS = {name: name for name in ("kube-controller-manager", "kube-scheduler", "kwok")}

Report = Callable[[str, float], None]


@dataclass(frozen=True)
class ComponentStatus:
    """One component now; `process` is None when it does not run."""

    name: str
    process: Process | None


class ControlPlane:
    """The control plane in `directory`; as a context manager it is started and stopped.

    `programs` finds the programs when they are needed; `report` is told each step and its seconds.
    Everything blocks. Errors are DevError, with what to do about it.
    """

    def __init__(
        self,
        directory: Path | str,
        options: Options | None = None,
        *,
        programs: Callable[[], Programs] = find_programs,
        report: Report = lambda _step, _seconds: None,
    ) -> None:
        self.layout = Layout(Path(directory).expanduser().absolute())
        self._options = options or Options()
        self._programs = programs
        self._report = report

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig (client certificate, group system:masters)."""
        return self.layout.kubeconfig

    @property
    def audit_log(self) -> Path:
        """The audit log: one JSON event a line; there only when it was asked for."""
        return self.layout.audit_log

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def state(self) -> State | None:
        """What was started here; None when nothing was, or it was stopped and thrown away."""
        return read_state(self.layout.state)

    @property
    def ports(self) -> Ports:
        """Those of what was started here. DevError when nothing was."""
        return self._known_state().ports

    def api(self) -> Api:
        """A small blocking client of the API server, with every right. DevError when nothing was started."""
        return Api(self.layout, self.ports)

    def status(self) -> tuple[ComponentStatus, ...]:
        """Every component, running or not."""
        current = self.state()
        options = current.options if current else self._options
        return tuple(ComponentStatus(name, self._running(name)) for name in options.names)

    def is_running(self) -> bool:
        """Whether a start went through and every component still runs."""
        current = self.state()
        return current is not None and current.ready and all(status.process for status in self.status())

    def start(self) -> bool:
        """Start until pods can be created; False when it was running already.

        What a killed start left behind is ended and, unless kept, thrown away first. A start that fails leaves
        nothing but kept data. Raises DevError where the directory is neither empty nor a control plane's.
        """
        made = first_missing(self.layout.directory)
        with locked_directory(self.layout.directory):
            check_mark(self.layout)
            if self.is_running():
                return False
            previous = self.state()
            keep = self._options.keep or (previous is not None and previous.options.keep)
            self._end_all(grace=KEEP_GRACE_SECONDS if keep else 0)
            if not (previous and previous.options.keep):
                remove_files(self.layout)
            try:
                self._start(previous.ports if previous else None, replace(self._options, keep=keep), made)
            except BaseException as error:
                error.add_note(self._undo(made, kept=bool(previous and previous.options.keep)))
                raise
            return True

    def _undo(self, made: Path | None, *, kept: bool) -> str:
        """Leave nothing of a start that has failed but data that was kept before; says so."""
        if kept:
            return f"Every process was ended; the kept data and the logs are in {self.layout.directory}."
        remove_files(self.layout)
        remove_directory(self.layout, made)
        return "Nothing of it was left: every process was ended, every file removed."

    def stop(self, *, delete: bool = False) -> bool:
        """End every component; the data goes too, unless it is kept. False when there was nothing here.

        With `delete`, kept data goes as well. Raises DevError where the directory is neither empty nor a control
        plane's.
        """
        if not self.layout.directory.exists():
            return False
        with locked_directory(self.layout.directory):
            if not check_mark(self.layout):
                return False
            current = self.state()
            keep = current is not None and current.options.keep and not delete
            found = current is not None or any(status.process for status in self.status())
            self._end_all(grace=KEEP_GRACE_SECONDS if keep else 0)
            if not keep:
                remove_files(self.layout)
                remove_directory(self.layout)
            return found

    def stop_component(self, name: str, *, grace: float = 0) -> None:
        """End one component, at once or with `grace` seconds to do so: for tests of outages."""
        process = self._running(name)
        if process is not None:
            processes.end(process, grace)

    def start_component(self, name: str) -> None:
        """Start one component again as it was; wait for the API server to be ready when it is that one."""
        current = self._known_state()
        if self._running(name) is None:
            components = all_components(self.layout, current.ports, current.options)
            process = self._spawn(next(c for c in components if c.name == name), self._programs())
            if name in DATA_STORE:
                self._wait_for_api(Api(self.layout, current.ports), {name: process})

    def _start(self, ports: Ports | None, options: Options, made: Path | None) -> None:
        with self._timed("programs"):
            programs = self._programs()
        put_mark(self.layout, made)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._start_once(choose_ports(ports, options.address or HOST), options, programs)
            except ComponentError as error:
                self._end_all(grace=0)
                if attempt == ATTEMPTS or not port_taken(error):
                    raise
                ports = None
            except BaseException:
                self._end_all(grace=0)
                raise
            else:
                return

    def _start_once(self, ports: Ports, options: Options, programs: Programs) -> None:
        with self._timed("certificates"):
            self._write_files(ports, options)
        components = all_components(self.layout, ports, options)
        api = Api(self.layout, ports)
        with self._timed("etcd, kube-apiserver"):
            started = {c.name: self._spawn(c, programs) for c in components if c.name in DATA_STORE}
            self._wait_for_api(api, started)
        with self._timed("controllers, scheduler, node"):
            if options.address is None:
                _bootstrap(api, ports)
            ready = pods_possible if options.address is None else pods_admitted
            started |= {c.name: self._spawn(c, programs) for c in components if c.name not in DATA_STORE}
            wait_until("node ready", partial(ready, api), self.layout, started)
        write_state(self.layout.state, State(ports, options, ready=True))

    def _write_files(self, ports: Ports, options: Options) -> None:
        layout = self.layout
        for directory in (layout.config, layout.logs, layout.run, layout.data):
            directory.mkdir(mode=0o700, exist_ok=True)
        write_state(layout.state, State(ports, options, ready=False))
        create_certificates(layout.certificates, ports.host)
        write_kubeconfig(layout.kubeconfig, layout, ports.server, "admin")
        for component, client in CLIENTS.items():
            write_kubeconfig(layout.component_kubeconfig(component), layout, ports.server, client)
        layout.pod_log.write_text(POD_LOG)
        layout.pod_logs.write_text(yaml.safe_dump(pod_logs(layout)))
        if options.audit is not None:
            layout.audit_policy.write_text(yaml.safe_dump(audit_policy(options.audit)))

    def _spawn(self, component: Component, programs: Programs) -> Process:
        command = [str(programs.path(component.name)), *component.arguments]
        layout = self.layout
        return processes.spawn(
            command, layout.record(component.name), layout.log(component.name), layout.directory
        )

    def _wait_for_api(self, api: Api, started: Mapping[str, Process]) -> None:
        wait_until("kube-apiserver ready", partial(api_ready, api), self.layout, started)

    def _known_state(self) -> State:
        current = self.state()
        if current is None:
            raise DevError(
                f"{self.layout.directory}: no control plane here; start it with `ansible-operator dev up`"
            )
        return current

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self._report(step, time.monotonic() - start)

    def _running(self, name: str) -> Process | None:
        process = processes.recorded(self.layout.record(name))
        return process if process is not None and processes.alive(process) else None

    def _end_all(self, grace: float) -> None:
        # Backwards, so that nobody misses whom it talks to, and etcd is last to write its data.
        for name in reversed(NAMES):
            process = self._running(name)
            if process is not None:
                processes.end(process, grace)
            self.layout.record(name).unlink(missing_ok=True)


def _bootstrap(api: Api, ports: Ports) -> None:
    for collection, body in first_objects():
        status, answer = api.call("POST", collection, body)
        # 409: it is there already, in data that was kept.
        if status not in (201, 409):
            raise DevError(f"{body['kind']} {body['metadata']['name']}: not created: {status} {answer}")
    # Nobody else writes to the node yet. In data that was kept, the port is that of an earlier start.
    status, answer = api.call(
        "PUT", f"{NODE_PATH}/status", with_kubelet(api.call("GET", NODE_PATH)[1], ports.kubelet)
    )
    if status != 200:
        raise DevError(f"the port of the fake node was not set: {status} {answer}")
