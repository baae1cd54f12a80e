"""`pause`, `resume` and `reconcile`: annotations of a custom resource, set with a person's own credentials."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runner.config.settings import ClusterSettings
from runner.errors import NotFoundError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="its kind, as kubectl takes it; perhaps with .group")
    parser.add_argument("name", metavar="NAME", help="of the custom resource")
    parser.add_argument("-n", "--namespace", metavar="VALUE", help="(default: that of the kubeconfig)")
    parser.add_argument("--kubeconfig", default="", metavar="VALUE", help="(default: as for run)")
    if parser.prog.endswith(" pause"):
        parser.add_argument("--until", metavar="MOMENT", help="such as 2030-01-31T18:00:00Z (default: resume)")


def main(parsed: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Set the annotations, and say so; the exit code. Raises OperatorError."""
    changes, done = changes_of(parsed.command, getattr(parsed, "until", None), datetime.now(UTC))
    cluster = ClusterSettings.read(environment, parsed.kubeconfig)
    sys.stdout.write(asyncio.run(_annotated(parsed, cluster, changes, done)) + "\n")
    return 0


def changes_of(command: str, until: str | None, now: datetime) -> tuple[dict[str, str | None], str]:
    """The annotations to set, None to remove one, and what is to be said. Raises UsageError."""
    from runner.control.pause import PAUSED, RECONCILE, moment_of  # noqa: PLC0415  (run need not wait for it)

    if command == "resume":
        return {PAUSED: None}, "is resumed"
    if command == "reconcile":
        return {
            RECONCILE: now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        }, "is to be reconciled now"
    if until is None:
        return {PAUSED: "true"}, "is paused until it is resumed"
    moment = moment_of(until)
    if moment is None:
        raise UsageError(f"--until: {until!r} is no moment with its zone, such as 2030-01-31T18:00:00Z")
    if moment <= now:
        raise UsageError(f"--until: {until} has passed")
    return {PAUSED: until}, f"is paused until {until}"


async def _annotated(
    parsed: argparse.Namespace, cluster: ClusterSettings, changes: Mapping[str, str | None], done: str
) -> str:
    from runner.kube.named import find_kind, in_context  # noqa: PLC0415  (help need not wait for it)

    async with in_context(cluster) as context:
        resource = await find_kind(context.client, parsed.kind)
        namespace = (parsed.namespace or context.namespace) if resource.namespaced else ""
        shown = f"{resource.gvk.kind} {namespace + '/' if namespace else ''}{parsed.name}"
        try:
            answer = await context.client.request(
                "PATCH",
                resource.path(namespace, parsed.name),
                body={"metadata": {"annotations": dict(changes)}},
                content_type="application/merge-patch+json",
            )
        except NotFoundError:
            raise UsageError(f"there is no {shown}") from None
    return f"{shown} {done}{_but(parsed.command, answer)}"


def _but(command: str, body: Mapping[str, Any]) -> str:
    """What keeps the command from having its effect at once."""
    from runner.control.pause import PAUSED, pause_of  # noqa: PLC0415

    annotations = body["metadata"].get("annotations") or {}
    pause = pause_of(annotations.get(PAUSED), datetime.now(UTC)) if command == "reconcile" else None
    return f", but is paused {pause.told}" if pause else ""
