"""Section Quality: ROC and precision-recall curves, reliability, residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness import Section, hookimpl
from harness.analysis.curves import event_curve
from harness.analysis.diagnostics import calibration
from harness.analysis.run_view import Cell as Measured
from harness.core.model import Status, Task, Trial
from reports.blocks.blocks import Block, Figure, Fragment, Key, Paragraph
from reports.blocks.blocks import Panel as Part
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.axes import Axis, linear
from reports.charts.legends import SERIES, series_keys
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.page.page import Page
from reports.text.format import digits, plural, short

OPEN = 4  # datasets that are open at first
MAX_DATASETS = 40  # datasets with charts
DRAWN = 6  # algorithms of one chart, the most accurate
DRAWN_OF_MANY = 3  # the same if there are many datasets, so that the page stays small
MANY = 10  # datasets
POINTS = 60  # of one curve
DOTS = 120  # of one scatter
GROUPS = 10  # of neighboring rows, of the running mean of residuals
NOTE = (
    "Test rows of every split of the first repeat and the first seed, each counted once, "
    "for the most accurate algorithms of each dataset. With two classes the event is the "
    "second class; with more classes it is that the most likely class is right."
)


@dataclass(frozen=True)
class Predicted:
    """The pooled predictions of one algorithm on one dataset."""

    name: str
    y: np.ndarray  # (n,) values or class codes
    output: np.ndarray  # (n,) values or (n, k) probabilities
    weight: np.ndarray  # (n,)
    algorithm: str = ""


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("quality", "Curves and residuals", 37, build))


def build(page: Page) -> Fragment | None:
    """Return one panel for each dataset."""
    names = [name for name in sorted(page.by_dataset) if task_of(page, name) != Task.RANKING]
    found = [(dataset, pooled(page, dataset)) for dataset in names[:MAX_DATASETS]]
    found = [(dataset, several) for dataset, several in found if several]
    parts = [
        Part(
            short(dataset),
            _figures(page, dataset, several),
            page.anchor("quality", dataset),
            folded=len(found) > OPEN,
        )
        for dataset, several in found
    ]
    return Fragment([Paragraph(NOTE, role="note"), *parts]) if parts else None


def task_of(page: Page, dataset: str) -> str:
    """Return the task of a dataset."""
    return page.by_dataset[dataset][0][1].task


def pooled(page: Page, dataset: str) -> list[Predicted]:
    """Return the predictions of the most accurate algorithms, best first."""
    predictions: list[Predicted] = []
    most = DRAWN if len(page.by_dataset) <= MANY else DRAWN_OF_MANY
    for name, cell in page.by_dataset[dataset]:
        if len(predictions) < most and (one := _pooled(page, name, cell)) is not None:
            predictions.append(one)
    return predictions


def _pooled(page: Page, name: str, cell: Measured) -> Predicted | None:
    done = [o for o in cell.outcomes if o.status is Status.DONE and not o.trial.split.repeat]
    done = [o for o in done if _drawn_once(o.trial) == _drawn_once(done[0].trial)]
    arrays = [a for a in map(page.view.predictions, done) if "output" in a]
    if not arrays or len({a["output"].shape[1:] for a in arrays}) > 1:
        return None
    y = np.concatenate([a["y"] for a in arrays])
    output = np.concatenate([a["output"] for a in arrays]).astype(np.float64)
    weight = np.concatenate([a.get("weight", np.ones(len(a["y"]))) for a in arrays])
    return Predicted(name, y, output, weight, cell.algorithm)


def _drawn_once(trial: Trial) -> tuple[int, int]:
    """Return seed and drawn training rows: among trials that share them no test row is in two."""
    return trial.seed, trial.split.train_rows


def _figures(page: Page, dataset: str, found: Sequence[Predicted]) -> list[Block]:
    task = task_of(page, dataset)
    again = page.again((p.algorithm for p in found), [dataset])
    if task == Task.REGRESSION:
        return [replace(_residuals(dataset, found), again=again)]
    panels = [_reliability(found)]
    columns = [Column("Algorithm")]
    if task == Task.BINARY and all(len(np.unique(p.y)) == 2 for p in found):
        panels = [_roc(found), _precision(found), *panels]
        columns += numeric("Area under ROC", "Average precision")
    columns += numeric("Expected calibration error")
    rows: list[Row] = [_row(p, len(columns)) for p in found]
    caption = f"Areas under the curves on {short(dataset)}, and calibration error"
    caption += f" over {calibration.BINS} bins"
    figure = Figure(
        spec=Plot(panels, across=3),
        title=f"Curves of the most accurate algorithms on {dataset}",
        finding=_finding(found),
        table=Table(columns, rows, caption, f"quality-{dataset}"),
        keys=series_keys(short(p.name, 40) for p in found),
        again=again,
        points=_points(found, dataset, curves=len(panels) > 1),
    )
    return [figure]


def _points(found: Sequence[Predicted], dataset: str, *, curves: bool) -> Table:
    """Return the drawn points of every curve."""
    rows: list[Row] = []
    for p in found:
        drawn = [("reliability", list(zip(*bins(p), strict=True)))]
        if curves:
            fpr, tpr, precision = curve(p)
            drawn += [("ROC", _thinned(fpr, tpr)), ("precision", _thinned(tpr, precision))]
        rows += [[p.name, name, Cell("", x), Cell("", y)] for name, line in drawn for x, y in line]
    columns = [*texts("Algorithm", "Curve"), Column("x", numeric=True), *numeric("y")]
    caption = f"Each point in the chart, at most {POINTS} of a curve"
    return Table(columns, rows, caption, f"quality-points-{dataset}")


def _finding(found: Sequence[Predicted]) -> str:
    errors = {p.name: calibration_error(p) for p in found}
    best = min(errors, key=errors.__getitem__)
    sentence = (
        f"{short(best, 40)} is the best calibrated of them, with an error of "
        f"{digits(errors[best], 2)}"
    )
    return f"{sentence} on average over {plural(len(found[0].y), 'test row')}."


def _row(predicted: Predicted, columns: int) -> Row:
    error = Cell.of(calibration_error(predicted), digits)
    if columns == 2:
        return [short(predicted.name), error]
    fpr, tpr, precision = curve(predicted)
    area = float(np.trapezoid(tpr, fpr))
    average = float(np.sum(np.diff(tpr) * precision[1:]))
    return [short(predicted.name), Cell.of(area, digits), Cell.of(average, digits), error]


# ------------------------------------------------------------------ of two classes


def curve(predicted: Predicted) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return false and true positive rates and precision of the second class."""
    return event_curve(predicted.output[:, 1], predicted.y == 1, predicted.weight)


