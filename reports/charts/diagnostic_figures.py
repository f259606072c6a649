"""Charts of the diagnostics, each with the table of its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from harness.analysis.diagnostics import Diagnostic
from reports.blocks.blocks import Block, Details, Figure
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.bias_variance import bias_variance_figures, named
from reports.charts.curves import curves, reliability, side_keys
from reports.charts.scaling import importance_figures, scaling_figures
from reports.text.format import bounds, count, digits, short

MAX_PANELS = 12  # of one chart


def _by_dataset(results: Iterable[Diagnostic]) -> Iterator[tuple[str, list[Diagnostic]]]:
    by_dataset: dict[str, list[Diagnostic]] = {}
    for one in results:
        by_dataset.setdefault(one.dataset, []).append(one)
    for dataset, same in by_dataset.items():
        yield dataset, same[:MAX_PANELS]


def staged_figures(results: Sequence[Diagnostic]) -> list[Block]:
    """Return for each dataset the losses against members and against seconds."""
    blocks: list[Block] = []
    for dataset, same in _by_dataset(results):
        names = named(same)
        rows = [row for d, name in zip(same, names, strict=True) for row in _points(d, name)]
        metric = short(same[0].found["metric"])
        for key, title in (("members", "members"), ("seconds", "seconds of training")):
            drawn = [row for row in rows if row[key] is not None]
            if drawn:
                blocks.append(_curve(drawn, key, title, metric, short(dataset)))
    return [Details("Curves", blocks)] if blocks else []


def _points(result: Diagnostic, name: str) -> Iterator[dict[str, Any]]:
    curve = result.found
    times = curve["seconds"] or [None] * len(curve["stage"])
    for side, losses in (("test rows", curve["test"]), ("training rows", curve["train"])):
        for members, time, value in zip(curve["stage"], times, losses, strict=True):
            names = {"name": name, "side": side}
            yield {**names, "loss": value, "members": members, "seconds": time}


def _curve(rows: list[dict[str, Any]], key: str, title: str, metric: str, dataset: str) -> Figure:
    columns = [*texts("Algorithm", "Rows"), *numeric(title.capitalize(), metric)]
    table: list[Row] = [
        [short(r["name"]), r["side"], Cell.of(r[key], digits), Cell.of(r["loss"], digits)]
        for r in rows
    ]
    caption = f"{metric} against {title} on {dataset}"
    name = f"diagnostics-staged-{key}-{dataset}"
    return Figure(
        spec=curves(rows, key, title, metric),
        title=caption,
        finding=caption,
        table=Table(columns, table, caption, name),
        keys=side_keys(),
    )


def reliability_figures(results: Sequence[Diagnostic]) -> list[Block]:
    """Return for each dataset the rate of the event against its probability."""
    return [
        Details("Reliability diagrams", [_diagram(d, same) for d, same in _by_dataset(results)])
    ]


def _diagram(dataset: str, results: Sequence[Diagnostic]) -> Figure:
    rows = [
        {"name": name, "low": b["bounds"][0], "high": b["bounds"][1]}
        | {key: b[key] for key in ("predicted", "observed", "rows")}
        for d, name in zip(results, named(results), strict=True)
        for b in d.found["bins"]
    ]
    table: list[Row] = [
        [
            short(r["name"]),
            Cell.of(r["rows"], count),
            Cell.of(r["predicted"], digits),
            Cell.of(r["observed"], digits, note=bounds(r["low"], r["high"])),
        ]
        for r in rows
    ]
    columns = [Column("Algorithm"), *numeric("Rows", "Predicted", "Observed")]
    caption = f"Observed frequency of the event on {short(dataset)}, by its predicted probability"
    numbers = Table(columns, table, caption, f"diagnostics-reliability-{dataset}")
    return Figure(spec=reliability(rows), title=caption, finding=caption, table=numbers)


FIGURES = {
    "staged": staged_figures,
    "calibration": reliability_figures,
    "bias_variance": bias_variance_figures,
    "scaling": scaling_figures,
    "importance": importance_figures,
}
