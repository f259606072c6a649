"""``harness parity A [B]``: compare the trees of two algorithms, node by node."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from harness.analysis.tree_text import as_text
from harness.cli.common import (
    capacity_option,
    json_option,
    names_option,
    params_options,
    plugin_option,
    print_json,
    print_table,
    printable,
    results_option,
    say,
    sole_option,
)
from harness.core.errors import ConfigError
from harness.core.parity_level import MEANING, reaches

if TYPE_CHECKING:
    from harness.analysis.difference import Difference
    from harness.analysis.run_view import Parity
    from harness.results import ParityResult


@click.command("parity")
@click.argument("a", required=False)
@click.argument("b", required=False)
@names_option(
    "-d",
    "dataset",
    "Datasets: a glob, suite:NAME, or NAME:rows=1000.",
    default=["suite:bundled"],
    show_default=True,
)
@click.option(
    "--again", metavar="RUN", help="Compare the trees of a stored run of this command again."
)
@capacity_option
@params_options
@click.option(
    "--folds",
    type=int,
    default=5,
    show_default=True,
    help="Splits to build the trees on; a parity level must be reached on each.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--threads", type=int, default=1, show_default=True, help="Threads of each side.")
@click.option("--timeout", default="10m", show_default=True, help="Time limit of a trial.")
@click.option(
    "--require",
    type=click.Choice(["L0", "L1", "L2", "L3"], case_sensitive=False),
    help="Exit with 1 unless every dataset reaches this parity level.",
)
@plugin_option
@results_option
@click.option("--fresh", is_flag=True, help="Compare again even if a result is stored.")
@json_option
def command(**given: Any) -> int:
    """Compare the trees of A with those of B, by default A's reference.

    Both are trained on the same rows. The result is a parity level for each dataset: L3
    the same bits, L2 the same trees, L1 the same splits of the rows, L0 equivalent accuracy. If
    the trees differ, the first difference is shown and explained.
    """
    from harness import api
    from harness.progress_display import new_progress

    as_json, required, again = (given.pop(key) for key in ("as_json", "require", "again"))
    if again:
        result = _rerun(again, given)
    elif given["a"]:
        result = api.parity(**given, progress=new_progress())
    else:
        raise ConfigError("name an algorithm, or --again RUN")
    if as_json:
        print_json({"run": result.run, "parity": result.verdicts})
    else:
        _print(result.verdicts)
        say(f"run {result.run}: `harness report` draws the trees")
    return _exit_code(result.verdicts, required)


def _rerun(run: str, given: dict[str, Any]) -> ParityResult:
    from harness.progress_display import new_progress
    from harness.results import ParityResult
    from harness.runs.rerun import parity_again

    sole_option("again", ("datasets", "plugins", "results", "fresh", "as_json", "require"))
    source = click.get_current_context().get_parameter_source("datasets")
    named = source is click.core.ParameterSource.COMMANDLINE
    options = {name: given[name] for name in ("plugins", "results", "fresh")}
    with closing(new_progress()) as progress:
        made, registry = parity_again(
            run, given["datasets"] if named else (), **options, progress=progress
        )
    return ParityResult(made, given["results"], registry)


def _exit_code(parities: tuple[Parity, ...], required: str | None) -> int:
    """Return 1 if a required level is missed, 3 if some comparisons failed, 4 if all did."""
    if required and not all(reaches(parity.parity_level, required.upper()) for parity in parities):
        return 1
    compared = [parity for parity in parities if parity.splits]
    if len(compared) == len(parities):
        return 0
    return 3 if compared else 4


def _print(parities: tuple[Parity, ...]) -> None:
    """Print the parity level of each dataset, then the first differences."""
    rows = [
        [p.dataset, p.parity_level or "none", MEANING[p.parity_level],
         p.claimed or "-", p.verdict or "-",
         f"{len(p.splits)} splits", p.preparation]
        for p in parities
    ]  # fmt: skip
    print_table(["dataset", "level", "meaning", "claimed", "accuracy", "from", "prepared"], rows)
    for parity in parities:
        if parity.reason:
            say(f"{parity.dataset}: {parity.reason}")
        if parity.comparison and parity.comparison.differences:
            click.echo(f"\n{printable(parity.dataset)}")
            for difference in parity.comparison.differences:
                click.echo(f"  {difference.level}: {printable(difference.sentence, 1000)}")
            _draw(parity, parity.comparison.differences[0])


def _draw(parity: Parity, difference: Difference) -> None:
    if difference.drawing[0]:
        click.echo()
        titles = (f"A: {parity.algorithm}", f"B: {parity.reference}")
        for line in as_text(titles, difference.drawing).split("\n"):
            click.echo(f"  {printable(line, 500)}")
