"""``harness bisect``: find the commit that made an algorithm slower."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import (
    asv_option,
    json_option,
    path_option,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
)
from harness.core.errors import ConfigError
from harness.core.model import to_json
from harness.core.units import parse_share
from harness.plugins.registry import load_registry

if TYPE_CHECKING:
    from harness.gate.bisect import Bisection, BisectRequest


@click.command("bisect")
@click.argument("good", required=False)
@click.argument("bad", required=False)
@click.option("-a", "--algorithm", metavar="NAME", help="The algorithm that became slower.")
@click.option("-d", "--dataset", metavar="NAME", help="A dataset, or NAME:rows=4000.")
@click.option(
    "--phase",
    type=click.Choice(["train", "native", "fit", "predict"]),
    default="train",
    show_default=True,
    help="The phase that became slower.",
)
@click.option(
    "--slower", default="5%", show_default=True, help="The smallest increase that is searched for."
)
@click.option(
    "--measure",
    metavar="GLOB",
    default="*",
    help="Without GOOD: the measure of the history, such as fit.",
)
@asv_option
@path_option("--experiment", "An experiment with the params, the capacity and the duels.")
@plugin_option
@results_option
@click.option("--fresh", is_flag=True, help="Measure again even if a result is stored.")
@json_option
def command(**given: Any) -> int:
    """Find the commit after GOOD, up to BAD (default: HEAD), that made an algorithm slower.

    Commits in the middle are checked out and timed in interleaved pairs against GOOD, until one
    commit remains. Of a merge the first parent is followed. Without GOOD, both commits are those of
    the last upward step in the history of -a and -d. The same command continues after an
    interruption. Exit codes: 0 one commit was found, 4 BAD is not slower, 6 several remain.
    """
    from harness.gate.bisect import bisect
    from harness.progress_display import new_progress

    registry = load_registry(given["plugins"])
    request = _request(given, registry)
    with closing(new_progress()) as progress:
        result = bisect(request, registry, progress)
    if given["as_json"]:
        print_json(_document(result))
    else:
        _print(result)
    say(format_result(request, result))
    if len(result.candidates) == 1:
        return 0
    return 4 if result.measured[-1].is_slower is False else 6


def _request(given: dict[str, Any], registry: Any) -> BisectRequest:
    from harness.config.experiment import load_experiment
    from harness.gate.bisect import BisectRequest
    from harness.runs.request import whole_paths

    algorithm, dataset = given["algorithm"], given["dataset"]
    good, bad = given["good"], given["bad"] or "HEAD"
    if good is None:
        algorithm, dataset, good, bad = _find_slowdown(given, registry)
    if not algorithm or not dataset:
        raise ConfigError("name the algorithm and the dataset: harness bisect GOOD -a NAME -d NAME")
    experiment = given["experiment"]
    return BisectRequest(
        good,
        bad,
        algorithm,
        dataset,
        phase=given["phase"],
        min_slowdown=parse_share(given["slower"]),
        experiment=load_experiment(str(experiment)) if experiment else None,
        plugin_files=whole_paths(given["plugins"]),
        results=given["results"],
        fresh=given["fresh"],
    )


def _find_slowdown(given: dict[str, Any], registry: Any) -> tuple[str, str, str, str]:
    """Return algorithm, dataset and both commits of the last upward step in the history."""
    from harness.history.commits import last_slowdown, read_history

    names = {key: [given[key]] if given[key] else [] for key in ("algorithm", "dataset")}
    history = read_history(
        given["results"],
        registry,
        asv=given["asv"],
        algorithms=names["algorithm"],
        datasets=names["dataset"],
        threshold=parse_share(given["slower"]),
    )
    for note in history.notes:
        say(f"note: {note}")
    series, good, bad = last_slowdown(history, given["measure"])
    say(f"{series.name}: a step from {good} to {bad}")
    return series.algorithm, series.dataset, good, bad


def format_result(request: BisectRequest, result: Bisection) -> str:
    """Return the result in one sentence."""
    from harness.gate.bisect import sentence_of

    what = f"{request.algorithm} ({request.phase} on {request.dataset})"
    last, good = result.measured[-1], result.good.short
    if not result.candidates:
        return (
            f"{last.commit.id[:8]} against {good}: {what} is {sentence_of(last)}; nothing is "
            "searched"
        )
    first = result.candidates[-1]
    text = f"{first.id[:8]} ({first.subject})"
    if len(result.candidates) == 1:
        merge = "; it merges a branch: bisect that branch to find the commit in it"
        return f"{text} made {what} slower{merge if first.is_merge else ''}"
    names = ", ".join(commit.id[:8] for commit in result.candidates)
    return f"one of {len(result.candidates)} commits made {what} slower: {names}"


def _print(result: Bisection) -> None:
    """Print a row for each measured commit, the oldest first."""
    from harness.gate.bisect import STATES

    rows = []
    for one in result.measured:
        times = one.times
        interval = f"[{times.low:.3f}, {times.high:.3f}]" if times else "-"
        ratio = f"{times.value:.3f}" if times else "-"
        rows.append([one.commit.id[:8], ratio, interval, STATES[one.is_slower], one.commit.subject])
    print_table(["commit", f"time / {result.good.short}", "interval", "result", "subject"], rows)


def _document(result: Bisection) -> dict[str, Any]:
    return {
        "run": result.run,
        "good": result.good.commit,
        "candidates": [to_json(commit) for commit in result.candidates],
        "measured": [to_json(measured) for measured in result.measured],
    }
