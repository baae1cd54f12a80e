"""The live table of the demo: what became of each custom resource, and how often and how long it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table

from bench.observer import Object, Observer
from bench.operator import OperatorProcess

CHILDREN = (
    ("apps/v1", "Deployment"),
    ("v1", "Service"),
    ("networking.k8s.io/v1", "Ingress"),
    ("v1", "Pod"),
    ("batch/v1", "Job"),
)
_COLUMNS = ("Kind", "Name", "Condition", "Runs", "Last run", "Children")


class Board:
    """Looks at the samples and their children whenever it is asked to, and draws them."""

    def __init__(
        self,
        observer: Observer,
        operator: OperatorProcess,
        group: str,
        samples: Mapping[str, str],
        console: Console,
    ) -> None:
        self._observer = observer
        self._operator = operator
        self._group = group
        self._samples = samples
        self._console = console
        self._live: Live | None = None

    @contextmanager
    def live(self) -> Iterator[None]:
        """Keep the table on the terminal while this lasts; draw nothing where there is no terminal."""
        if not self._console.is_terminal:
            yield
            return
        with Live(self.table(), console=self._console, transient=True, auto_refresh=False) as self._live:
            yield
        self._live = None

    def refresh(self) -> None:
        if self._live is not None:
            self._live.update(self.table(), refresh=True)

    def table(self) -> Table:
        """The table as it is now."""
        table = Table(*_COLUMNS)
        runs = self._runs()
        children = self._children()
        for kind, name in self._samples.items():
            body = self._observer.get(self._group, kind, name)
            seconds = runs.get((kind, name), [])
            owned = children.get(body["metadata"]["uid"], Counter[str]()) if body else Counter[str]()
            last = f"{seconds[-1]:.1f} s" if seconds else "-"
            table.add_row(kind, name, state(body), str(len(seconds)), last, _listed(owned))
        return table

    def _runs(self) -> dict[tuple[str, str], list[float]]:
        runs: dict[tuple[str, str], list[float]] = {}
        for record in self._operator.records("Reconciled"):
            if record["namespace"] == self._observer.namespace:
                runs.setdefault((record["kind"], record["name"]), []).append(record["seconds"])
        return runs

    def _children(self) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for api_version, kind in CHILDREN:
            for body in self._observer.list(api_version, kind):
                for ref in body["metadata"].get("ownerReferences", ()):
                    found.setdefault(ref["uid"], Counter()).update([kind])
        return found


def state(body: Object | None) -> str:
    """The condition that says most: Failure, Successful, Running, or what there is to say without one."""
    if body is None:
        return "[dim]deleted[/dim]"
    conditions = {item["type"]: item for item in (body.get("status") or {}).get("conditions", ())}
    if conditions.get("Failure", {}).get("status") == "True":
        return "[red]Failure[/red]"
    if conditions.get("Successful", {}).get("status") == "True":
        return "[green]Successful[/green]"
    return "[yellow]Running[/yellow]" if "Running" in conditions else "[dim]new[/dim]"


def _listed(owned: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(owned.items())) or "-"
