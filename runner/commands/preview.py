"""`preview`: what applying a custom resource would change in the cluster, as `kubectl diff` shows it.

The resource is applied as a dry run, its role is performed in check mode on what came of that, and the dry runs of
both are compared with what is there.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import sys
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from runner.commands.once import FLAGS, for_one_run
from runner.config.arguments import partial_run
from runner.config.flags import RUN_FLAGS, add_flags
from runner.config.settings import Settings, read_settings
from runner.config.watches import Engine, Watch
from runner.config.watchesfile import load_watches
from runner.config.yamlfile import read_all_yaml
from runner.control import prune, superfluous
from runner.control.message import failure_message
from runner.control.pause import PLACES
from runner.differences import Difference, difference, masked
from runner.errors import KindAbsentError, NotFoundError, RunError, SettingsError
from runner.execute.executor import Executor
from runner.execute.outcome import Outcome
from runner.execute.run import Run
from runner.execute.variables import extra_vars
from runner.kube.client import Client
from runner.kube.discovery import Discovery, ObjectsApi
from runner.logs import configure_logs
from runner.marks import claimed_creator
from runner.objects import GroupVersionKind, Json, ObjectKey, Owner, texts
from runner.serve.grants import Grant
from runner.serve.proxy import Proxy
from runner.serve.touched import Touched
from runner.stopping import either, ended, stopped_by_signals

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MERGE = "application/merge-patch+json"
_DRY = {"dryRun": "All", "fieldValidation": "Strict"}  # unknown fields are refused, as by kubectl apply
NOTHING, CHANGES = 0, 1
"""Exit codes; an error is 2."""
PRUNED = "Would be pruned:\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--filename", required=True, metavar="FILE", help="the custom resource; - is stdin")
    parser.add_argument("-n", "--namespace", default="", help="its namespace, where FILE names none")
    add_flags(parser, [flag for flag in RUN_FLAGS if flag.name in FLAGS])


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """The exit code: 0 nothing would change, 1 something would, 130 interrupted. Raises OperatorError."""
    parsed.verbose, parsed.check, parsed.diff = 0, True, True
    asked = read_settings(parsed, environment, terminal=sys.stderr.isatty())
    settings, part = for_one_run(asked, parsed), partial_run(asked.ansible_args, asked.environment)
    configure_logs("error", settings.log_encoder)
    watches, notes = load_watches(settings.watches_file, Path.cwd(), settings.environment)
    for note in notes:
        sys.stderr.write(f"Warning: {note}\n")
    by_kind = {watch.gvk: watch for watch in watches}
    return asyncio.run(_main(_preview(settings, part, by_kind, _resources(parsed.filename), parsed.namespace)))


async def _main(preview: Coroutine[None, None, _Found]) -> int:
    stopping = asyncio.Event()
    with stopped_by_signals(stopping):
        previewing = asyncio.create_task(preview)
        await either(stopping.wait(), asyncio.wait({previewing}))
        if stopping.is_set():
            await ended(previewing)
            return 130
        found = previewing.result()
    for each in found.differences:
        sys.stdout.write("".join(lines(each)))
    if found.superfluous:
        sys.stdout.write("".join([PRUNED, *(f"- {key}\n" for key in found.superfluous)]))
    return CHANGES if found.differences or found.superfluous else NOTHING


def _resources(file: str) -> list[Json]:
    """The objects in the file. Raises SettingsError where there is none."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
    found = [node.plain() for node in read_all_yaml(text, file)]
    resources = [body for body in found if body is not None]
    if not resources or not all(isinstance(body, dict) and _name(body) for body in resources):
        raise SettingsError(f"{file} must hold custom resources: apiVersion, kind, and metadata with a name")
    return resources


def _name(body: Json) -> str:
    meta = body.get("metadata")
    return str(meta.get("name") or "") if isinstance(meta, dict) else ""


def applied(live: Json, wanted: Json) -> Json:
    """The merge patch that `kubectl apply` would send: what it applied before and is no longer wanted goes."""
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    try:
        before = json.loads(annotations.get(_APPLIED, "{}"))
    except ValueError:
        before = {}
    meta = wanted.get("metadata") or {}
    named = {**wanted, "metadata": {**meta, "annotations": meta.get("annotations") or {}}}  # kubectl adds its own
    return _patch(before if isinstance(before, dict) else {}, named)


def _patch(before: Json, wanted: Json) -> Json:
    gone = {key: None for key in before if key not in wanted and key != "status"}
    return gone | {
        key: _patch(inner if isinstance(inner := before.get(key), dict) else {}, value)
        if isinstance(value, dict)
        else value
        for key, value in wanted.items()
    }


def lines(found: Difference) -> Iterator[str]:
    """One object as a unified diff of YAML, without a Secret's values."""
    before, after = (_lines(body) for body in masked(found))
    yield from difflib.unified_diff(before, after, f"{found} (live)", f"{found} (applied)", n=3)


def _lines(body: Json | None) -> list[str]:
    return yaml.safe_dump(body, allow_unicode=True).splitlines(keepends=True) if body is not None else []


