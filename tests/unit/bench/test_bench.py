"""The benchmark's arithmetic."""

from __future__ import annotations

import io

from rich.console import Console

from bench.bench import Burst, Idle, overlaps, report


def run(name: str, began: float, seconds: float) -> dict[str, object]:
    return {"name": name, "began": began, "seconds": seconds}


def test_runs_of_one_object_after_each_other_do_not_overlap() -> None:
    assert overlaps([run("a", 0, 1), run("a", 1, 1), run("b", 0.5, 1)]) == 0


def test_a_run_that_begins_before_the_one_before_has_ended_is_an_overlap() -> None:
    assert overlaps([run("a", 5, 1), run("a", 0, 1), run("a", 0.9, 1)]) == 1


def test_the_report_shows_stages_cpu_and_memory() -> None:
    stream = io.StringIO()
    stages = {"waited": (0.5, 0.9), "ansible": (1.2, 1.4)}
    burst = Burst(10, 11, 0, 20.0, 0.029, 50 * 2**20, stages)
    report(burst, Idle(5000, 60 * 2**20, 4.2), Console(file=stream, width=200))
    shown = stream.getvalue()
    for fact in ("ansible", "1200 ms", "1400 ms", "overlapping: 0", "29 ms", "60 MiB", "4.2 s"):
        assert fact in shown
