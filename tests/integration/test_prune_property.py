"""Random histories of runs, people and kills: pruning deletes what a resource's own runs left out, and no more."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import ClassVar

import pytest
import structlog
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from bench.observer import Observer
from runner.dev.api import Api
from runner.dev.controlplane import ControlPlane
from tests.fixtures.prune_ledger import DECORATIONS
from tests.fixtures.prune_plan import ANY, CUSTOMS, PLACES, Call, Change, Custom, Plan, Slot
from tests.fixtures.prune_world import World

pytestmark = pytest.mark.cluster

EXAMPLES = int(os.environ.get("PRUNE_EXAMPLES", "0"))
SEED = int(os.environ.get("PRUNE_SEED", "0")) or secrets.randbits(32)
STEPS = 10
READS = ("read", "read_oddly", "list", "list_all", "watch")
CALLS = (*("present",) * 4, "create", "generate", "apply", "replace", "rewrite", "delete", *READS)
ENDINGS = ("failure", "no recap", "requeue", "left out", "forgiven", "no task")
CUSTOM_CHANGES = ("edit", "pause", "check", "remove", "remake", "remark_custom", "forge_places")
OBJECT_CHANGES = (
    *("copy",) * 3, "copy_elsewhere", "swap", "own", "own", "forge", "remark", "adopt", "share", "protect",
    "touch", "delete",
)  # fmt: skip
KEYS = ("A", "A", "A", "A", "A", "A", "B", None)

slots = st.builds(Slot, st.sampled_from(PLACES), st.sampled_from("abc"))
customs = st.sampled_from((CUSTOMS[0], CUSTOMS[0], *CUSTOMS))
decorations = st.sampled_from(("",) * 8 + tuple(DECORATIONS))
keys = st.sampled_from(KEYS)
presents = st.builds(Call, st.just("present"), slots, decorations)
calls = st.builds(Call, st.sampled_from(CALLS), slots, decorations)
object_changes = st.builds(
    Change, st.sampled_from(OBJECT_CHANGES), slots, slots, customs, st.sampled_from(tuple(DECORATIONS))
)
changes_of_products = st.builds(
    Change,
    st.sampled_from(("copy",) * 8 + OBJECT_CHANGES),
    slots,
    slots,
    customs,
    st.sampled_from(tuple(DECORATIONS)),
)
foundlings = st.builds(Change, st.sampled_from(("own", "own", "forge")), slots, slots, customs)
custom_changes = st.builds(Change, st.sampled_from(CUSTOM_CHANGES), slots, slots, customs)
changes = st.one_of(object_changes, custom_changes)


def plans(
    scripts: st.SearchStrategy[tuple[Call, ...]], **more: st.SearchStrategy[object]
) -> st.SearchStrategy[Plan]:
    return st.builds(Plan, scripts, **more)


complete = plans(st.lists(presents, max_size=3).map(tuple))
plain = plans(st.lists(st.builds(Call, st.just("present"), slots), min_size=1, max_size=3).map(tuple))
incomplete = st.sampled_from((*ENDINGS, "partial"))
mixed = plans(
    st.lists(st.one_of(presents, calls), max_size=4).map(tuple),
    ending=st.sampled_from(("success",) * 4 + ENDINGS),
)
partial = plans(st.lists(presents, max_size=3).map(tuple), ending=st.just("partial"))
outside_slots = st.builds(Slot, st.just(PLACES[1]), st.sampled_from("abc"))
outside = plans(st.lists(st.builds(Call, st.just("present"), outside_slots), max_size=2).map(tuple))
ordinary = st.one_of(mixed, mixed, mixed, partial)
disturbed = plans(
    st.lists(st.one_of(presents, calls), max_size=2).map(tuple),
    changes=st.lists(st.tuples(st.integers(0, 3), changes), max_size=1).map(tuple),
    listed=st.one_of(st.none(), changes),
)
killed = plans(
    st.lists(presents, min_size=1, max_size=4).map(tuple),
    killed=st.sampled_from((0, 1, 2, 3, "after", "list", "delete")),
)


class Pruning(RuleBasedStateMachine):
    """Custom resources, runs of them by operators of several keys, and people who interfere."""

    runner: ClassVar[asyncio.Runner]
    world: ClassVar[World]
    names = count()

    def __init__(self) -> None:
        super().__init__()
        self.runner.run(self.world.begin(f"e{next(self.names)}"))
        for custom in CUSTOMS:
            self.runner.run(self.world.change(change_of("make", custom)))

    def teardown(self) -> None:
        self.runner.run(self.world.end())

    @rule(custom=customs, plan=complete, edit=st.booleans())
    def run_completely(self, custom: Custom, plan: Plan, edit: bool) -> None:
        self.reconcile(custom, plan, "A", 0, edit=edit)

    @rule(custom=customs, plan=ordinary, key=keys, which=st.sampled_from((0, 0, 0, 1)))
    def run_in_some_way(self, custom: Custom, plan: Plan, key: str | None, which: int) -> None:
        self.reconcile(custom, plan, key, which)

    @rule(custom=customs, before=plain, after=complete, endings=st.lists(incomplete, min_size=2, max_size=4))
    def run_incompletely(self, custom: Custom, before: Plan, after: Plan, endings: list[str]) -> None:
        """Runs that don't show everything that is wanted leave out what the one before produced."""
        self.reconcile(custom, before, "A", 0)
        for ending in endings:
            self.reconcile(custom, replace(after, ending=ending), "A", 0)
        self.reconcile(custom, before, "A", 0)

    @rule(custom=customs, before=plain, verb=st.sampled_from(READS))
    def only_read_what_a_run_produced(self, custom: Custom, before: Plan, verb: str) -> None:
        """What a run reads stays, in whichever way it reads."""
        self.reconcile(custom, before, "A", 0)
        self.reconcile(custom, Plan(tuple(Call(verb, call.slot) for call in before.calls)), "A", 0)

    @rule(
        custom=customs,
        before=plain,
        verb=st.sampled_from(("swap", "protect", "share", "touch")),
        which=decorations,
    )
    def change_what_is_about_to_be_pruned(self, custom: Custom, before: Plan, verb: str, which: str) -> None:
        """Somebody changes or replaces an object between the operator's look at it and its deletion."""
        self.reconcile(custom, before, "A", 0)
        change = Change(verb, before.calls[0].slot, ANY, custom, which)
        self.reconcile(custom, Plan((), listed=change), "A", 0)

    @rule(change=custom_changes, before=plain, after=complete, when=st.sampled_from((0, 9, "list")))
    def run_while_the_custom_resource_changes(
        self, change: Change, before: Plan, after: Plan, when: int | str
    ) -> None:
        """The run shows what was wanted, and not what is wanted now."""
        self.reconcile(change.custom, before, "A", 0)
        if isinstance(when, int):
            after = replace(after, changes=((when, change),))
        self.reconcile(change.custom, replace(after, listed=change if when == "list" else None), "A", 0)

    @rule(custom=customs, plan=disturbed)
    def run_while_somebody_interferes(self, custom: Custom, plan: Plan) -> None:
        self.reconcile(custom, plan, "A", 0)

    @rule(custom=customs, plan=killed)
    def run_until_killed(self, custom: Custom, plan: Plan) -> None:
        self.reconcile(custom, plan, "A", 0)

    @rule(one=mixed, other=mixed)
    def run_two_at_once(self, one: Plan, other: Plan) -> None:
        self.runner.run(self._two(one, other))
        self.judge()

    @rule(custom=customs, before=outside, after=outside)
    def recreate(self, custom: Custom, before: Plan, after: Plan) -> None:
        """What the predecessor's run created in another namespace outlives it."""
        self.reconcile(custom, before, "A", 0)
        self.change(change_of("remake", custom))
        self.reconcile(custom, after, "A", 0)

    @rule(custom=customs, change=changes_of_products, at_list=st.booleans(), kept=st.booleans(), after=complete)
    def change_what_a_run_produced(
        self, custom: Custom, change: Change, at_list: bool, kept: bool, after: Plan
    ) -> None:
        """Somebody changes or copies an object that a run has just produced, and the next run may leave it out."""
        produced = Plan((Call("present", change.slot),))
        self.reconcile(custom, produced, "A", 0)
        if not at_list:
            self.change(change)
        calls = after.calls + produced.calls * kept
        self.reconcile(custom, replace(after, calls=calls, listed=change if at_list else None), "A", 0)

    @rule(change=foundlings, ending=st.sampled_from(("success", *ENDINGS)), key=keys, after=complete)
    def write_what_somebody_made(self, change: Change, ending: str, key: str | None, after: Plan) -> None:
        """A run that succeeds adopts the custom resource's objects of unknown origin; others adopt nothing."""
        for slot in (change.slot, change.other):
            self.change(replace(change, verb="delete", slot=slot))
            self.change(replace(change, slot=slot))
        self.reconcile(change.custom, Plan((Call("present", change.slot),), ending), key, 0)
        self.reconcile(change.custom, after, "A", 0)

    @rule(change=object_changes)
    def change(self, change: Change) -> None:
        self.runner.run(self._change(change))
        self.judge()

    @rule(change=custom_changes)
    def change_custom(self, change: Change) -> None:
        self.change(change)

    @rule(key=keys, which=st.integers(0, 1))
    def kill(self, key: str | None, which: int) -> None:
        self.world.kill(key, which)

    def reconcile(self, custom: Custom, plan: Plan, key: str | None, which: int, *, edit: bool = False) -> None:
        self.runner.run(self._reconcile(custom, plan, key, which, edit=edit))
        self.judge()

    async def _reconcile(self, custom: Custom, plan: Plan, key: str | None, which: int, *, edit: bool) -> None:
        await self._ready(custom)
        if edit:
            await self.world.change(change_of("edit", custom))
        await self.world.reconcile(custom, plan, await self.world.operator(key, which))

    async def _two(self, one: Plan, other: Plan) -> None:
        operator = await self.world.operator("A", 0)
        pairs = list(zip(CUSTOMS, (one, other), strict=False))
        for custom, _ in pairs:
            await self._ready(custom)
        reconciles = (self.world.reconcile(custom, plan, operator, alone=False) for custom, plan in pairs)
        await asyncio.gather(*map(asyncio.create_task, reconciles))
        await self.world.look()

    async def _ready(self, custom: Custom) -> None:
        for verb in ("make", "resume"):
            await self.world.change(change_of(verb, custom))

    async def _change(self, change: Change) -> None:
        await self.world.change(change)
        await self.world.look()

    def judge(self) -> None:
        self.world.ledger.counts["steps"] += 1
        assert self.world.ledger.violations == []


