"""Tables after a series of duels: each algorithm against its fastest rival, and peak memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from harness.analysis.fastest_rival import (
    Fastest,
    Peaks,
    fastest_rivals,
    has_rivals,
    lead_of,
    peaks_of,
)
from harness.cli.common import print_table, say
from harness.core.units import show_duration

if TYPE_CHECKING:
    from harness.analysis.run_view import RunView

PHASES = {
    "native": "binning (native form)",
    "fit": "training without binning (fit)",
    "train": "binning and training together (train)",
    "predict": "prediction (predict)",
    "predict_one": "prediction of one row (predict_one)",
}
HEADER = ("workload", "algorithm", "rival", "ours", "its", "ratio", "interval", "accuracy")


def print_rivals(views: Sequence[RunView]) -> None:
    """Print a table for each timed phase, with geometric mean and worst ratio, and peak memory.

    Nothing is printed if no algorithm has several rivals or workloads.
    """
    if not has_rivals(views):
        return
    notes: dict[str, None] = {}
    for phase, words in PHASES.items():
        rivals = fastest_rivals(views, phase)
        lead = lead_of(rivals)
        if lead is None:
            continue
        click.echo(f"\n{words}: time of the fastest rival that is as accurate, over ours")
        print_table(HEADER, [_row(one) for one in rivals])
        mean, worst = lead.mean, lead.worst
        click.echo(
            f"geometric mean {mean.value:.2f} [{mean.low:.2f}, {mean.high:.2f}] of "
            f"{lead.workloads}; the least {worst.ratio.value:.2f}, on {worst.workload}"
        )
        notes |= dict.fromkeys(f"{one.workload}: {note}" for one in rivals for note in _notes(one))
    for note in (*notes, *_inside(views)):
        say(f"note: {note}")
    _print_peaks(peaks_of(views))


def _print_peaks(found: Sequence[Peaks]) -> None:
    """Print peak memory: one row for each workload, one column for each rival."""
    if not found:
        return
    rivals = list(dict.fromkeys(name for one in found for name, _ in one.ratios))
    click.echo("\nmemory: peak of each rival's first fit, its native form included, over ours")
    print_table(
        ("workload", "algorithm", "ours", *rivals),
        [
            (one.workload, one.algorithm, f"{one.ours / 2**20:,.0f} MiB", *_ratios(one, rivals))
            for one in found
        ],
    )


def _ratios(one: Peaks, rivals: Iterable[str]) -> Iterator[str]:
    """Yield the ratios of each rival, variants in the order of their duels."""
    for rival in rivals:
        yield " / ".join(f"{ratio:.2f}" for (name, _), ratio in one.ratios.items() if name == rival)


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
        reason = "is less accurate than the best by more than the margin, or without a score"
        notes.append(f"{one.algorithm} {reason}")
    return notes


def _inside(views: Sequence[RunView]) -> Iterator[str]:
    """Yield the workloads on which training is one phase, as one side bins inside ``fit``."""
    separate = {(one.workload, one.algorithm) for one in fastest_rivals(views, "native")}
    for one in fastest_rivals(views, "train"):
        if (one.workload, one.algorithm) not in separate:
            pair = f"{one.algorithm} or {one.rival}"
            yield f"{one.workload}: {pair} bins inside fit, so the two are shown together only"
