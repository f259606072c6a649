"""``harness explain ID``: why a trial would run again, or why it would not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import plugin_option, results_option
from harness.errors import HarnessError
from harness.model import Trial
from harness.plugins import load_registry

if TYPE_CHECKING:
    from harness.runs import Request


@click.command("explain")
@click.argument("id_", metavar="ID")
@plugin_option
@results_option
def command(id_: str, *, plugins: tuple[Path, ...], results: Path) -> None:
    """Explain the trial whose trial id or cell id starts with ID."""
    from harness import runs
    from harness.explain import explain
    from harness.store import Store

    with Store.open(results) as store:
        stored = explain(store, id_)
        trial = store.find(id_)[0]
        measured_in = [run for _, run in store.history(trial.cell) if run]
        try:
            request = runs.request_of(store.run(measured_in[-1])) if measured_in else None
            planned = _planned_now(request, trial, plugins) if request else None
        except HarnessError as error:
            stored.append(f"it cannot be planned any more: {error}")
            planned = None
        click.echo("\n".join(explain(store, id_, planned) if planned else stored))


def _planned_now(request: Request, trial: Trial, plugins: tuple[Path, ...]) -> Trial | None:
    """Return the trial as today's code and data would plan it, from its run's own request."""
    from harness import runs

    files = (*request.plugin_files, *map(str, plugins))
    plan = runs.plan_request(request, load_registry(files))
    return next((t for t in plan.trials() if t.cell == trial.cell), None)
