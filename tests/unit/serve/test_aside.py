"""A loop in a thread of its own, and what is done at home for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from runner.serve.aside import Aside, at_home


@pytest.fixture
async def aside() -> AsyncIterator[Aside]:
    aside = Aside("aside")
    aside.start()
    yield aside
    await aside.stop()


async def where(problem: str = "") -> threading.Thread:
    if problem:
        raise ValueError(problem)
    return threading.current_thread()


async def test_work_is_done_in_the_thread(aside: Aside) -> None:
    assert (await aside.run(where())).name == "aside"


async def test_an_error_is_its_callers(aside: Aside) -> None:
    with pytest.raises(ValueError, match="wrong"):
        await aside.run(where("wrong"))


async def test_work_goes_on_while_the_loop_at_home_is_busy(aside: Aside) -> None:
    done = threading.Event()

    async def tell() -> None:
        await asyncio.sleep(0)
        done.set()

    running = asyncio.create_task(aside.run(tell()))
    await asyncio.sleep(0)
    assert done.wait(10)  # without giving up this loop's thread
    await running


async def test_what_belongs_home_is_done_there(aside: Aside) -> None:
    called = at_home(where)

    async def ask() -> threading.Thread:
        return await called()

    assert await aside.run(ask()) is threading.current_thread()
    assert await aside.run(where()) is not threading.current_thread()


async def test_whoever_gives_up_ends_what_is_done_at_home(aside: Aside) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def last() -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    called = at_home(last)

    async def ask() -> None:
        await called()

    asking = asyncio.create_task(aside.run(ask()))
    await asyncio.wait_for(begun.wait(), 10)
    asking.cancel()
    await asyncio.wait_for(ended.wait(), 10)


async def test_nothing_of_it_is_left_when_it_has_stopped() -> None:
    aside = Aside("left")
    aside.start()
    await aside.stop()
    assert "left" not in {thread.name for thread in threading.enumerate()}


async def test_one_that_was_never_started_stops_as_well() -> None:
    await Aside("never").stop()
