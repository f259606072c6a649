"""``harness site``: write all reports, their index and the history as a static site."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from harness.cli.common import (
    asv_option,
    json_option,
    path_option,
    plugin_option,
    print_json,
    results_option,
    say,
)
from harness.plugins.registry import NO_ALGORITHMS, load_registry


@click.command("site")
@path_option(
    "--output", "The folder of the site.", metavar="DIR", default=Path("site"), show_default=True
)
@click.option(
    "--most", type=int, default=30, show_default=True, help="Reports of so many newest runs."
)
@asv_option
@click.option("--open", "open_it", is_flag=True, help="Open the first page in a browser.")
@plugin_option
@results_option
@json_option
def command(
    *,
    output: Path,
    most: int,
    asv: Path | None,
    open_it: bool,
    plugins: tuple[Path, ...],
    results: Path,
    as_json: bool,
) -> None:
    """Write a static site: the index of the runs, the report of each, and the history.

    The folder needs no server program and no network; GitHub Pages can serve it as it is. A later
    call adds the reports of new runs and renews the index.
    """
    from harness.history.site import write_site

    registry = load_registry(plugins, packages=NO_ALGORITHMS)
    site = write_site(results, registry, output, most=most, asv=asv, progress=say)
    for note in site.notes:
        say(f"note: {note}")
    if as_json:
        print_json({"index": str(site.index), "reports": site.reports, "series": site.series})
    else:
        click.echo(site.index)
    if open_it:
        webbrowser.open(site.index.resolve().as_uri())
