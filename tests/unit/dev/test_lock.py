from __future__ import annotations

import fcntl
import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

from bench.observer import wait_for
from runner.dev.processes import locked_directory, locked_file

DEADLINE = 10.0


def is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def wait_until_opened(path: Path, times: int) -> None:
    def opened() -> bool:
        return sum(os.path.realpath(link) == str(path) for link in Path("/proc/self/fd").iterdir()) >= times

    wait_for(f"{path} to be open {times} times", opened, seconds=DEADLINE, every=0.01)


def test_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    with locked_directory(tmp_path / "plane"):
        assert stat.S_IMODE((tmp_path / "plane").stat().st_mode) == 0o700


def test_directory_is_locked_inside_and_free_afterwards(tmp_path: Path) -> None:
    with locked_directory(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_lock_ends_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked_file(tmp_path / "lock"):
        raise KeyError

    assert not (tmp_path / "lock").exists()


def test_directory_that_its_last_holder_removed_is_made_again(tmp_path: Path) -> None:
    directory = tmp_path / "plane"
    entered = threading.Event()

    def wait_for_it() -> None:
        with locked_directory(directory):
            assert directory.is_dir()
            entered.set()

    with locked_directory(directory):
        waiting = threading.Thread(target=wait_for_it)
        waiting.start()
        wait_until_opened(directory, times=2)
        shutil.rmtree(directory)
    waiting.join(DEADLINE)

    assert entered.is_set()
