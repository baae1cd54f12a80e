"""The two zygotes as the operator sees them, and how a run is forked from them, or not at all."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from runner.errors import RunError, UnsureError
from runner.execute.child import Child, Said, lifeline
from runner.execute.fork.inside import wire
from runner.execute.fork.inside.supervisor import GIVEN_UP, GRACE
from runner.execute.stream import Parts

_INSIDE = Path(__file__).parent / "inside"
_PACKAGE = "ansible_operator_warm"
_START = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location(
    {_PACKAGE!r}, sys.argv[1] + '/__init__.py', submodule_search_locations=[sys.argv[1]]
)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
from {_PACKAGE}.server import start
start(sys.argv[2], int(sys.argv[3]))
"""
READY_WITHIN = 120.0
"""Seconds; two are usual."""
ANSWERS_WITHIN = 10.0
"""Seconds; some milliseconds are usual."""
_DIES_WITHIN = 5.0
"""Seconds from SIGKILL on; one that hangs in the kernel takes longer, and is left to itself."""
SURE_WITHIN = GRACE + 1
"""Seconds that a run which is not wanted any more may take to end, before what it is forked from is killed."""
ENDED_WITHIN = GRACE + GIVEN_UP + 3
"""Seconds for every process of a run, or below a zygote, to end or be given up."""
_log = structlog.get_logger(__name__)


