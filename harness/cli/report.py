"""``harness report``: write the report of a run from the store."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from harness.cli.common import plugin_option, print_json, results_option
from harness.core.errors import ConfigError
from harness.plugins.registry import NO_ALGORITHMS, load_registry


@click.command("report")
@click.argument("run", required=False)
@click.option("--all", "index", is_flag=True, help="Write an index over all runs instead.")
@click.option("--markdown", is_flag=True, help="Print a summary for a pull request instead.")
@click.option("--json", "as_json", is_flag=True, help="Print all verdicts as JSON instead.")
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@plugin_option
@results_option
def command(
    run: str | None,
    *,
    index: bool,
    markdown: bool,
    as_json: bool,
    open_it: bool,
    plugins: tuple[Path, ...],
    results: Path,
) -> None:
    """Write the report of RUN (an id, the start of one, or "latest") and print its path."""
    from harness import reporting

    if sum((index, markdown, as_json)) > 1 or (index and run is not None):
        raise ConfigError("--all, --markdown and --json exclude each other, and --all names no run")
    registry = load_registry(plugins, packages=NO_ALGORITHMS)
    chosen = run or "latest"
    if as_json:
        print_json(reporting.verdicts(results, chosen, registry))
    elif markdown:
        click.echo(reporting.summary(results, chosen, registry))
    else:
        path = (
            reporting.write_index(results, registry)
            if index
            else reporting.write_run_report(results, chosen, registry)
        )
        click.echo(path)
        if open_it:
            webbrowser.open(path.resolve().as_uri())