@dataclass(frozen=True, slots=True)
class _Found:
    """What would change, and the dependents that would be deleted as the run no longer deals with them."""

    differences: list[Difference] = field(default_factory=list)
    superfluous: list[ObjectKey] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Cluster:
    client: Client
    discovery: Discovery

    async def apply(self, key: ObjectKey, body: Json) -> tuple[Json | None, Json]:
        """The object as it is, if it is, and as it would be. Raises KubeError where it would be refused."""
        resource = await self.discovery.resource(key.gvk)
        if key.namespace:
            body = {**body, "metadata": {**body["metadata"], "namespace": key.namespace}}
        try:
            live = dict(await self.client.request("GET", resource.path(key.namespace, key.name)))
        except NotFoundError:
            path = resource.path(key.namespace)
            return None, dict(await self.client.request("POST", path, params=_DRY, body=body))
        path, patch = resource.path(key.namespace, key.name), applied(live, body)
        answer = await self.client.request("PATCH", path, params=_DRY, body=patch, content_type=_MERGE)
        return live, dict(answer)


async def _preview(
    settings: Settings,
    part: str,
    watches: Mapping[GroupVersionKind, Watch],
    resources: list[Json],
    namespace: str,
) -> _Found:
    """`part` is the option that makes runs only a part of their content, if one does."""
    async with AsyncExitStack() as stack:
        client = await Client.connect(settings.cluster)
        stack.push_async_callback(client.close)
        cluster = _Cluster(client, Discovery(client))
        proxy = Proxy(client, cluster.discovery, port=0, inject=settings.inject_owner_ref)
        directory = stack.enter_context(TemporaryDirectory())
        executor = Executor(Path(directory), settings.environment)
        stack.push_async_callback(executor.close)
        stack.push_async_callback(proxy.stop)
        await proxy.start()
        found, one = _Found(), _One(settings, part, cluster, proxy, executor)
        for body in resources:
            key, watch = await _place(body, watches, cluster, namespace)
            live, wanted = await cluster.apply(key, body)
            own = difference(key.gvk.kind, live, wanted)
            found.differences.extend([own] if own is not None else [])
            await one.perform(watch, key, wanted, found)
        return found


async def _place(
    body: Json, watches: Mapping[GroupVersionKind, Watch], cluster: _Cluster, namespace: str
) -> tuple[ObjectKey, Watch]:
    gvk = GroupVersionKind.of(str(body.get("apiVersion") or ""), str(body.get("kind") or ""))
    if gvk not in watches:
        raise SettingsError(f"{gvk} is no kind that watches.yaml names: {', '.join(map(str, watches)) or 'none'}")
    try:
        resource = await cluster.discovery.resource(gvk)
    except KindAbsentError as error:
        raise SettingsError(str(error)) from None
    written = str(body["metadata"].get("namespace") or "")
    if written and namespace and written != namespace:
        raise SettingsError(f"the namespace of {_name(body)} is {written}, and -n says {namespace}")
    place = (written or namespace or await cluster.client.namespace()) if resource.namespaced else ""
    return ObjectKey(gvk, place, _name(body)), watches[gvk]


@dataclass(frozen=True, slots=True)
class _One:
    """Performs the role or playbook of one custom resource after another in check mode."""

    settings: Settings
    part: str
    cluster: _Cluster
    proxy: Proxy
    executor: Executor

    async def perform(self, watch: Watch, key: ObjectKey, body: Json, found: _Found) -> None:
        """Adds what would change to `found`. Raises RunError where that cannot be told."""
        uid = str(body["metadata"].get("uid") or "preview")
        with self.proxy.grant(Owner(key.gvk, key.namespace, key.name, uid)) as grant:
            grant.only_dry_runs()
            touched = grant.take_account(_nobody)
            outcome = await self.executor.run(self._run(watch, key, body, grant))
            if not outcome.succeeded:
                raise RunError(f"{key}: the play failed in check mode: {failure_message(outcome)}")
            if grant.unread:
                raise RunError(f"{key}: could not be compared: {'; '.join(grant.unread)}")
            found.differences.extend(grant.differences)
        if watch.prune:
            found.superfluous.extend(await self._superfluous(grant.owner, body, outcome, touched))

    async def _superfluous(self, owner: Owner, body: Json, outcome: Outcome, touched: Touched) -> list[ObjectKey]:
        why = superfluous.reason_not_to_prune(outcome, self.part)
        if why:
            sys.stderr.write(f"Note: nothing of {owner.key} would be pruned after such a run: {why}\n")
            return []
        annotations = texts(body["metadata"].get("annotations"))
        listed, _, _ = annotations.get(PLACES, "").rpartition(";")
        objects = ObjectsApi(self.cluster.client, self.cluster.discovery)
        # The key of marks is the operator's: here a mark counts by the UID that it names.
        judge = superfluous.Judge(owner, touched, lambda found, _name: claimed_creator(found))
        findings = await prune.find(objects, superfluous.scopes_of(listed), judge)
        if findings.problems:
            raise RunError(f"{owner.key}: what would be pruned cannot be told: {'; '.join(findings.problems)}")
        return [key for key, _ in findings.superfluous]

    def _run(self, watch: Watch, key: ObjectKey, body: Json, grant: Grant) -> Run:
        return Run(
            ident="preview",
            key=key,
            uid=grant.owner.uid,
            content=watch.content,
            extra_vars=extra_vars(body, watch, finalizing=False).values,
            kubeconfig=grant.kubeconfig,
            verbosity=0,
            deadline=self.settings.run_deadline,
            gather_facts=self.settings.gather_facts,
            ansible_args=self.settings.ansible_args,
            rescued_tasks_fail=watch.rescued_tasks_fail,
            engine=Engine.COLD,
        )


async def _nobody(_kind: GroupVersionKind, _namespace: str) -> None:
    """Is told where the run has dependents, of which a dry run makes none."""
