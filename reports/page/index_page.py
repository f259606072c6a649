"""Index page of a store: runs, scores and speeds over time, and a comparison of two runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.compare import RunComparison
from harness.analysis.trends import RunPoint
from reports.blocks.blocks import Block, Details, Fragment, Paragraph
from reports.blocks.blocks import Panel as Part
from reports.blocks.tables import Cell, Row, Table, numeric, texts
from reports.page.build import Shown, page_of, write_page
from reports.page.comparison_blocks import comparison_blocks
from reports.page.render import Renderer
from reports.page.run_history import NOTE, score_figure, speed_figure
from reports.page.run_tables import other_tables, scores_table
from reports.text.commands import run_again
from reports.text.format import count, moment, plural, ratio, short
from reports.text.inline import Code, Inline, Report, SitePage
from reports.text.means import geometric_mean
from reports.words.verdict_words import speed_tally, training_phase

HISTORY = (
    SitePage("Losses and times over commits", "history.html"),
    ": every algorithm, with the steps of each measure.",
)
PICK = (
    "Choose two runs above the table to see them side by side with their change. The "
    "command below it judges the changes over the splits that both runs have."
)


def build_index(
    points: Sequence[RunPoint],
    reports: Collection[str],
    older: Sequence[Mapping[str, Any]] = (),
    newest: Sequence[RunComparison] = (),
    *,
    history: bool = False,
) -> str:
    """Return the index as the text of one HTML file.

    Parameters
    ----------
    points
        The runs, oldest first.
    reports
        Ids of the runs whose report is in the same folder.
    older
        Earlier runs, newest first; they are only listed.
    newest
        Comparison of the newest run of each experiment with the previous one.
    history
        Whether the page of the history is in the same folder.
    """
    renderer = Renderer()
    parts = [
        ("runs", "Runs", _runs(points, reports, older, history=history)),
        *_newest(newest),
        *_courses(points),
    ]
    shown = [
        Shown(renderer.unique(name), title, fragment.badge, renderer.blocks(fragment.blocks))
        for name, title, fragment in parts
    ]
    subtitle = "no run yet"
    if points:
        newest = moment(str(points[-1].run["started"]))
        subtitle = f"{plural(len(points) + len(older), 'run')}, the newest of {newest}"
    return page_of(renderer, "Runs", subtitle, shown, ("report.js", "compare.js"))


def write_index(
    points: Sequence[RunPoint],
    reports: Collection[str],
    path: Path,
    older: Sequence[Mapping[str, Any]] = (),
    newest: Sequence[RunComparison] = (),
    *,
    history: bool = False,
) -> None:
    """Write the index atomically: the path holds the old or the new file."""
    write_page(build_index(points, reports, older, newest, history=history), path)


def _runs(
    points: Sequence[RunPoint],
    reports: Collection[str],
    older: Sequence[Mapping[str, Any]],
    *,
    history: bool,
) -> Fragment:
    if not points:
        return Fragment(
            [Paragraph(["There are no runs yet; ", Code("harness run"), " makes one."])]
        )
    columns = [
        *texts("Run", "Experiment", "Started", "Status", "Revision"),
        *numeric("Trials", "Failed", "Training, ours to reference"),
    ]
    rows: list[Row] = [_run(point, reports) for point in reversed(points)]
    blocks: list[Block] = [Paragraph(HISTORY)] if history else []
    blocks.append(Table(columns, rows, "The newest first", "runs"))
    if older:
        older_rows = [_named(str(run["id"]), run, reports) for run in older]
        table = Table(columns[:4], older_rows, "Older runs (scores not compared)", "older")
        blocks.append(Details(plural(len(older), "older run"), [table]))
    return Fragment(blocks, badge=count(len(points) + len(older)))


def _named(id_: str, run: Mapping[str, Any], reports: Collection[str]) -> Row:
    """Return a run's name, experiment, start time and status."""
    name: Inline = Report(id_) if id_ in reports else Code(short(id_))
    return [
        Cell([name], id_, "" if id_ in reports else "no report yet"),
        short(run.get("name", "")),
        Cell(moment(str(run["started"])), str(run["started"])),
        short(run.get("status", "")),
    ]


def _run(point: RunPoint, reports: Collection[str]) -> Row:
    phase = training_phase(point.speeds)
    trained = [s for s in point.speeds if s.phase == phase and s.algorithm != s.reference]
    middle = geometric_mean(s.ratio.value for s in trained)
    note = speed_tally(trained) if trained else "no duel"
    return [
        *_named(point.id, point.run, reports),
        Cell([Code(point.revision[:12])] if point.revision else "", point.revision),
        Cell.of(point.done, count, note=f"{point.skipped} skipped" if point.skipped else ""),
        Cell(count(point.failed), point.failed, tone="bad" if point.failed else ""),
        Cell(ratio(middle), middle, note),
    ]


def _newest(newest: Sequence[RunComparison]) -> list[tuple[str, str, Fragment]]:
    """Return the changes between the newest two runs of each experiment."""
    if not newest:
        return []
    parts: list[Block] = []
    for comparison in newest:
        name, old, new = str(comparison.new.get("name", "")), comparison.old, comparison.new
        heading = f"{short(name)}: {short(new.get('id', ''))} against {short(old.get('id', ''))}"
        parts.append(
            Part(
                heading,
                comparison_blocks(comparison, f"newest-{name}"),
                f"newest-{name}",
                folded=len(newest) > 2,
            )
        )
    return [("newest", "The newest run against the one before", Fragment(parts))]


def _courses(points: Sequence[RunPoint]) -> list[tuple[str, str, Fragment]]:
    """Return one section of charts for each experiment, and one to compare two runs."""
    by_name: dict[str, list[RunPoint]] = defaultdict(list)
    for point in points:
        by_name[str(point.run.get("name", ""))].append(point)
    several = {name: same for name, same in by_name.items() if len(same) > 1}
    if not several:
        return []
    trends: list[Block] = [Paragraph(NOTE, role="note")]
    pick: list[Block] = [Paragraph(PICK, role="note")]
    for name, same in several.items():
        again = run_again(same[-1].run)
        figures = (speed_figure(same, name, again), score_figure(same, name, again))
        drawn: list[Block] = [figure for figure in figures if figure]
        if drawn:
            trends.append(Part(short(name), drawn, f"trends-{name}"))
        tables = [scores_table(same, f"scores-{name}", compare=True), *other_tables(same, name)]
        pick.append(Part(short(name), tables, f"scores-{name}"))
    sections = [("trends", "Trends", Fragment(trends))] if len(trends) > 1 else []
    return [*sections, ("compare", "Compare two runs", Fragment(pick))]
