"""The table at the end of a series of runs: each algorithm beside its fastest rival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness.analysis.rivals import Fastest, fastest_rivals, lead_of
from harness.cli.common import print_table, say
from harness.units import show_duration

if TYPE_CHECKING:
    from harness.results import RunResult

PHASES = ("train", "predict", "predict_one")
HEADER = ("workload", "algorithm", "rival", "ours", "its", "ratio", "interval", "accuracy")


def print_rivals(results: Sequence[RunResult]) -> None:
    """Print a table for each phase that was timed, with the geometric mean and the worst ratio."""
    views = [result.view for result in results]
    for phase in PHASES:
        found = fastest_rivals(views, phase)
        lead = lead_of(found)
        if lead is None:
            continue
        click.echo(f"\n{phase}: time of the fastest rival that is as accurate, over ours")
        print_table(HEADER, [_row(one) for one in found])
        mean, worst = lead.mean, lead.worst
        click.echo(
            f"geometric mean {mean.value:.2f} [{mean.low:.2f}, {mean.high:.2f}] of "
            f"{lead.workloads}; the least {worst.ratio.value:.2f}, on {worst.workload}"
        )
        for one in found:
            for note in _notes(one):
                say(f"note: {one.workload}: {note}")


def _row(one: Fastest) -> tuple[str, ...]:
    return (
        one.workload,
        one.algorithm,
        one.rival,
        *map(show_duration, one.seconds),
        f"{one.ratio.value:.2f}",
        f"[{one.ratio.low:.2f}, {one.ratio.high:.2f}]",
        one.verdict or "not measured",
    )


def _notes(one: Fastest) -> list[str]:
    notes = [f"{name} is left out: less accurate, or without a score" for name in one.left_out]
    if not one.accurate:
        told = "is less accurate than the best by more than the margin, or without a score"
        notes.append(f"{one.algorithm} {told}")
    return notes
