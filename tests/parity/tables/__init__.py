"""The tables, one module a subject."""

from __future__ import annotations

from tests.parity.tables import (
    cli,
    console,
    content,
    dependents,
    failures,
    finalizers,
    injection,
    leadership,
    metrics,
    playbook_command,
    process,
    proxy,
    rundir,
    status,
    status_kept,
    substitution,
    triggers,
    variables,
    watches,
    watches_yaml,
)

ROWS = (
    *cli.ROWS,
    *process.ROWS,
    *watches_yaml.ROWS,
    *watches.ROWS,
    *substitution.ROWS,
    *content.ROWS,
    *rundir.ROWS,
    *variables.ROWS,
    *playbook_command.ROWS,
    *console.ROWS,
    *triggers.ROWS,
    *status.ROWS,
    *status_kept.ROWS,
    *failures.ROWS,
    *finalizers.ROWS,
    *leadership.ROWS,
    *proxy.ROWS,
    *injection.ROWS,
    *dependents.ROWS,
    *metrics.ROWS,
)
