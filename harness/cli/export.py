"""``harness export``: write outcomes as a table for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from harness.cli.common import path_option, plugin_option, results_option, say
from harness.config.experiment import experiment_schema
from harness.core.errors import StoreError
from harness.plugins.registry import load_registry


@click.command("export")
@click.argument("run", default="latest")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "asv"]),
    default="csv",
    show_default=True,
)
@path_option("--asv", "The same as --format asv --output DIR.", metavar="DIR")
@path_option("--output", "Where to write; CSV goes to stdout without it.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of experiment files instead.")
@plugin_option
@results_option
def command(
    run: str,
    *,
    schema: bool,
    kind: str,
    asv: Path | None,
    output: Path | None,
    plugins: tuple[Path, ...],
    results: Path,
) -> int:
    """Write one row for each outcome of RUN: cell, status, scores, seconds and peak memory.

    With --format asv all runs of known commits are written, to a folder such as .asv/results.
    """
    if schema:
        click.echo(json.dumps(experiment_schema(), indent=1))
        return 0
    if asv is not None or kind == "asv":
        return _export_asv(asv or output or Path(".asv/results"), plugins, results)
    import pandas as pd

    from harness import reporting

    if kind == "parquet" and output is None:
        raise click.UsageError("--format parquet needs --output FILE")
    frame = pd.DataFrame(reporting.rows(results, run, load_registry(plugins)))
    try:
        _write(frame, kind, output)
    except OSError as error:
        raise StoreError(f"{output} cannot be written: {error.strerror or error}") from error
    return 0


def _export_asv(folder: Path, plugins: tuple[Path, ...], results: Path) -> int:
    from harness.history.asv_export import export_asv

    exported = export_asv(results, folder, load_registry(plugins), Path.cwd())
    say(f"written to {folder}: {', '.join(c[:8] for c in exported.commits) or 'no commit'}")
    if exported.left_out:
        say(f"runs left out, of an edited tree or of no commit known here: {exported.left_out}")
    return 0 if exported.commits else 4


def _write(frame: Any, kind: str, output: Path | None) -> None:
    if kind == "parquet":
        frame.to_parquet(output, index=False)
        return
    frame = frame.map(_inert)
    if output is not None:
        frame.to_csv(output, index=False)
    else:
        click.echo(frame.to_csv(index=False), nl=False)


def _inert(value: Any) -> Any:
    """Return text with an apostrophe before it if a spreadsheet would run it as a formula."""
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value
