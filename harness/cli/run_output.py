"""Output after a run: the answer with its leaderboard, and a table of accuracy verdicts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from harness.analysis.model_code import code_of
from harness.analysis.recommendation import answer_text, answers_of
from harness.analysis.verdict_counts import VERDICTS, VerdictCounts, count_verdicts
from harness.cli.common import print_table, printable, say

if TYPE_CHECKING:
    from harness.analysis.run_view import Accuracy, RunView

HEADER = ("algorithm", "against", "datasets", *VERDICTS)


def print_answer(view: RunView) -> None:
    """Print the answer of a run, if anything was scored."""
    answers = answers_of(view)
    shown = answer_text(answers)
    if shown is None:
        return
    print_table(shown.header, shown.rows)
    click.echo()
    for sentence in (*shown.sentences, *shown.left_out):
        text = printable(sentence, limit=2000)
        click.echo(textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False))
    click.echo()
    is_own = view.datasets.get(answers[0].dataset, {}).get("source") == "file"
    if len(answers) == 1 and is_own and (code := code_of(view, answers[0])):
        click.echo("Code to copy:\n")
        click.echo("\n".join(f"    {line}".rstrip() for line in code.splitlines()))
        click.echo("\nOr train it on all rows and predict new rows:\n")
        click.echo(f"    harness best {printable(view.run['id'])} --save model.pkl")
        click.echo("    harness predict model.pkl NEW.csv\n")


def print_verdicts(views: Sequence[RunView]) -> None:
    """Print one row for each pair with two or more common datasets, of a run or a series."""
    counts = [c for c in count_verdicts(_judged(views)) if c.datasets > 1]
    if not counts:
        return
    click.echo(
        "\naccuracy: number of datasets by verdict; better and worse after Holm's adjustment "
        "over them"
    )
    print_table(HEADER, [_row(one) for one in counts])
    for one in counts:
        for words in notes(one):
            say(f"note: {words}")


def notes(one: VerdictCounts) -> Iterator[str]:
    """Yield the datasets on which an algorithm is worse, and those where that is uncertain."""
    pair = f"{one.algorithm} against {one.reference}"
    if one.worse_on:
        yield f"{pair} is worse on {', '.join(one.worse_on)}"
    if one.doubtful:
        doubt = "if tested alone; not significant among so many datasets"
        yield f"{pair} is worse on {', '.join(one.doubtful)} {doubt}"


def _row(one: VerdictCounts) -> tuple[str, ...]:
    name = f"{one.algorithm} ({one.track})" if one.track else one.algorithm
    counts = (one.datasets, *(getattr(one, verdict) for verdict in VERDICTS))
    return (name, one.reference, *map(str, counts))


def _judged(views: Sequence[RunView]) -> Iterable[Accuracy]:
    """Yield the verdicts of all runs; a series may have one dataset at several sizes."""
    for view in views:
        for one in view.accuracy:
            series = len(views) > 1 and one.dataset
            yield replace(one, dataset=f"{view.run['name']} {one.dataset}") if series else one
