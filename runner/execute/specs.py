"""Validates what a custom resource asks for by a role's argument specs, in a process beside the operator.

A process of its own, because Ansible is imported only where it runs; not a zygote's child, because it serves all
releases of Ansible, those included whose runs are started cold. One that ends is started again when it is needed.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.errors import RunError
from runner.execute.fork.zygote import ENDED_WITHIN, Zygote
from runner.execute.root import make_root
from runner.execute.rundir import empty_directory
from runner.execute.variables import to_snake

_AT_ONCE = 16
"""Questions under way; the process answers one after the other."""
_STARTS_WITHIN = 10.0
_ANSWERS_WITHIN = 2.0
"""Seconds; a tenth of a millisecond is usual."""
_WHAT = "the process that validates by argument specs"


class Specs:
    """The process, from the first question on. `directory` is ours alone; `environment` is that of runs."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = environment
        self._process: Zygote | None = None
        self._starting: asyncio.Task[None] | None = None
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self.starts = 0

    async def mistakes(
        self, file: Path, values: Mapping[str, Any], *, templated: bool = False
    ) -> list[Mapping[str, Any]]:
        """What is wrong with these values by the argument specs in `file`; each with a path, for `told`.

        `templated`: strings with Jinja in them will be templated, and are not looked at. Raises RunError where
        nobody can say.
        """
        answer = await self._answer({"file": str(file), "values": dict(values), "templated": templated})
        return list(answer["mistakes"])

    async def numbered(self, file: Path, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values with numbers and truths where the argument specs want them, and not strings of them.

        Templates of Ansible before 2.19 yield strings. Raises RunError where nobody can say.
        """
        answer = await self._answer({"file": str(file), "values": dict(values), "numbered": True})
        return dict(answer["values"])

    async def _answer(self, message: dict[str, Any]) -> Mapping[str, Any]:
        async with self._turns:
            answer = await self._ask(message)
        if "broken" in answer:
            raise RunError(f"the argument specs cannot be used: {answer['broken']}")
        return answer

    async def start(self) -> Zygote:
        """Have the process ready. Raises RunError. Whoever is cancelled meanwhile only stops waiting."""
        while self._process is None or not self._process.alive:
            if self._starting is None or self._starting.done():
                self._starting = asyncio.create_task(self._start())
                self._starting.add_done_callback(_seen)
            await asyncio.shield(self._starting)
        return self._process

    async def close(self) -> None:
        """End it."""
        if self._starting is not None:
            await asyncio.wait({self._starting})
        if self._process is not None:
            self._process.close()
            await self._process.ended(ENDED_WITHIN)

    async def _ask(self, message: dict[str, Any]) -> Mapping[str, Any]:
        """Once more where it has ended meanwhile: nothing but an answer comes of a question."""
        for last in (False, True):
            process = await self.start()
            try:
                return await process.ask(message, within=_ANSWERS_WITHIN)
            except RunError:
                if last or process.alive:
                    raise
            except OSError as error:
                raise RunError(f"{_WHAT} cannot be asked: {error}") from error
        raise AssertionError("unreachable")

    async def _start(self) -> None:
        process = None
        try:
            place = await asyncio.to_thread(lambda: empty_directory(make_root(self._directory) / ".specs"))
            process = Zygote.start("specs", place, {**os.environ, **self._environment})
            process.what = _WHAT
            async with asyncio.timeout(_STARTS_WITHIN):
                await process.ready
        except (RunError, OSError, TimeoutError) as error:
            if process is not None:
                process.kill()
            raise RunError(f"{_WHAT} cannot be started: {error or 'it is not ready'}") from error
        self.starts += 1
        self._process = process


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
        text += f".{key}"
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