def _roc(found: Sequence[Predicted]) -> Panel:
    marks: list[Mark] = [Lines([[(0, 0), (1, 1)]], "muted", 1, "3 3")]
    for p, (color, dash, _) in zip(found, SERIES, strict=False):
        fpr, tpr, _ = curve(p)
        marks.append(Lines([_thinned(fpr, tpr)], color, 2, dash, p.name))
    x, y = _unit("false positive rate"), _unit("true positive rate")
    return Panel(x, y, marks, "ROC", 200, 200)


def _precision(found: Sequence[Predicted]) -> Panel:
    marks: list[Mark] = []
    for p, (color, dash, _) in zip(found, SERIES, strict=False):
        _, recall, precision = curve(p)
        marks.append(Lines([_thinned(recall, precision)], color, 2, dash, p.name))
    return Panel(_unit("recall"), _unit("precision"), marks, "Precision and recall", 200, 200)


def _unit(title: str) -> Axis:
    return linear((0.0, 1.0), title, zero=True)


def _thinned(x: np.ndarray, y: np.ndarray) -> list[tuple[float, float]]:
    """Return at most so many points of a curve, with both ends."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(int))
    return [(float(x[i]), float(y[i])) for i in kept]


# ------------------------------------------------------------------ calibration


def bins(predicted: Predicted) -> tuple[list[float], list[float]]:
    """Return mean probability and rate of the event in bins of equally many rows."""
    found = calibration.bins(*_events(predicted))
    return [b.predicted for b in found], [b.observed for b in found]


def calibration_error(predicted: Predicted) -> float:
    """Return the expected calibration error: mean distance of a bin's rate from its forecast."""
    p, hit, weight, place = _events(predicted)
    return calibration.expected_error(hit - p, weight, place)


