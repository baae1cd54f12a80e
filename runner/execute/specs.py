"""Validates what a custom resource asks for by a role's argument specs, in processes of their own.

Of their own, because Ansible is imported only where it runs; not a zygote's children, because they serve all
releases of Ansible, those included whose runs are started cold. A server, started again when needed, forks
workers; each worker answers one question at a time, within limits, so that no question delays the others.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from runner.errors import BusyError, ExceededError, RunError
from runner.execute.fork.inside import wire
from runner.execute.fork.zygote import ENDED_WITHIN, Zygote
from runner.execute.root import make_root
from runner.execute.rundir import empty_directory
from runner.execute.variables import LONGEST_SHOWN, to_snake

LARGE = 16 * 1024
"""Bytes of a question that is large: it waits for other large ones, and its worker has a low priority."""
_SMALL_AT_ONCE, _LARGE_AT_ONCE = 4, 2
_SMALL_CPU, _LARGE_CPU = 0.1, 1.0
"""Seconds of processor time for one question; a tenth of a millisecond is usual. A question that exceeds the first
counts as large: `1e999999999` for a whole number takes as long as a large spec.
"""
_NICE = 10
PATIENCE = 2.5
"""Seconds that a question may wait for its turn."""
_STARTS_WITHIN = 10.0
_FORKS_WITHIN = 2.0
_ANSWERS_WITHIN = 4.0
"""Seconds; a tenth of a millisecond is usual. The worker's limit comes first, unless the machine is overloaded."""
_WHAT = "the process that validates by argument specs"


