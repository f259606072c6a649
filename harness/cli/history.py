"""``harness history``: losses and times over commits, with their steps."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import (
    asv_option,
    json_option,
    names_option,
    path_option,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
)
from harness.core.errors import StoreError
from harness.core.units import parse_share
from harness.plugins.registry import load_registry

if TYPE_CHECKING:
    from harness.analysis.alarms import Alarm


@click.command("history")
@names_option("-a", "algorithm", "Only these algorithms.")
@names_option("-d", "dataset", "Only these datasets.")
@asv_option
@click.option("--branch", default="", metavar="REV", help="Only commits of this git revision.")
@click.option(
    "--threshold",
    default="5%",
    show_default=True,
    help="The smallest step, as a share of the level before.",
)
@click.option(
    "--alarm",
    "alarms",
    multiple=True,
    metavar="MEASURE[@MACHINE]=MODEL",
    help=(
        "Exit with 1 if the newest value of a series is above a boundary that the earlier values "
        "give: fit=t-test, loss=percentage:2%, *=iqr, fit@MACHINE=log-normal, fit=change-point. "
        "The last one that matches a measure and its machine applies."
    ),
)
@path_option(
    "--markdown", "Write the alarms as Markdown to FILE; without an alarm FILE is removed."
)
@click.option("--link", default="", metavar="URL", help="Address of the page, for --markdown.")
@path_option("--output", "File of the page.  [default: history.html in the results]")
@click.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
@plugin_option
@results_option
@json_option
def command(**given: Any) -> int:
    """Draw losses and times of the stored runs and of asv's results over commits.

    Change points are found by asv's own step detection. They are only hints: times of
    different runs are not interleaved, and only `harness gate --against` gives a verdict.
    """
    from harness import reporting
    from harness.analysis.alarms import find_alarms, parse_threshold
    from harness.history.commits import read_history

    if set(given["link"]) & set("<> \n"):
        raise click.UsageError("--link is the address of a page, without blanks")
    thresholds = [parse_threshold(text) for text in given["alarms"]]
    history = read_history(
        given["results"],
        load_registry(given["plugins"]),
        asv=given["asv"],
        algorithms=given["algorithms"],
        datasets=given["datasets"],
        threshold=parse_share(given["threshold"]),
        branch=given["branch"],
    )
    for note in history.notes:
        say(f"note: {note}")
    if not history.series:
        say("harness: nothing was measured at two commits yet")
        return 4
    alarms = find_alarms(history.series, thresholds)
    sentences = [f"alarm: {alarm}" for alarm in alarms]
    path = given["output"] or given["results"] / "history.html"
    reporting.write_history(history.series, [*sentences, *history.notes], path)
    if given["markdown"] is not None:
        _write_alarms(alarms, given["link"], given["markdown"])
    if given["as_json"]:
        print_json({**history.to_json(), "alarms": sentences, "page": str(path)})
    else:
        _print(history)
        for sentence in sentences:
            say(sentence)
        say(f"the page: {path}")
    if given["open_it"]:
        webbrowser.open(path.resolve().as_uri())
    return 1 if alarms else 0


def _write_alarms(alarms: Sequence[Alarm], link: str, path: Path) -> None:
    """Write a comment for a pull request; without alarms there is no file."""
    from harness.history.messages import alarms_markdown

    try:
        if text := alarms_markdown(alarms, link):
            path.write_text(text, encoding="utf-8")
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def _print(history: Any) -> None:
    """Print one row for each series: its first and last value, and its steps."""
    rows = [
        [
            s.algorithm or "-",
            s.dataset or "-",
            s.measure,
            len(s.points),
            f"{s.points[0].value:.4g}",
            f"{s.points[-1].value:.4g}",
            s.unit,
            ", ".join(f"{s.points[t.index].commit} {t.share:+.1%}" for t in s.steps) or "-",
        ]
        for s in history.series
    ]
    header = ["algorithm", "dataset", "what", "commits", "first", "last", "unit", "steps"]
    print_table(header, rows)
