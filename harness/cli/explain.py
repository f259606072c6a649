"""``harness explain ID``: why a trial would run again, or why it would not."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import plugin_option, results_option
from harness.plugins import load_registry


@click.command("explain")
@click.argument("id_", metavar="ID")
@click.option("-e", "--experiment", default="quick", show_default=True,
              help="The experiment to plan the trial from, beside the stored one.")
@plugin_option
@results_option
def command(id_: str, *, experiment: str, plugins: tuple[Path, ...], results: Path) -> None:
    """Explain the trial whose trial id or cell id starts with ID."""
    from harness import runs
    from harness.config import load_experiment
    from harness.explain import explain
    from harness.store import Store

    files = tuple(str(p.resolve()) for p in plugins)
    request = runs.Request(load_experiment(experiment), plugin_files=files, results=results)
    plan = runs.plan_request(request, load_registry(plugins))
    planned = next((t for t in plan.trials() if t.id.startswith(id_) or t.cell.startswith(id_)), None)
    with Store.open(results) as store:
        for line in explain(store, id_, planned):
            click.echo(line)