class Specs:
    """The server and its workers, from the first question on.

    `directory` is ours alone; `environment` is that of runs.
    """

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = environment
        self._server: Zygote | None = None
        self._starting: asyncio.Task[None] | None = None
        self._idle: list[socket.socket] = []
        self._closed = False
        self._small = asyncio.Semaphore(_SMALL_AT_ONCE)
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self.starts = 0

    async def mistakes(
        self, file: Path, values: Mapping[str, Any], *, templated: bool = False
    ) -> list[Mapping[str, Any]]:
        """What is wrong with these values by the argument specs in `file`; each with a path, for `told`.

        `templated`: strings with Jinja in them will be templated, and are not looked at. Raises BusyError where
        there is no turn, ExceededError for values that take too much, and RunError where nobody can say.
        """
        answer = await self._answer({"file": str(file), "values": dict(values), "templated": templated})
        return list(answer["mistakes"])

    async def numbered(self, file: Path, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values with numbers and truths where the argument specs want them, and not strings of them.

        Templates of Ansible before 2.19 yield strings. Raises as `mistakes` does.
        """
        answer = await self._answer({"file": str(file), "values": dict(values), "numbered": True})
        return dict(answer["values"])

    async def start(self) -> Zygote:
        """Have the server ready. Raises RunError. Whoever is cancelled meanwhile only stops waiting."""
        while self._server is None or not self._server.alive:
            if self._starting is None or self._starting.done():
                self._starting = asyncio.create_task(self._start())
                self._starting.add_done_callback(_seen)
            await asyncio.shield(self._starting)
        return self._server

    async def close(self) -> None:
        """End it, and each worker that is still asked when it has answered."""
        self._closed = True
        if self._starting is not None:
            await asyncio.wait({self._starting})
        while self._idle:
            self._idle.pop().close()
        if self._server is not None:
            self._server.close()
            await self._server.ended(ENDED_WITHIN)

    async def _answer(self, message: dict[str, Any]) -> Mapping[str, Any]:
        question = json.dumps(message).encode()
        answer: wire.Message = {"exceeded": ""}
        if len(question) <= LARGE:
            async with _turn(self._small):
                answer = await self._ask(question, large=False)
        if "exceeded" in answer:
            async with _turn(self._large):
                answer = await self._ask(question, large=True)
        if "exceeded" in answer:
            raise ExceededError(_too_much(answer["exceeded"]))
        if "broken" in answer:
            raise RunError(f"the argument specs cannot be used: {answer['broken']}")
        return answer

    async def _ask(self, question: bytes, *, large: bool) -> wire.Message:
        """Again where a worker ended while it had nothing to do; a worker for a large question ends with it."""
        while True:
            fresh = large or not self._idle
            worker = await self._fork(large=large) if fresh else self._idle.pop()
            answer = None
            try:
                answer = await _answered(worker, question, large=large)
                if answer is not None:
                    return answer
                if fresh:
                    raise RunError(f"{_WHAT} was ended before it answered")
            finally:
                if large or answer is None or "exceeded" in answer or self._closed:
                    worker.close()
                else:
                    self._idle.append(worker)

    async def _fork(self, *, large: bool) -> socket.socket:
        """The connection with a new worker; a server that has ended is started once more. Raises RunError."""
        limits = {"nice": _NICE, "cpu": _LARGE_CPU} if large else {"nice": 0, "cpu": _SMALL_CPU}
        for last in (False, True):
            server = await self.start()
            ours, theirs = _connected()
            with theirs:
                try:
                    answer = await server.ask(limits, [theirs.fileno()], _FORKS_WITHIN)
                except BaseException as error:
                    ours.close()
                    if isinstance(error, OSError):
                        raise RunError(f"{_WHAT} cannot be asked: {error}") from error
                    if not isinstance(error, RunError) or last or server.alive:
                        raise
                    continue
            if "refused" in answer:
                ours.close()
                raise RunError(f"{_WHAT} {answer['refused']}")
            return ours
        raise AssertionError("unreachable")

    async def _start(self) -> None:
        server = None
        try:
            directory = await asyncio.to_thread(lambda: empty_directory(make_root(self._directory) / ".specs"))
            server = Zygote.start("specs", directory, {**os.environ, **self._environment})
            server.what = _WHAT
            async with asyncio.timeout(_STARTS_WITHIN):
                await server.ready
        except (RunError, OSError, TimeoutError) as error:
            if server is not None:
                server.kill()
            raise RunError(f"{_WHAT} cannot be started: {error or 'it is not ready'}") from error
        self.starts += 1
        self._server = server


@asynccontextmanager
async def _turn(turns: asyncio.Semaphore) -> AsyncIterator[None]:
    """Raises BusyError where there is none in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            await turns.acquire()
    except TimeoutError:
        raise BusyError("as many reviews are under way as may be: try again") from None
    try:
        yield
    finally:
        turns.release()


def _too_much(limit: str) -> str:
    return f"takes more than {limit} to validate by the argument specs: make it smaller"


def _connected() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection with a worker. Raises RunError."""
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError as error:
        raise RunError(f"{_WHAT} cannot be asked: {error}") from error
    ours.setblocking(False)
    return ours, theirs


async def _answered(worker: socket.socket, question: bytes, *, large: bool) -> wire.Message | None:
    """The worker's answer; None for a worker that has ended. Raises RunError."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(worker, ready.set)
    try:
        wire.send_encoded(worker, question)
        async with asyncio.timeout(_ANSWERS_WITHIN):
            await ready.wait()
        answer = wire.receive(worker)
    except (BrokenPipeError, ConnectionResetError):
        return None
    except TimeoutError as error:
        if large:
            raise ExceededError(_too_much(f"{_ANSWERS_WITHIN:g} s")) from error
        raise RunError(f"{_WHAT} has not answered for {_ANSWERS_WITHIN:g} seconds") from error
    except OSError as error:
        raise RunError(f"{_WHAT} cannot be asked: {error}") from error
    finally:
        loop.remove_reader(worker)
    return answer[0] if answer else None


def _seen(task: asyncio.Task[None]) -> None:
    """Whoever waits for it is told of its failure; there may be nobody."""
    if not task.cancelled():
        task.exception()


def told(mistake: Mapping[str, Any], spec: object, *, snake_case: bool) -> str:
    """A mistake for whoever wrote the spec: the path of the field as it is written there, and what is wrong."""
    path, keys = _written(mistake["path"], spec, snake_case=snake_case)
    text = str(mistake["text"])
    if snake_case and mistake["names"]:
        known = {name: keys.get(name) or field_name(name) for name in mistake["names"]}
        words = re.compile(r"\b(" + "|".join(map(re.escape, known)) + r")\b")
        text = words.sub(lambda found: known[found[0]], text)
    return f"{path}: {text}"


def field_name(variable: str) -> str:
    """The field of a custom resource that becomes this variable: in camelCase, where that leads back."""
    first, *others = variable.split("_")
    camel = first + "".join(word[:1].upper() + word[1:] for word in others)
    return camel if camel and to_snake(camel) == variable else variable


def _written(path: Sequence[str | int], spec: object, *, snake_case: bool) -> tuple[str, Mapping[str, str]]:
    """The path, and the keys of what is there by their variables."""
    text = "spec"
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            spec = spec[part] if isinstance(spec, list) and part < len(spec) else None
            continue
        key = (_keys(spec).get(part) or field_name(part)) if snake_case else part
        text += f".{key}" if len(key) <= LONGEST_SHOWN else f".{key[:LONGEST_SHOWN]}…"
        spec = spec.get(key) if isinstance(spec, Mapping) else None
    return text, _keys(spec)


def _keys(spec: object) -> Mapping[str, str]:
    """Of keys that meet, the one that `variables` chooses."""
    if not isinstance(spec, Mapping):
        return {}
    found: dict[str, str] = {}
    for key in sorted(spec, reverse=True):
        found[to_snake(key)] = key
    return found | {key: key for key in found if key in spec}
