"""How a forked process begins and ends: as one that was started, with nothing of what belongs to its parent."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn


def heed_signals() -> None:
    """As a Python does that was just started."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def exit_after(work: Callable[[], int]) -> NoReturn:
    """Exit with what `work` returns, without running anything that belongs to the process we were forked from."""
    code = 1
    try:
        code = work()
    except SystemExit as ending:
        code = exit_code(ending)
    except BaseException:
        traceback.print_exc()
    finally:
        flush()
        os._exit(code)


def exit_as_python(code: int) -> NoReturn:
    """Exit as the interpreter does: threads, exit functions, buffers."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    finally:
        flush()
        os._exit(code)


def exit_code(ending: SystemExit) -> int:
    """The code of a process that ends with this, as the interpreter makes it."""
    if ending.code is None:
        return 0
    if isinstance(ending.code, int):
        return ending.code & 0xFF
    print(ending.code, file=sys.stderr)  # noqa: T201
    return 1


def flush() -> None:
    """Write out what is buffered; somebody may have closed the streams."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
