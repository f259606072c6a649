"""Section Serving times: predictions of loaded models, from ``harness serving``."""

from __future__ import annotations

from collections.abc import Callable

from harness import Section, hookimpl
from reports.blocks.blocks import Block, Callout, Fragment, Items, Paragraph
from reports.charts.serving import batch_figure, latency_figure, start_table, thread_figure
from reports.page.page import Page
from reports.text.format import count, plural, short

NOTE = (
    "Each model is trained once and saved. Every launch starts a new process, which imports the "
    "library, loads the model, and predicts; the processes of all models are called in turn. Times "
    "are geometric means over launches with 95 % intervals. The rows are prepared before the calls."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("serving", "Serving times", 46, build))


def build(page: Page) -> Fragment | None:
    """Return the curves and tables, or None for a run without serving times."""
    times = page.view.serving
    if not times:
        return None
    failed = [one for one in times if one.failure]
    measured = [one for one in times if one.batches]
    blocks: list[Block] = [Paragraph(NOTE, role="note")]
    if failed:
        words = [
            f"{short(one.algorithm)}, {plural(one.threads, 'thread')}: {short(one.failure, 300)}"
            for one in failed
        ]
        title = f"{plural(len(failed), 'model')} could not be measured"
        blocks.append(Callout(title, [Items(words)], "bad"))
    if measured:
        again = page.again()
        figures = (
            batch_figure(measured, again),
            latency_figure(measured, again),
            thread_figure(measured, again),
        )
        blocks += [figure for figure in figures if figure is not None]
        blocks.append(start_table(measured, again))
    return Fragment(blocks, badge=count(len(times)))
