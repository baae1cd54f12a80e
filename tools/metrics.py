"""Prints docs/metrics.md from the code, so that it cannot say anything else."""

from __future__ import annotations

import sys

from runner.families import GROUPS, Family, Type
from tools.reference import table

HEAD = """\
# Metrics

Made from the code by `make reference`. `/metrics` is served at `--metrics-bind-address`, in Prometheus's text
format. [how-to/alerts.md](how-to/alerts.md) says what to do about the alerts of `config/prometheus/rules.yaml`;
`config/grafana/ansible-operator.json` is a dashboard to import. Metrics of roles (`osdk_metric`) come beside
these: [collection.md](collection.md).

Times are in seconds. `GVK` is `<group>/<version>, Kind=<Kind>`; `controller` and `name` are
`<kind>-<version>-controller`. What a kind of watches.yaml can count is there from the start, as 0. What only the
leader does is 0 on the others. What describes a state is read when it is scraped.
"""
TAIL = """\
## Of the process

`process_*` (CPU, memory, open files, start) and `python_gc_*`, as Prometheus's client for Python has them: of the
operator alone, without the runs.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, families in GROUPS.items():
        rows = [_row(family) for family in families]
        parts.append(
            "\n".join([f"## {title}", "", *table(("metric", "type", "labels", "meaning", "asks"), rows), ""])
        )
    return "\n".join([*parts, TAIL])


def _row(family: Family) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"`{family.name}`", _type(family), labels, family.meaning, family.question


def _type(family: Family) -> str:
    if family.type is not Type.HISTOGRAM:
        return str(family.type)
    return f"histogram, {family.buckets[0]:g} to {family.buckets[-1]:g}"


if __name__ == "__main__":
    sys.stdout.write(page())
