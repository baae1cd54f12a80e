"""What admission costs: reviews a second, how long one takes, and what a burst does to a reconcile.

`python -m bench.admission` starts the control plane and an operator, and prints the figures. It asks as the API
server does, over TLS and kept connections, from a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import socket
import ssl
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from bench import accounting
from bench.observer import Observer, any_spec, condition, wait_for
from bench.operator import OperatorProcess
from runner.config.webhooks import path
from runner.dev.controlplane import ControlPlane
from runner.objects import GroupVersionKind
from runner.serve.certificates import LOCAL, Pair, issued

GROUP, VERSION = "bench.example.com", "v1"
API = f"{GROUP}/{VERSION}"
KINDS = ("Speced", "Tasked", "Busy")
SPECS = """
argument_specs:
  main:
    options:
      size: {type: int, required: true, description: How many}
      mode: {choices: [fast, safe]}
      disks: {type: list, elements: dict, options: {size_limit: {type: int, required: true}}}
"""
ADMIT = """
- name: Keep it small
  ansible.builtin.assert:
    that: size | int < 100
    fail_msg: "size {{ size }} is too much"
"""
BUSY = "- {name: Work, ansible.builtin.command: 'true', loop: '{{ range(%d) | list }}'}\n"
GOOD: dict[str, Any] = {"size": 3, "mode": "fast", "disks": [{"sizeLimit": 1}, {"sizeLimit": 2}]}
BAD: dict[str, Any] = {"size": 1000, "mode": "fast", "disks": [{"sizeLimit": 1}]}
WRONG: dict[str, Any] = {"size": "many", "disks": [{}]}


@dataclass
class Answers:
    """How long each took, in seconds, and whether it was right; those told to come back count as neither."""

    seconds: list[float] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    took: float = 0.0

    def add(self, more: Answers) -> None:
        self.seconds += more.seconds
        self.kinds += more.kinds
        self.took += more.took

    def p95(self) -> float:
        return statistics.quantiles(self.seconds, n=20)[-1] if len(self.seconds) > 1 else 0.0

    def __str__(self) -> str:
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(self.kinds.items()))
        rate = sum(self.kinds.values()) / self.took
        middle = statistics.median(self.seconds) * 1000 if self.seconds else 0.0
        return f"p50 {middle:.1f} ms, p95 {self.p95() * 1000:.1f} ms, {rate:.0f}/s; {told}"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Asker:
    """Asks the operator for reviews."""

    def __init__(self, session: aiohttp.ClientSession, port: int, tls: ssl.SSLContext) -> None:
        self._session = session
        self._port = port
        self._tls = tls

    async def ask(self, kind: str, spec: dict[str, Any], *, refused: bool, answers: Answers) -> None:
        gvk = GroupVersionKind(GROUP, VERSION, kind)
        body = {"apiVersion": gvk.api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
        request = {"uid": "u", "operation": "CREATE", "namespace": "default", "object": body, "userInfo": {}}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        url = f"https://127.0.0.1:{self._port}{path('validate', gvk)}"
        began = time.perf_counter()
        async with self._session.post(url, data=json.dumps(review), ssl=self._tls) as answer:
            response = (await answer.json())["response"]
        code = response.get("status", {}).get("code", 200)
        if code == 429:
            answers.kinds["told to come back"] += 1
            return
        answers.seconds.append(time.perf_counter() - began)
        answers.kinds["right" if (code == 422) == refused else f"WRONG ({code})"] += 1

    async def malformed(self, number: int) -> int:
        """How many of so many reviews with a few wrong bytes were answered by anything but 400."""
        chance, wrong = random.Random(20260101), 0  # noqa: S311  (the same ones each time)
        good = b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}'
        url = f"https://127.0.0.1:{self._port}{path('validate', GroupVersionKind(GROUP, VERSION, 'Speced'))}"
        for _ in range(number):
            raw = bytearray(good)
            for _ in range(chance.randint(1, 20)):
                raw[chance.randrange(len(raw))] = chance.randrange(256)
            async with self._session.post(url, data=bytes(raw), ssl=self._tls) as answer:
                wrong += answer.status != 400
        return wrong

    async def many(self, kind: str, number: int, at_once: int, bad: dict[str, Any]) -> Answers:
        """Every other one is to be refused."""
        answers, turns = Answers(), asyncio.Semaphore(at_once)

        async def one(index: int) -> None:
            async with turns:
                await self.ask(kind, bad if index % 2 else GOOD, refused=bool(index % 2), answers=answers)

        began = time.perf_counter()
        await asyncio.gather(*(one(index) for index in range(number)))
        answers.took = time.perf_counter() - began
        return answers


@contextmanager
def server_of_nothing(certificates: Path) -> Iterator[int]:
    """The port of a process that answers reviews without a look, over the same TLS."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        process = multiprocessing.get_context("fork").Process(target=_nothing, args=(listening, certificates))
        process.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            process.terminate()
            process.join()


