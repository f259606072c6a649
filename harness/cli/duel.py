"""``harness duel A B -d DATASET``: which is faster, and by how much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.common import (
    json_option,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
)
from harness.config import parse_experiment
from harness.plugins import load_registry
from harness.units import show_duration


@click.command("duel")
@click.argument("a")
@click.argument("b")
@click.option(
    "-d", "--dataset", required=True, metavar="NAME", help="A dataset, or NAME:rows=100000."
)
@click.option("--launches", type=int, help="Pairs of fresh processes.  [default: 8]")
@click.option(
    "--blocks", type=int, default=4, show_default=True, help="ABBA blocks in each launch."
)
@click.option(
    "--precision",
    metavar="2%",
    help="Go on for up to 24 launches until the interval is so narrow.",
)
@click.option(
    "--claim",
    type=float,
    metavar="RATIO",
    help="Go on for up to 24 launches until it is decided whether the ratio is so much or more.",
)
@click.option(
    "--phase",
    default="train",
    show_default=True,
    help="The phase that --precision and --claim are about.",
)
@click.option("--threads", type=int, default=1, show_default=True, help="Threads of each side.")
@click.option(
    "--capacity",
    "capacities",
    multiple=True,
    metavar="KEY=VALUE",
    help="The same capacity for both, such as trees=100.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--timeout", default="10m", show_default=True, help="Most time a call may take.")
@plugin_option
@results_option
@click.option("--fresh", is_flag=True, help="Measure again what is already known.")
@json_option
def command(**given: Any) -> int:
    """Time algorithms A and B in interleaved pairs on one dataset.

    The ratio is B's time over A's: above 1, A is faster. A against itself shows the noise floor.
    With --precision or --claim the duel is looked at after 8, 12, 16 and 24 launches, and its
    interval pays for the looks.
    """
    from harness import runs
    from harness.cli.drawn import new_progress

    files: tuple[Path, ...] = given["plugins"]
    registry = load_registry(files)
    asked = ("launches", "blocks", "threads", "precision", "claim", "phase")
    settings = {key: given[key] for key in asked if given[key] is not None}
    if given["launches"] and (given["precision"] or given["claim"]):
        raise click.UsageError("--launches fixes what --precision and --claim leave open")
    overrides = dict(text.partition("=")[::2] for text in given["capacities"])
    experiment = parse_experiment(
        {
            "name": "duel",
            "algorithms": [given["a"], given["b"]],
            "datasets": [given["dataset"]],
            "capacity": overrides,
            "run": {"seeds": [given["seed"]], "timeout": given["timeout"]},
            "splits": {"seed": given["seed"]},
            "duels": {**settings, "datasets": [given["dataset"]]},
        },
        "the command line",
    )
    progress = new_progress()
    try:
        outcome, speeds = runs.run_one_duel(
            experiment,
            registry,
            (given["a"], given["b"]),
            results=given["results"],
            plugin_files=tuple(str(p.resolve()) for p in files),
            fresh=given["fresh"],
            progress=progress,
        )
    finally:
        progress.close()
    if given["as_json"]:
        told = {"duel": outcome.duel.id, "status": outcome.status.value, "speeds": speeds}
        print_json({**told, "stopped": outcome.facts.get("stopped", "")})
    elif speeds:
        _print_speeds(given["a"], given["b"], speeds)
    if outcome.failure is not None:
        say(f"harness: the duel {outcome.status}: {outcome.failure.message}")
        return 3
    return 0


def _print_speeds(a: str, b: str, speeds: Any) -> None:
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
