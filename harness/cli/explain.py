"""``harness explain ID``: why a trial would run again, or why it would not."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import plugin_option, results_option
from harness.errors import HarnessError
from harness.model import Trial
from harness.plugins import load_registry


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
        run = next(run for _, run in reversed(store.history(trial.cell)))
        try:
            planned = _planned_now(runs.request_of(store.run(run)), trial, plugins)
        except HarnessError as error:
            click.echo("\n".join([*stored, f"it cannot be planned any more: {error}"]))
            return
        click.echo("\n".join(explain(store, id_, planned) if planned else stored))


def _planned_now(request: object, trial: Trial, plugins: tuple[Path, ...]) -> Trial | None:
    """Return the trial as today's code and data would plan it, from its run's own request."""
    from harness import runs

    assert isinstance(request, runs.Request)
    files = (*request.plugin_files, *map(str, plugins))
    plan = runs.plan_request(request, load_registry(files))
    return next((t for t in plan.trials() if t.cell == trial.cell), None)