def _nothing(listening: socket.socket, certificates: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        code = 422 if b'"many"' in await request.read() else 200
        return web.json_response({"response": {"uid": "u", "status": {"code": code}}})

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
    application = web.Application()
    application.router.add_post("/{path}", answer)
    web.run_app(application, sock=listening, ssl_context=tls, print=None)


def written(project: Path, commands: int) -> None:
    watches = []
    for kind in KINDS:
        role = project / "roles" / kind.lower()
        for name, text in (
            ("tasks/main.yml", BUSY % commands),
            ("tasks/admit.yml", ADMIT),
            ("meta/argument_specs.yml", SPECS),
        ):
            file = role / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(text))
        watch = {"group": GROUP, "version": VERSION, "kind": kind, "role": kind.lower(), "markUnsafe": True}
        if kind != "Busy":
            watch["admission"] = {"validate": {"tasks": "admit"} if kind == "Tasked" else True}
        watches.append(watch)
    (project / "watches.yaml").write_text(yaml.safe_dump(watches))


def defined(observer: Observer) -> None:
    for kind in KINDS:
        observer.apply(any_spec(API, kind))
        wait_for(f"{kind} to be served", partial(observer.serves, API, kind), seconds=30)


def reconciled(observer: Observer, size: int) -> float:
    """Seconds of one reconcile, from a change to Successful."""
    began = time.perf_counter()
    observer.apply({"apiVersion": API, "kind": "Busy", "metadata": {"name": "a"}, "spec": {"size": size}})

    def done() -> bool:
        body = observer.get(API, "Busy", "a") or {}
        found = condition(body, "Successful")
        current = found.get("observedGeneration") == body.get("metadata", {}).get("generation")
        return bool(current and found.get("status") == "True")

    wait_for("the reconcile", done, seconds=60, every=0.02)
    return time.perf_counter() - began


async def measured(
    asker: Asker, nothing: Asker, observer: Observer, operator: OperatorProcess, number: int, rounds: int
) -> None:
    for kind, bad in (("Speced", WRONG), ("Tasked", BAD)):
        await asker.many(kind, 10, 1, bad)  # warm
    one = await asker.many("Speced", number, 1, WRONG)
    say(f"by argument specs, one after the other: {one}")
    cpu = operator.cpu_seconds()
    load = await asker.many("Speced", number, 32, WRONG)
    used = operator.cpu_seconds() - cpu
    say(f"by argument specs, 32 at once: {load}; {used / number * 1000:.2f} ms CPU of the operator each")
    tasks = await asker.many("Tasked", max(20, number // 20), 1, BAD)
    say(f"by tasks, one after the other: {tasks}")
    before = operator.memory()
    wrong = await asker.malformed(5 * number)
    grown = (operator.memory() - before) / 2**20
    say(f"{5 * number} malformed reviews: {wrong} answered otherwise than by 400; memory {grown:+.1f} MiB")
    if rounds:
        await bursts(asker, nothing, observer, rounds)


async def bursts(asker: Asker, nothing: Asker, observer: Observer, rounds: int) -> None:
    """What a burst does to a reconcile, beside what the asking alone does: the client has the same processors."""
    cases = {
        "none": (None, "", {}),
        "of a server that does nothing": (nothing, "Speced", WRONG),
        "by argument specs": (asker, "Speced", WRONG),
        "by tasks": (asker, "Tasked", BAD),
    }
    took: dict[str, list[float]] = {name: [] for name in cases}
    found: dict[str, Answers] = {name: Answers() for name in cases}
    for index in range(rounds):
        for number, (name, (asked, kind, bad)) in enumerate(cases.items()):
            size = index * len(cases) + number
            reconciling = asyncio.create_task(asyncio.to_thread(reconciled, observer, size))
            if asked is not None:
                found[name].add(await asked.many(kind, 500, 500, bad))
            took[name].append(await reconciling)
    usual = statistics.median(took["none"])
    say(f"a reconcile takes {usual:.2f} s (median of {rounds}); in a burst of 500 reviews")
    for name, (asked, *_) in cases.items():
        if asked is not None:
            slower = slowed(took[name], took["none"])
            say(f"  {name}: {statistics.median(took[name]):.2f} s ({slower:+.0%}); {found[name]}")


def slowed(some: Sequence[float], others: Sequence[float]) -> float:
    """By what share; round by round, for what else the machine does changes in between."""
    return statistics.median(one / other for one, other in zip(some, others, strict=True)) - 1


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commands", type=int, default=20, help="that a reconcile runs (default: 20)")
    parsed = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place, ControlPlane(Path(place) / "plane") as plane:
        project, certificates = Path(place) / "project", Path(place) / "certificates"
        project.mkdir()
        certificates.mkdir()
        written(project, parsed.commands)
        pair: Pair = issued(LOCAL)
        (certificates / "tls.crt").write_bytes(pair.certificate)
        (certificates / "tls.key").write_bytes(pair.key)
        observer = Observer(plane.kubeconfig)
        defined(observer)
        flags = ("--webhooks=on", "--webhook-port=0", f"--webhook-cert-path={certificates}")
        with OperatorProcess(project, plane.kubeconfig, Path(place) / "work", *flags) as operator:
            (port,) = [record["webhooks"] for record in operator.records("Listening")]
            with server_of_nothing(certificates) as idle:
                asyncio.run(_asked(port, idle, pair, observer, operator, parsed.number, parsed.rounds))
            say(f"memory of the operator itself: {accounting.memory_alone(operator.pid) / 2**20:.0f} MiB")
        observer.close()


async def _asked(
    port: int, idle: int, pair: Pair, observer: Observer, operator: OperatorProcess, number: int, rounds: int
) -> None:
    tls = ssl.create_default_context(cadata=pair.authority.decode())
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        nothing = Asker(session, idle, tls)
        await measured(Asker(session, port, tls), nothing, observer, operator, number, rounds)


if __name__ == "__main__":
    main()
