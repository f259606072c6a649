"""Section Model: code of the recommended model, its importances and its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness import Section, hookimpl
from harness.analysis.diagnostics import Diagnostic
from harness.analysis.model_code import code_of
from harness.analysis.recommendation import Answer, answers_of
from harness.core.model import Outcome, Status
from reports.blocks.blocks import Block, Figure, Fragment, Panel, Paragraph, Verbatim
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.charts.axes import linear
from reports.charts.axes import rows as row_axis
from reports.charts.legends import ROW
from reports.charts.plot import Dots, Lines, Mark, Plot
from reports.charts.plot import Panel as Drawn
from reports.page.page import Page, canonical
from reports.text.format import count, digits, share, short
from reports.text.inline import Link

MAX_DATASETS = 6
MAX_CLASSES = 20  # of a confusion matrix
MAX_COLUMNS = 20  # importances in the chart
MAX_DOTS = 1500


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("model", "The recommended model", 5, build))


def build(page: Page) -> Fragment | None:
    """Return one panel for each own dataset: code, importances, and errors of the model."""
    answers = [
        answer
        for answer in answers_of(page.view)
        if answer.recommended and page.view.datasets.get(answer.dataset, {}).get("source") == "file"
    ]
    if not answers:
        return None
    return Fragment([_panel(page, answer) for answer in answers[:MAX_DATASETS]])


def _panel(page: Page, answer: Answer) -> Panel:
    standing = answer.standing(answer.recommended)
    blocks: list[Block] = []
    if code := code_of(page.view, answer):
        blocks.append(Verbatim(code, "Code to copy"))
    run = page.of_run("id")
    save = f"harness best {run} --save model.pkl\nharness predict model.pkl NEW.csv"
    blocks.append(Verbatim(save, "Train it on all rows and predict new rows"))
    outcomes = _outcomes(page, answer)
    diagnostics = {d.name: d for d in page.view.diagnostics if d.algorithm == standing.algorithm}
    if (found := diagnostics.get("permutation")) and not found.reason:
        blocks.append(_importance(found))
    if (found := diagnostics.get("staged")) and not found.reason:
        link = Link(
            "its learning curve over the rounds", f"#{page.anchor('diagnostics', 'staged')}"
        )
        blocks.append(Paragraph(["See ", link, "."]))
    if outcomes:
        blocks += _errors(page, answer, outcomes)
    title = f"{short(standing.name)} on {short(answer.file or answer.dataset)}"
    return Panel(title, blocks, page.anchor("model", answer.dataset))


def _outcomes(page: Page, answer: Answer) -> list[Outcome]:
    """Return the finished outcomes of the recommended algorithm."""
    standing = answer.standing(answer.recommended)
    return [
        outcome
        for cell in page.view.cells
        if cell.dataset == answer.dataset
        and cell.algorithm == standing.algorithm
        and cell.preparation == standing.preparation
        and canonical(cell.params) == canonical(standing.params)
        for outcome in cell.outcomes
        if outcome.status is Status.DONE
    ]


def _importance(diagnostic: Diagnostic) -> Figure:
    found: Mapping[str, Any] = diagnostic.found
    names, metric = found["columns"], short(found["metric"])
    drawn = min(MAX_COLUMNS, len(names))
    columns = [Column("Column"), *numeric("Increase", "Low", "High")]
    rows: list[Row] = [
        [short(name), *(Cell.of(found[key][j], digits) for key in ("mean", "low", "high"))]
        for j, name in enumerate(names)
    ]
    caption = f"Increase of {metric} when a column is shuffled, with 95 % intervals"
    return Figure(
        spec=_bars(found, drawn, metric),
        title=caption,
        finding=f"Permutation importance on the first split: {short(diagnostic.sentence, 300)}.",
        table=Table(columns, rows, caption, f"permutation-{diagnostic.dataset}"),
    )


def _bars(found: Mapping[str, Any], drawn: int, metric: str) -> Plot:
    low, mean, high = (found[key][:drawn] for key in ("low", "mean", "high"))
    x = linear([0.0, *low, *high], f"increase of {metric}", zero=True)
    spans = [[(a, float(j)), (b, float(j))] for j, (a, b) in enumerate(zip(low, high, strict=True))]
    marks: list[Mark] = [Lines(spans), Dots([(m, float(j)) for j, m in enumerate(mean)])]
    names = row_axis([short(name, 30) for name in found["columns"][:drawn]])
    return Plot([Drawn(x, names, marks, width=420, height=ROW * drawn)], across=1)


def _errors(page: Page, answer: Answer, outcomes: Sequence[Outcome]) -> list[Block]:
    arrays = [page.view.predictions(outcome) for outcome in outcomes]
    arrays = [a for a in arrays if "y" in a and "output" in a]
    if not arrays:
        return []
    y = np.concatenate([a["y"] for a in arrays])
    output = np.concatenate([a["output"] for a in arrays])
    splits = f"Test rows of {len(arrays)} split{'s' if len(arrays) > 1 else ''}"
    if output.ndim == 1:
        return [_scatter(answer, y, output, splits)]
    names = outcomes[0].facts.get("classes") or ()
    width = output.shape[1]
    labels = [str(name) for name in names] if len(names) == width else list(map(str, range(width)))
    return [_confusion(answer, y, output.argmax(axis=1), labels, splits)]


def _confusion(
    answer: Answer, y: np.ndarray, predicted: np.ndarray, labels: Sequence[str], splits: str
) -> Table:
    """Return the confusion matrix of the most frequent classes."""
    k = len(labels)
    counts = np.zeros((k, k), np.int64)
    np.add.at(counts, (y.astype(np.int64), predicted), 1)
    shown = sorted(np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES].tolist())
    columns = [
        Column("True class"),
        *numeric(*(f"predicted {short(labels[j], 20)}" for j in shown), "right"),
    ]
    rows: list[Row] = [
        [
            short(labels[i], 30),
            *(Cell.of(int(counts[i, j]), count) for j in shown),
            Cell.of(counts[i, i] / max(1, counts[i].sum()), share),
        ]
        for i in shown
    ]
    caption = f"Confusion matrix. {splits}"
    return Table(columns, rows, caption, f"confusion-{answer.dataset}")


def _scatter(answer: Answer, y: np.ndarray, output: np.ndarray, splits: str) -> Figure:
    """Return the chart of predicted against true values."""
    order = np.random.default_rng(0).permutation(len(y))[:MAX_DOTS]
    ends = [float(min(y.min(), output.min())), float(max(y.max(), output.max()))]
    x, up = linear(ends, "true value"), linear(ends, "predicted value")
    marks: list[Mark] = [
        Lines([[(ends[0], ends[0]), (ends[1], ends[1])]], color="muted"),
        Dots([(float(y[i]), float(output[i])) for i in order], radius=2.0, opacity=0.5),
    ]
    error = output - y
    columns = [Column("Measure"), *numeric("Value")]
    rows: list[Row] = [
        ["median absolute error", Cell.of(float(np.median(np.abs(error))), digits)],
        ["mean error (predicted - true)", Cell.of(float(error.mean()), digits)],
        ["95 % of the errors are below", Cell.of(float(np.quantile(np.abs(error), 0.95)), digits)],
    ]
    caption = f"Predicted against true values. {splits}"
    return Figure(
        spec=Plot([Drawn(x, up, marks, width=360, height=360)], across=1),
        title=caption,
        finding=f"{splits}: a point on the line is a perfect prediction.",
        table=Table(columns, rows, caption, f"errors-{answer.dataset}"),
    )