class Zygote:
    """One zygote process. Each question is answered in turn; one that leaves a question unanswered is killed.

    `what` names it in messages.
    """

    def __init__(self, process: subprocess.Popen[bytes], pidfd: int, connection: socket.socket, said: int) -> None:
        self._process = process
        self.what = "the process that runs are forked from"
        self._said = Said(said, process.pid)
        self._connection = connection
        self._asked: deque[asyncio.Future[wire.Message]] = deque()
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.ready = self._expect()
        self._loop.add_reader(connection, self._on_answer)
        self._loop.add_reader(pidfd, self._on_end, pidfd)

    @classmethod
    def start(cls, kind: str, directory: Path, environment: Mapping[str, str]) -> Zygote:
        """Start a zygote of this kind, in `directory`; `ready` is done when it may be asked. Raises RunError."""
        with ExitStack() as undo, ExitStack() as given:
            try:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                undo.callback(ours.close)
                given.enter_context(theirs)
                said, stderr = wire.pipe(undo, given)
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _START, str(_INSIDE), kind, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    cwd=directory,
                    env=dict(environment),
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,  # Ctrl-C is for the operator alone
                )
                undo.callback(process.wait)
                undo.callback(process.kill)
                pidfd = os.pidfd_open(process.pid)
            except OSError as error:
                raise RunError(f"cannot start the process that runs are forked from: {error}") from error
            undo.pop_all()
        ours.setblocking(False)
        return cls(process, pidfd, ours, said)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._connection.fileno() >= 0 and self._process.poll() is None

    async def ask(
        self, message: wire.Message, descriptors: Sequence[int] = (), within: float | None = None
    ) -> wire.Message:
        """Its answer. Raises RunError when it is gone, or has not answered within so many seconds and was killed.

        Raises OSError, without having asked, when this process cannot open another file.
        """
        within = ANSWERS_WITHIN if within is None else within
        try:
            wire.send(self._connection, message, descriptors)
        except OSError as error:
            if wire.none_can_be_opened(error):
                raise
            raise RunError(f"{self.what} does not listen: {error}") from error
        try:
            async with asyncio.timeout(within):
                return await self._expect()
        except TimeoutError as error:
            _log.warning(f"Killing {self.what}: it does not answer", pid=self.pid)
            self.kill()
            raise RunError(f"{self.what} has not answered for {within:g} seconds") from error

    def close(self) -> None:
        """Ask nothing more; it ends when its children have."""
        if self._connection.fileno() >= 0:
            self._loop.remove_reader(self._connection)
            self._connection.close()
        for asked in self._asked:
            if not asked.done():
                asked.set_exception(RunError(f"{self.what} has ended"))
                asked.exception()  # whoever asked may have gone
        self._asked.clear()

    def kill(self) -> None:
        """End it at once. What it has forked goes on."""
        self._process.kill()
        self.close()

    async def ended(self, within: float) -> None:
        """Wait until the process is gone, after `close`; for so many seconds, then it is killed."""
        await asyncio.wait({self.gone}, timeout=within)
        if not self.gone.done():
            _log.warning(f"Killing {self.what}: it does not end", pid=self.pid)
            self.kill()
            await asyncio.wait({self.gone}, timeout=_DIES_WITHIN)

    def _expect(self) -> asyncio.Future[wire.Message]:
        answer: asyncio.Future[wire.Message] = self._loop.create_future()
        self._asked.append(answer)
        return answer

    def _on_end(self, pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        os.close(pidfd)
        self._process.wait()
        self._said.read()
        self.gone.set_result(None)
        for _ in list(self._asked):
            self._on_answer()  # it may have answered before
        self.close()

    def _on_answer(self) -> None:
        try:
            answer = wire.receive(self._connection)
        except BlockingIOError:
            return
        except OSError:
            answer = None
        if answer is None:
            self.close()
            return
        message, descriptors = answer
        wire.close(descriptors)
        asked = self._asked.popleft()
        if not asked.done():
            asked.set_result(message)


@dataclass(frozen=True, slots=True)
class Pair:
    """Those that were started with the same static environment, of which `key` is the hash."""

    key: str
    plays: Zygote
    modules: Zygote

    @property
    def alive(self) -> bool:
        return self.plays.alive and self.modules.alive

    async def introduce(self) -> str:
        """Wait until both are ready, and the second was told what it must know of the first; Ansible's version."""
        async with asyncio.timeout(READY_WITHIN):
            ready = await self.plays.ready
            if ready["unfit"]:
                raise RunError(ready["unfit"])
            await self.modules.ready
            await self.modules.ask({"tell": {"places": ready["places"]}}, within=READY_WITHIN)
        return str(ready["version"])

    async def look_after(self, within: float | None = None) -> None:
        """Kill each that does not answer."""
        for zygote in (self.plays, self.modules):
            with suppress(RunError, OSError):  # it has ended; or no file can be opened: then another time
                await zygote.ask({"alive": True}, within=within)

    async def fork(self, message: wire.Message, lock: int, on_end: Callable[[], None]) -> Child | str:
        """A run, or why there is none, which is certain; then this pair is of no use any more.

        Raises RunError when there is none for another reason, UnsureError when it is not certain. When this is
        cancelled, nothing runs either.
        """
        try:
            ends = _Ends.open(on_end)
        except OSError as error:
            raise RunError(f"cannot open what a run needs: {error}") from error
        try:
            with ends.sent:
                refused = await self._ask(message, lock, ends)
        except BaseException as error:
            await self._undo(ends)
            if isinstance(error, OSError):
                raise RunError(f"cannot ask for a run: {error}") from error
            raise
        if refused:
            await self._undo(ends)
            return refused
        await ends.child.read(ends.output)
        return ends.child

    async def _ask(self, message: wire.Message, lock: int, ends: _Ends) -> str:
        """Why there will be no run, else an empty string. Raises OSError."""
        try:
            # one after the other: a host alone does nothing, and ends with its connection
            answer = await self.modules.ask({}, [lock, ends.of_host])
            if "pid" in answer:
                answer = await self.plays.ask({**message, "host": answer["pid"]}, [lock, *ends.of_play])
        except RunError as error:
            return str(error)
        ends.child.pid = answer.get("pid", 0)
        return str(answer.get("refused", ""))

    async def _undo(self, ends: _Ends) -> None:
        """See to it that nothing of the run is under way, nor ever will be. Raises UnsureError when that fails."""
        os.close(ends.output)
        ends.child.end()
        if not await ends.child.ends_within(SURE_WITHIN):
            _log.warning("Killing the process that runs are forked from: it keeps a run that is not wanted")
            self.plays.kill()
            if not await ends.child.ends_within(ENDED_WITHIN):
                raise UnsureError("nothing was started again: an attempt to start this run cannot be ended")
        ends.child.close()


@dataclass(frozen=True, slots=True)
class _Ends:
    """What connects a run with us and its module host. Who has the copies of what is `sent` may hold the run."""

    child: Child
    output: int
    of_play: list[int]
    of_host: int
    sent: ExitStack

    @classmethod
    def open(cls, on_end: Callable[[], None]) -> _Ends:
        """Raises OSError."""
        with ExitStack() as ours, ExitStack() as theirs:
            asking, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.callback(asking.close)
            theirs.callback(asked.close)
            watched, held = lifeline(theirs, ours)
            output, written = wire.pipe(ours, theirs)
            status, told = wire.pipe(ours, theirs)
            parts, sent = wire.pipe(ours, theirs)
            ours.pop_all()
            child = Child(0, held)
            child.parts = Parts(parts)
            _tell_of_end(status, child, on_end)
            of_play = [watched, written, told, sent, asking.fileno()]
            return cls(child, output, of_play, asked.fileno(), theirs.pop_all())


def _tell_of_end(status: int, child: Child, on_end: Callable[[], None]) -> None:
    """The supervisor alone holds the other end, on which it writes the exit code last of all."""
    loop = asyncio.get_running_loop()
    said = bytearray()

    def on_status() -> None:
        data = os.read(status, 64)
        said.extend(data)
        if not data:
            loop.remove_reader(status)
            os.close(status)
            child.exited(int(said or b"137"))  # nothing is said by one that was killed
            on_end()

    loop.add_reader(status, on_status)
