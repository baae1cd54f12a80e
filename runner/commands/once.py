"""`run-once`: one reconcile of one custom resource from a laptop, shown as ansible-playbook shows a play."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from runner.config.arguments import unquoted
from runner.config.expressions import uses_children
from runner.config.flags import RUN_FLAGS, add_flags
from runner.config.settings import Settings, read_settings
from runner.config.watches import Engine, Watch
from runner.config.watchesfile import load_watches
from runner.control.attempt import Attempt, Listeners, Result, Verdict
from runner.control.message import failure_message
from runner.control.plan import Occasion, Skip, defaults_of, plan
from runner.control.reconciler import Reconciler
from runner.control.request import Reasons, Request, Trigger
from runner.errors import KindAbsentError, KubeError, NotFoundError, SettingsError
from runner.execute.console import Console
from runner.execute.executor import Executor
from runner.execute.outcome import Outcome
from runner.execute.root import private_root
from runner.execute.run import Event, Run
from runner.kube.client import Client
from runner.kube.discovery import Discovery, ObjectsApi, Resource
from runner.kube.mark_key import MarkKey
from runner.kube.named import choose
from runner.kube.recorder import Recorder
from runner.logs import configure_logs
from runner.objects import GroupVersionKind, ObjectKey, Owner
from runner.serve.grants import Grant
from runner.serve.proxy import Proxy
from runner.stopping import either, ended, stopped_by_signals

FLAGS = (
    "watches-file",
    "kubeconfig",
    "ansible-roles-path",
    "ansible-collections-path",
    "ansible-args",
    "run-deadline",
    "runner-dir",
    "prune-key-file",
)
"""Of `run`, those that mean something for one reconcile."""
_LAST_EVENTS = 5.0
"""Seconds that the Events of the reconcile may take to be written."""
_LEASES = "/apis/coordination.k8s.io/v1/leases"
_OF_KUBERNETES = ("kube-system", "kube-node-lease")
_SKIPPED = {
    "not selected": "its labels do not match the `selector` of its watch",
    "terminated": "it is being deleted, and the finalizer of its watch is not among its finalizers",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="as kubectl takes it: plural, short, kind or KIND.GROUP")
    parser.add_argument("name", metavar="NAME", help="of the custom resource")
    parser.add_argument("-n", "--namespace", default="", help="its namespace (default: the kubeconfig's)")
    parser.add_argument("--check", action="store_true", help="change nothing, show what would be")
    parser.add_argument("--diff", action="store_true", help="show the differences of what changes")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="as often as for ansible-playbook")
    add_flags(parser, [flag for flag in RUN_FLAGS if flag.name in FLAGS])


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """The exit code: 0 reconciled, 1 nothing was run, 2 the play failed, 130 interrupted. Raises OperatorError."""
    settings = read_settings(parsed, environment, terminal=sys.stderr.isatty())
    configure_logs("error", settings.log_encoder)
    watches, notes = load_watches(settings.watches_file, Path.cwd(), settings.environment)
    for note in notes:
        _say(f"Warning: {note}")
    wanted = Wanted(parsed.kind, parsed.name, parsed.namespace, parsed.check)
    return asyncio.run(_run(for_one_run(settings, parsed), watches, wanted))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for on the command line; an empty namespace is the kubeconfig's."""

    kind: str
    name: str
    namespace: str
    check: bool


def for_one_run(settings: Settings, parsed: argparse.Namespace) -> Settings:
    """As little output as ansible-playbook has, in colour on a terminal, and with its own flags."""
    flags = [f"--{name}" for name in ("check", "diff") if getattr(parsed, name)]
    colour = {"ANSIBLE_FORCE_COLOR": "1"} if sys.stdout.isatty() and "NO_COLOR" not in settings.environment else {}
    return replace(
        settings,
        ansible_verbosity=parsed.verbose,
        ansible_args=" ".join(filter(None, [unquoted(settings.ansible_args), *flags])),
        executor=Engine.COLD,
        environment={**settings.environment, **colour},
    )


def held(leases: Iterable[Mapping[str, Any]], now: datetime) -> list[str]:
    """The Leases that somebody holds now, but for Kubernetes' own: `namespace/name by holder`."""
    return [
        f"{lease['metadata']['namespace']}/{lease['metadata']['name']} by {lease['spec']['holderIdentity']}"
        for lease in leases
        if lease["metadata"].get("namespace") not in _OF_KUBERNETES and _is_held(lease.get("spec") or {}, now)
    ]


def _is_held(spec: Mapping[str, Any], now: datetime) -> bool:
    try:
        renewed = datetime.fromisoformat(spec["renewTime"])
        return bool(spec["holderIdentity"]) and renewed + timedelta(seconds=spec["leaseDurationSeconds"]) > now
    except (KeyError, TypeError, ValueError):
        return False


class Live(Console):
    """Shows what a run prints as it comes, and nothing else."""

    def __call__(self, _run: Run, event: Event) -> None:
        if event.get("stdout"):
            sys.stdout.write(f"{event['stdout']}\n")
            sys.stdout.flush()

    def exited(self, run: Run, return_code: int, stdout: Path) -> None:
        """All was shown."""


class WritesNothing(ObjectsApi):
    """Answers writes as if they had been made."""

    async def replace(self, _key: ObjectKey, body: object) -> dict[str, Any]:
        return dict(body) if isinstance(body, Mapping) else {}

    async def remove(self, _key: ObjectKey, _meta: object) -> dict[str, Any]:
        return {}

    async def replace_status(self, _key: ObjectKey, body: object) -> dict[str, Any]:
        return dict(body) if isinstance(body, Mapping) else {}


