"""What a scrape reads: how the queue, the watches, the runs and the zygotes are at that moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from runner import families
from runner.control.queue import WorkQueue
from runner.control.sources import Watching
from runner.families import Sample
from runner.kube.reflector import Phase
from runner.objects import GroupVersionKind, ObjectKey


@dataclass(frozen=True, slots=True)
class Readings:
    """`workers` and `controllers` are those of each kind in watches.yaml: the most at a time, and the name.

    `ages` says for how many seconds each run has been under way, `disk` how many bytes runs have left.
    `zygotes` and `zygote_starts` are the executor's.
    """

    workers: Mapping[GroupVersionKind, int]
    controllers: Mapping[GroupVersionKind, str]
    queue: WorkQueue
    watching: Watching
    ages: Callable[[], Mapping[ObjectKey, float]]
    disk: Callable[[], int]
    zygotes: Callable[[], int]
    zygote_starts: Callable[[], Mapping[str, int]]

    def __call__(self) -> Iterator[Sample]:
        yield from self._queued()
        yield from self._running()
        yield from self._watched()
        yield families.DISK, (), self.disk()
        yield families.ZYGOTES, (), self.zygotes()
        for result, count in self.zygote_starts().items():
            yield families.ZYGOTE_STARTS, (result,), count

    def _queued(self) -> Iterator[Sample]:
        depths, work = self.queue.depths(), self.queue.work()
        for gvk, most in self.workers.items():
            name = self.controllers[gvk]
            depth, done = depths.get(gvk), work.get(gvk)
            ages = done.ages if done else ()
            yield families.MOST_ACTIVE, (name,), most
            yield families.ACTIVE, (name,), depth.active if depth else 0
            yield families.DEPTH, (name, name), depth.due if depth else 0
            yield families.ADDS, (name, name), done.added if done else 0
            yield families.RETRIES, (name, name), done.retried if done else 0
            yield families.UNFINISHED, (name, name), sum(ages)
            yield families.LONGEST, (name, name), max(ages, default=0.0)

    def _running(self) -> Iterator[Sample]:
        ages: dict[GroupVersionKind, list[float]] = {gvk: [] for gvk in self.workers}
        for key, age in self.ages().items():
            ages[key.gvk].append(age)
        for gvk, found in ages.items():
            yield families.OBJECTS, (*_kind(gvk), "Running"), len(found)
            yield families.OLDEST, _kind(gvk), max(found, default=0.0)

    def _watched(self) -> Iterator[Sample]:
        kinds = dict.fromkeys((gvk, "resource") for gvk in self.workers)
        states: Counter[tuple[GroupVersionKind, str, Phase]] = Counter()
        for reflector, resource, dependent in self.watching.reflectors():
            for purpose in ("resource",) * resource + ("dependent",) * dependent:
                kinds[reflector.gvk, purpose] = None
                states[reflector.gvk, purpose, reflector.phase] += 1
            yield families.RESTARTS, (str(reflector.gvk), reflector.namespace), reflector.restarts
        for gvk, purpose in kinds:
            for phase in Phase:
                yield families.WATCHED, (*_kind(gvk), purpose, str(phase)), states[gvk, purpose, phase]


def _kind(gvk: GroupVersionKind) -> tuple[str, str, str]:
    return gvk.group, gvk.version, gvk.kind
