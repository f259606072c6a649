"""``harness parity A [B]``: whether two algorithms grow the same trees, and where they part."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import click

from harness.analysis.lines import as_text
from harness.analysis.rungs import MEANING, reaches
from harness.cli.common import (
    json_option,
    plugin_option,
    print_json,
    print_table,
    printable,
    results_option,
    say,
)
from harness.config import Experiment, parse_experiment
from harness.errors import ConfigError
from harness.plugins import Registry, load_registry

if TYPE_CHECKING:
    from harness.analysis.difference import Difference
    from harness.analysis.view import Parity


@click.command("parity")
@click.argument("a")
@click.argument("b", required=False)
@click.option(
    "-d",
    "--dataset",
    "datasets",
    multiple=True,
    metavar="GLOB",
    default=["suite:bundled"],
    show_default=True,
    help="Datasets: a glob, suite:NAME, or NAME:rows=1000.",
)
@click.option(
    "--capacity",
    "capacities",
    multiple=True,
    metavar="KEY=VALUE",
    help="The same capacity for both, such as trees=100.",
)
@click.option(
    "--a",
    "a_params",
    multiple=True,
    metavar="KEY=VALUE",
    help="A param of A, such as parity=xgboost.",
)
@click.option("--b", "b_params", multiple=True, metavar="KEY=VALUE", help="A param of B.")
@click.option(
    "--set",
    "both_params",
    multiple=True,
    metavar="KEY=VALUE",
    help="A param of both; a.KEY or b.KEY sets it for one.",
)
@click.option(
    "--folds",
    type=int,
    default=5,
    show_default=True,
    help="Splits that the trees are grown on; a rung must be reached on each.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--threads", type=int, default=1, show_default=True, help="Threads of each side.")
@click.option("--timeout", default="10m", show_default=True, help="Most time a trial may take.")
@click.option(
    "--require",
    type=click.Choice(["L0", "L1", "L2", "L3"], case_sensitive=False),
    help="Exit with 1 unless every dataset reaches this rung.",
)
@plugin_option
@results_option
@click.option("--fresh", is_flag=True, help="Compare again what is already known.")
@json_option
def command(**given: Any) -> int:
    """Compare the trees of A with those of B, by default the reference that A answers to.

    Both are trained on the same rows. Each dataset reaches a rung: L3 the same bits, L2 the same
    trees, L1 the same splits given the bins, L0 equivalent accuracy. Where the trees part, the
    first place is named and explained.
    """
    from harness import reporting
    from harness.cli.drawn import new_progress
    from harness.parity_run import run_parity

    registry = load_registry(given["plugins"])
    experiment = _experiment(given, registry)
    progress = new_progress()
    try:
        run_id = run_parity(
            experiment,
            registry,
            results=given["results"],
            plugin_files=tuple(str(p.resolve()) for p in given["plugins"]),
            fresh=given["fresh"],
            progress=progress,
        )
    finally:
        progress.close()
    found = reporting.view(given["results"], run_id, registry).parity
    if given["as_json"]:
        print_json({"run": run_id, "parity": found})
    else:
        _print(found)
        say(f"run {run_id}: `harness report` draws the trees")
    return _exit_code(found, given["require"])


def _experiment(given: dict[str, Any], registry: Registry) -> Experiment:
    """Return the run that the command line asks for."""
    names = (given["a"], given["b"] or _reference(given["a"], registry))
    params = _params(given)
    return parse_experiment(
        {
            "name": "parity",
            "algorithms": [{"name": n, "params": p} for n, p in zip(names, params, strict=True)],
            "datasets": list(given["datasets"]),
            "capacity": dict(text.partition("=")[::2] for text in given["capacities"]),
            "splits": {"folds": given["folds"], "seed": given["seed"]},
            "run": {key: given[key] for key in ("threads", "timeout")} | {"seeds": [given["seed"]]},
            "verdicts": {"pairs": [names]},
        },
        "the command line",
    )


def _reference(name: str, registry: Registry) -> str:
    reference = registry.algorithm(name).reference
    if reference is None:
        raise ConfigError(f"{name} answers to no reference: name the algorithm to compare it with")
    return reference


def _params(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the params of both sides."""
    a: dict[str, Any] = {}
    b: dict[str, Any] = {}
    for texts, sides in ((given["a_params"], (a,)), (given["b_params"], (b,))):
        for text in texts:
            _put(text, sides)
    for text in given["both_params"]:
        side, dot, rest = text.partition(".")
        if dot and side.lower() in {"a", "b"}:
            _put(rest, (a,) if side.lower() == "a" else (b,))
        else:
            _put(text, (a, b))
    return a, b


def _put(text: str, sides: tuple[dict[str, Any], ...]) -> None:
    """Set a param in some sides; its value is TOML, or else plain text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"a param is KEY=VALUE, such as max_depth=3, not {text!r}")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    for side in sides:
        side[key.strip()] = parsed


def _exit_code(found: tuple[Parity, ...], required: str | None) -> int:
    """Return 1 where a rung is missed, 3 where some comparison failed, 4 where all did."""
    if required and not all(reaches(parity.rung, required.upper()) for parity in found):
        return 1
    compared = [parity for parity in found if parity.splits]
    if len(compared) == len(found):
        return 0
    return 3 if compared else 4


def _print(found: tuple[Parity, ...]) -> None:
    """Print the rung of each dataset, then why it is no higher."""
    rows = [
        [p.dataset, p.rung or "none", MEANING[p.rung], p.claimed or "-", p.verdict or "-",
         f"{len(p.splits)} splits", p.preparation]
        for p in found
    ]  # fmt: skip
    print_table(["dataset", "rung", "meaning", "claimed", "accuracy", "from", "prepared"], rows)
    for parity in found:
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
