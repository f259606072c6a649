"""``harness report``: the page of a run, made from the store alone."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from harness.cli.common import plugin_option, print_json, results_option
from harness.plugins import load_registry


@click.command("report")
@click.argument("run", default="latest")
@click.option("--markdown", is_flag=True, help="Print a summary for a pull request instead.")
@click.option("--json", "as_json", is_flag=True, help="Print all verdicts as JSON instead.")
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@plugin_option
@results_option
def command(
    run: str,
    *,
    markdown: bool,
    as_json: bool,
    open_it: bool,
    plugins: tuple[Path, ...],
    results: Path,
) -> None:
    """Write the report of RUN (an id, the start of one, or "latest") and print its path."""
    from harness import reporting

    registry = load_registry(plugins)
    if as_json:
        print_json(reporting.verdicts(results, run, registry))
    elif markdown:
        click.echo(reporting.summary(results, run, registry))
    else:
        path = reporting.write_run_report(results, run, registry)
        click.echo(path)
        if open_it:
            webbrowser.open(path.resolve().as_uri())
