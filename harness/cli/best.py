"""``harness best``: the recommendation of a run, its code, and the trained model in a file."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import (
    json_option,
    path_option,
    plugin_option,
    print_json,
    printable,
    results_option,
    say,
)
from harness.core.units import show_size
from harness.plugins.registry import load_registry


@click.command("best")
@click.argument("run", default="latest")
@click.option(
    "--dataset", default="", metavar="NAME", help="Dataset to choose, for a run on several."
)
@path_option("--save", "Train it on all rows and write it with its preparation.")
@plugin_option
@results_option
@json_option
def command(
    run: str,
    *,
    dataset: str,
    save: Path | None,
    plugins: tuple[Path, ...],
    results: Path,
    as_json: bool,
) -> None:
    """Print the recommendation of RUN and its code; --save trains it on all rows.

    `harness predict FILE NEW.csv` applies the saved model. It is a pickle: open only files that
    you trust.
    """
    from harness.analysis.model_code import code_of
    from harness.analysis.recommendation import caution, recommendation
    from harness.best import best_of, save_best
    from harness.runs.request import whole_paths

    registry = load_registry(plugins)
    best = best_of(results, run, registry, dataset)
    code = code_of(best.view, best.answer)
    written = save_best(best, registry, save, whole_paths(plugins)) if save else None
    if as_json:
        print_json(
            {
                "run": best.view.run["id"],
                "dataset": best.answer.dataset,
                "algorithm": best.standing.algorithm,
                "params": dict(best.standing.params),
                "recommendation": recommendation(best.answer),
                "code": code,
                "file": str(save) if save else None,
                **(written or {}),
            }
        )
        return
    click.echo(printable(recommendation(best.answer), limit=2000))
    click.echo(printable(caution(best.answer), limit=2000))
    click.echo(f"\n{code}" if code else "")
    if save and written:
        size = show_size(written["bytes"])
        say(f"trained on {written['rows']:,} rows; wrote {save} ({size})")
        say(f"next: harness predict {save} NEW.csv")