def change_of(verb: str, custom: Custom) -> Change:
    return Change(verb, ANY, ANY, custom)


@pytest.fixture
def world(control_plane: ControlPlane, admin: Api, kinds: Observer, namespace: str) -> Iterator[World]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    elsewhere = f"{namespace}-too"
    admin.call("POST", "/api/v1/namespaces", {"metadata": {"name": elsewhere}})
    world = World(control_plane.kubeconfig, namespace, elsewhere)
    with asyncio.Runner() as runner:
        Pruning.runner, Pruning.world = runner, world
        runner.run(world.open())
        yield world
        runner.run(world.close())
    admin.call("DELETE", f"/api/v1/namespaces/{elsewhere}")


@pytest.mark.timeout(0 if EXAMPLES else 900)
def test_nothing_is_pruned_but_what_runs_of_that_very_resource_created_or_adopted_and_left_out(
    world: World,
) -> None:
    if EXAMPLES:
        print(f"PRUNE_EXAMPLES={EXAMPLES} PRUNE_SEED={SEED}", flush=True)
    machine = seed(SEED)(Pruning) if EXAMPLES else Pruning
    how = settings(
        max_examples=EXAMPLES or 13,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=not EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(machine, settings=how)
    finally:
        if EXAMPLES:
            print(dict(world.ledger.counts), flush=True)
    assert world.ledger.counts["pruned"] > 0
