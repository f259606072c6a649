"""``harness compare OLD NEW``: changes between two stored runs."""

from __future__ import annotations

import math
from pathlib import Path

import click

from harness.cli.common import (
    json_option,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
)
from harness.core.errors import ConfigError
from harness.plugins.registry import load_registry


@click.command("compare")
@click.argument("old")
@click.argument("new", default="latest")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Compare this metric too.")
@click.option(
    "--tolerance",
    "tolerances",
    multiple=True,
    metavar="METRIC=VALUE",
    help=(
        "Largest change that does not count, in the metric's unit (default: the declared margin)."
    ),
)
@click.option(
    "--markdown", is_flag=True, help="Print tables in Markdown for a pull request instead."
)
@plugin_option
@results_option
@json_option
def command(
    old: str,
    new: str,
    *,
    metrics: tuple[str, ...],
    tolerances: tuple[str, ...],
    markdown: bool,
    as_json: bool,
    plugins: tuple[Path, ...],
    results: Path,
) -> int:
    """Compare the runs OLD and NEW (ids, starts of ids, or "latest"), cell by cell.

    Scores are paired over the splits that both runs have; raw seconds have no verdict.
    Exit code 4 means that the runs have nothing in common.
    """
    from harness import reporting

    kept = dict(_tolerance(text) for text in tolerances)
    registry = load_registry(plugins)
    comparison = reporting.compare(results, (old, new), registry, metrics, kept)
    if as_json:
        print_json(reporting.format_comparison(comparison, "json"))
    elif markdown:
        click.echo(reporting.format_comparison(comparison, "markdown"), nl=False)
    else:
        for title, table in reporting.format_comparison(comparison, "tables"):
            if title:
                say(title)
            print_table(*table)
    say(reporting.format_comparison(comparison, "sentence"))
    return 0 if comparison.matched else 4


def _tolerance(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (number > 0 and math.isfinite(number)):
        raise ConfigError(
            f"--tolerance takes METRIC=VALUE above 0, such as brier=0.01, not {text!r}"
        )
    return name, number