def _events(predicted: Predicted) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return probability, event (true or false), weight and bin of the used rows."""
    p, hit, _ = calibration.event_of(predicted.output, predicted.y)
    kept = predicted.weight > 0
    p, hit, weight = p[kept], hit[kept], predicted.weight[kept]
    edges = calibration.quantile_edges(p, calibration.BINS)
    return p, hit, weight, calibration.bin_of(p, edges)


def _reliability(found: Sequence[Predicted]) -> Panel:
    marks: list[Mark] = [Lines([[(0, 0), (1, 1)]], "muted", 1, "3 3")]
    for p, (color, dash, shape) in zip(found, SERIES, strict=False):
        points = list(zip(*bins(p), strict=True))
        marks += [
            Lines([points], color, 1.5, dash, p.name),
            Dots(points, color, shape, 3, algorithm=p.name),
        ]
    return Panel(_unit("predicted"), _unit("observed"), marks, "Reliability", 200, 200)


# ------------------------------------------------------------------ regression


def _residuals(dataset: str, found: Sequence[Predicted]) -> Figure:
    spread = max(float(np.abs(p.y - p.output).max()) for p in found)
    x_all = [float(v) for p in found for v in (p.output.min(), p.output.max())]
    panels = []
    rows: list[Row] = []
    dots: list[Row] = []
    for p in found:
        residual = p.y - p.output
        order = np.argsort(p.output, kind="stable")
        kept = order[:: math.ceil(len(order) / DOTS)]
        points = [(float(p.output[i]), float(residual[i])) for i in kept]
        dots += [[p.name, "test row", Cell("", x), Cell("", y)] for x, y in points]
        edges = [list(zip(*_running(p.output[order], residual[order]), strict=True))]
        dots += [[p.name, "running mean", Cell("", x), Cell("", y)] for x, y in edges[0]]
        marks: list[Mark] = [
            Lines([[(min(x_all), 0.0), (max(x_all), 0.0)]], "muted", 1, "3 3"),
            Dots(points, "blue", radius=2, opacity=0.5),
            Lines(edges, "orange", 2),
        ]
        x, y = linear(x_all, "predicted", most=4), linear((-spread, spread), "residual", most=4)
        panels.append(Panel(x, y, marks, p.name, 200, 150))
        low, middle, high = (float(q) for q in np.quantile(residual, [0.05, 0.5, 0.95]))
        rows.append(
            [short(p.name), *(Cell.of(v, digits) for v in (residual.mean(), low, middle, high))]
        )
    columns = [Column("Algorithm"), *numeric("Mean", "5 %", "Median", "95 %")]
    return Figure(
        spec=Plot(panels, across=3),
        title=f"Residuals against predictions on {dataset}, one panel for each algorithm",
        finding="Target minus prediction; the thick line is the running mean, ideally 0.",
        table=Table(columns, rows, f"Residuals on {short(dataset)}", f"residuals-{dataset}"),
        keys=[Key("●", "blue", "test rows"), Key("—", "orange", "running mean")],
        points=_dots_table(dots, dataset),
    )


def _dots_table(dots: Sequence[Row], dataset: str) -> Table:
    columns = [*texts("Algorithm", "What"), *numeric("Predicted", "Residual")]
    caption = f"Each dot in the chart, at most {DOTS} of an algorithm"
    return Table(columns, dots, caption, f"residual-points-{dataset}")


def _running(x: np.ndarray, residual: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the means of ten groups of neighbors."""
    groups = [g for g in np.array_split(np.arange(len(x)), GROUPS) if len(g)]
    return [float(x[g].mean()) for g in groups], [float(residual[g].mean()) for g in groups]
