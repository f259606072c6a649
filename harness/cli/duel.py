"""``harness duel A B -d DATASET``: ratio of the times of two algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import (
    capacity_option,
    json_option,
    params_options,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
    sole_option,
)
from harness.core.errors import ConfigError
from harness.core.units import show_duration

if TYPE_CHECKING:
    from harness.analysis.run_view import Speed
    from harness.results import DuelResult


@click.command("duel")
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("-d", "--dataset", metavar="NAME", help="A dataset, or NAME:rows=100000.")
@click.option(
    "--again", metavar="DUEL", help="Run a stored duel again, by its id, with its stored options."
)
@click.option("--launches", type=int, help="Pairs of fresh processes.  [default: 8]")
@click.option(
    "--blocks", type=int, default=4, show_default=True, help="Interleaved blocks in each launch."
)
@click.option(
    "--precision",
    metavar="2%",
    help="Continue up to 24 launches, until the interval is this narrow.",
)
@click.option(
    "--claim",
    type=float,
    metavar="RATIO",
    help="Continue up to 24 launches, until it is decided whether the ratio is at least this.",
)
@click.option(
    "--phase", default="train", show_default=True, help="The phase for --precision and --claim."
)
@click.option("--threads", type=int, default=1, show_default=True, help="Threads of each side.")
@capacity_option
@params_options
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--timeout", default="10m", show_default=True, help="Time limit of a call.")
@plugin_option
@results_option
@click.option("--fresh", is_flag=True, help="Measure again even if a result is stored.")
@json_option
def command(**given: Any) -> int:
    """Time algorithms A and B in interleaved pairs on one dataset.

    The ratio is B's time over A's: above 1, A is faster. A against itself shows the noise floor.
    Part of the rows is held out and predicted: a quarter from 100 000 rows on, a fifth below. The
    result shows the number of training rows.
    With --precision or --claim the duel is analyzed after 8, 12, 16 and 24 launches and may stop
    early; its interval is adjusted for these interim analyses.
    """
    from harness.progress_display import new_progress

    as_json, again = given.pop("as_json"), given.pop("again")
    if again:
        result = _rerun(again, given)
    elif given["a"] and given["b"] and given["dataset"]:
        from harness import api

        result = api.duel(**given, progress=new_progress())
    else:
        raise ConfigError("name two algorithms and a dataset (A B -d NAME), or --again DUEL")
    if as_json:
        document = {"duel": result.outcome.duel.id, "status": result.status.value}
        stopped = result.outcome.facts.get("stopped", "")
        print_json({**document, **_rows(result), "speeds": result.verdicts, "stopped": stopped})
    elif result.verdicts:
        names = [given["a"] or result.outcome.duel.a.name]
        names += [given["b"] or result.outcome.duel.b.name]
        sides = zip(names, (given["a_params"], given["b_params"]), strict=True)
        a, b = (" ".join([name, *params]) for name, params in sides)
        _print_speeds(a, b, result.verdicts)
        if rows := _rows(result):
            say(f"{rows['train_rows']:,} rows trained, {rows['test_rows']:,} were predicted")
    if result.failure is not None:
        say(f"harness: the duel {result.status}: {result.failure.message}")
        return 3
    return 0


def _rerun(duel: str, given: dict[str, Any]) -> DuelResult:
    from harness.progress_display import new_progress
    from harness.results import DuelResult
    from harness.runs.rerun import duel_again

    sole_option("again", ("plugins", "results", "fresh", "as_json"))
    options = {name: given[name] for name in ("plugins", "results", "fresh")}
    with closing(new_progress()) as progress:
        end, registry = duel_again(duel, **options, progress=progress)
    return DuelResult(end.run_id, given["results"], registry, end.outcome, tuple(end.speeds))


def _rows(result: DuelResult) -> dict[str, int]:
    """Return the numbers of training and predicted rows; empty if the duel did not start."""
    facts = result.outcome.facts.get("a", {})
    return {key: facts[key] for key in ("train_rows", "test_rows") if key in facts}


def _print_speeds(a: str, b: str, speeds: Sequence[Speed]) -> None:
    """Print one row for each phase, and the notes."""
    rows = [
        [
            speed.phase,
            show_duration(speed.seconds[0]),
            show_duration(speed.seconds[1]),
            f"{speed.ratio.value:.3f}",
            f"[{speed.ratio.low:.3f}, {speed.ratio.high:.3f}]",
            f"{speed.ratio.n} × {speed.unit}",
        ]
        for speed in speeds
    ]
    print_table(["phase", a, b, "ratio", "interval", "from"], rows)
    for note in dict.fromkeys(note for speed in speeds for note in speed.notes):
        say(f"note: {note}")
