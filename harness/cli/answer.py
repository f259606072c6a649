"""Print the answer of a run: leaderboard, recommendation and its limits."""

from __future__ import annotations

import textwrap

import click

from harness.analysis.model_code import code_of
from harness.analysis.recommendation import answer_text, answers_of
from harness.analysis.run_view import RunView
from harness.cli.common import print_table, printable


def print_answer(view: RunView) -> None:
    """Print the answer of a run, if anything was scored."""
    answers = answers_of(view)
    shown = answer_text(answers)
    if shown is None:
        return
    print_table(shown.header, shown.rows)
    click.echo()
    for sentence in shown.sentences:
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
