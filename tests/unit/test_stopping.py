"""The first signal asks to stop, the second ends the process, however close to each other they come."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

PROGRAM = """
import asyncio, os, time
from runner.stopping import stopped_by_signals

async def main():
    stopping = asyncio.Event()
    with stopped_by_signals(stopping, lambda: os.write(1, b"restored\\n")):
        print("ready", flush=True)
        {waiting}
        await stopping.wait()
        print("stopping", flush=True)
        await asyncio.sleep({afterwards})

asyncio.run(main())
"""


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    waiting, afterwards = request.param
    program = PROGRAM.format(waiting=waiting, afterwards=afterwards)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


QUICK = ("pass", 0)
SLOW = ("pass", 60)
BLOCKED = ("time.sleep(60)", 0)


@pytest.mark.parametrize("started", [QUICK], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_lets_the_operator_end_in_order(started: subprocess.Popen[str], number: signal.Signals) -> None:
    started.send_signal(number)
    assert started.wait(20) == 0


@pytest.mark.parametrize("started", [SLOW, BLOCKED], indirect=True, ids=["stopping", "with a loop that hangs"])
def test_two_signals_at_once_end_the_process_at_once(started: subprocess.Popen[str]) -> None:
    started.send_signal(signal.SIGTERM)
    started.send_signal(signal.SIGINT)
    assert started.wait(20) == 1
    assert started.stdout is not None
    assert started.stdout.read().endswith("restored\n")


@pytest.mark.parametrize("started", [SLOW], indirect=True)
def test_a_signal_that_comes_again_ends_the_process_at_once(started: subprocess.Popen[str]) -> None:
    assert started.stdout is not None
    started.send_signal(signal.SIGTERM)
    assert started.stdout.readline() == "stopping\n"
    started.send_signal(signal.SIGTERM)
    assert started.wait(20) == 1