async def _run(settings: Settings, watches: Iterable[Watch], wanted: Wanted) -> int:
    by_kind = {watch.gvk: watch for watch in watches}
    stopping = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.enter_context(stopped_by_signals(stopping))
        client = await Client.connect(settings.cluster)
        stack.push_async_callback(client.close)
        discovery = Discovery(client)
        resource = await _resource(wanted, discovery, by_kind)
        watch = replace(by_kind[resource.gvk], engine=Engine.COLD)
        namespace = (wanted.namespace or await client.namespace()) if resource.namespaced else ""
        key = ObjectKey(resource.gvk, namespace, wanted.name)
        await _look(key, watch, settings, ObjectsApi(client, discovery))
        await _warn_of_others(client, key)
        one = _One(client, discovery, settings, watch, check=wanted.check)
        reconciling = asyncio.create_task(one.reconcile(stack, key))
        await either(stopping.wait(), asyncio.wait({reconciling}))
        if stopping.is_set():
            await ended(reconciling)
            _say(f"{key}: interrupted")
            return 130
        return one.conclude(key, reconciling.result())


async def _resource(wanted: Wanted, discovery: Discovery, watches: Mapping[GroupVersionKind, Watch]) -> Resource:
    served = []
    for gvk in watches:
        try:
            served.append(await discovery.resource(gvk))
        except KindAbsentError as error:
            if wanted.kind.lower().partition(".")[0] in (gvk.kind.lower(), f"{gvk.kind.lower()}s"):
                raise SettingsError(str(error)) from None
    there_are = ", ".join(sorted(f"{kind.plural}.{kind.gvk.group}" for kind in served)) or "none that is served"
    return choose(wanted.kind, served, f"{wanted.kind} is no kind that watches.yaml names: there are {there_are}")


async def _look(key: ObjectKey, watch: Watch, settings: Settings, objects: ObjectsApi) -> None:
    """Raises SettingsError where there is nothing to run."""
    try:
        body = await objects.get(key)
    except NotFoundError:
        raise SettingsError(f"there is no {key}: is it in another namespace (-n)?") from None
    step = plan(body, watch, defaults_of(settings, key.gvk), Occasion(datetime.now(UTC)))
    if isinstance(step, Skip):
        raise SettingsError(f"nothing is to be run for {key}: {_SKIPPED.get(step.reason, step.reason)}")


async def _warn_of_others(client: Client, key: ObjectKey) -> None:
    """An operator in the cluster reconciles the object as well; its Lease shows it, where it has one."""
    try:
        leases = (await client.request("GET", _LEASES, tries=1)).get("items") or ()
    except KubeError:  # not allowed to look; it is only for a note
        return
    for lease in held(leases, datetime.now(UTC)):
        _say(
            f"Note: the Lease {lease} is held: if that is the operator of {key}, it reconciles it at the same time"
        )


class _One:
    """The parts of an operator that one reconcile takes."""

    def __init__(
        self, client: Client, discovery: Discovery, settings: Settings, watch: Watch, *, check: bool
    ) -> None:
        self._check = check
        self._outcome: Outcome | None = None
        self._recorder = Recorder(client)
        self._proxy = Proxy(
            client,
            discovery,
            port=0,
            inject=settings.inject_owner_ref,
            watched=lambda gvk: gvk == watch.gvk,
            keeps_children=lambda _: any(map(uses_children, watch.status.values())),
            marks=MarkKey(client, settings).marks,
        )
        self._executor = Executor(private_root(settings.runner_dir), settings.environment, console=Live())
        self._reconciler = Reconciler(
            {watch.gvk: watch},
            objects=(WritesNothing if check else ObjectsApi)(client, discovery),
            executor=self._executor,
            recorder=self._recorder,
            grant=self._grant,
            listeners=Listeners(self._finished),
            defaults=partial(defaults_of, settings),
        )

    def _grant(self, owner: Owner) -> Grant:
        grant = self._proxy.grant(owner)
        if self._check:
            grant.only_dry_runs()
        return grant

    async def reconcile(self, stack: AsyncExitStack, key: ObjectKey) -> Result:
        """Nothing of a run is left once the stack is closed."""
        stack.push_async_callback(self._executor.close)
        stack.push_async_callback(self._proxy.stop)
        await self._proxy.start()
        if not self._check:  # else Events are recorded, but never sent
            recording = asyncio.create_task(self._recorder.run())
            stack.push_async_callback(ended, recording)
            stack.push_async_callback(self._recorder.drained, _LAST_EVENTS)
        return await self._reconciler.reconcile(
            Request(key, frozenset({Trigger.CREATED}), reasons=Reasons.of(Trigger.REQUESTED))
        )

    def _finished(self, attempt: Attempt, _result: Result) -> None:
        self._outcome = attempt.outcome

    def conclude(self, key: ObjectKey, result: Result) -> int:
        """The last line, and the exit code."""
        failure = failure_message(self._outcome) if self._outcome else None
        mode = ", and nothing was written (check mode)" if self._check else ""
        match result.verdict:
            case Verdict.CHECKED:
                _say(f"{key}: checked, and nothing was changed: its annotation asks for check mode")
                return 0
            case Verdict.SUCCEEDED | Verdict.REQUEUED:
                _say(f"{key}: reconciled{mode}")
                return 0
            case Verdict.FAILED if self._outcome is not None:
                _say(f"{key}: failed{mode}: {failure}")
                return 2
        _say(f"{key}: {result.verdict}, nothing was run")
        return 1


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
