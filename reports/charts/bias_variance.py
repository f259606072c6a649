"""Charts of the parts of an error against varied params: one panel for each algorithm."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.analysis.diagnostics import Diagnostic
from reports.blocks.blocks import Block, Details, Figure
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.charts.curves import parts, parts_keys
from reports.text.format import digits, listing, plural, short

MAX_PANELS = 12  # of one chart
SIZE = "training rows"


def varied(results: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """Return for each result the params that vary among its algorithm and dataset."""
    values: dict[tuple[str, str, str], set[str]] = {}
    for d in results:
        for key, value in d.params.items():
            values.setdefault((d.algorithm, d.dataset, key), set()).add(json.dumps(value))
    differ = {place for place, known in values.items() if len(known) > 1}
    return [
        {k: v for k, v in d.params.items() if (d.algorithm, d.dataset, k) in differ}
        for d in results
    ]


def params_text(params: Mapping[str, Any]) -> str:
    """Return "max_depth 3, learning_rate 0.1"."""
    return ", ".join(f"{short(key)} {short(_word(value), 40)}" for key, value in params.items())


def named(results: Sequence[Diagnostic]) -> list[str]:
    """Return a name for each result: the algorithm, and the params that distinguish it."""
    params = map(params_text, varied(results))
    return [
        f"{d.algorithm}, {extra}" if extra else d.algorithm
        for d, extra in zip(results, params, strict=True)
    ]


def _word(value: Any) -> str:
    if isinstance(value, Mapping) and "algorithm" in value:  # a nested estimator
        inner = params_text(value.get("params") or {})
        return f"{value['algorithm']} ({inner})" if inner else str(value["algorithm"])
    return value if isinstance(value, str) else json.dumps(value)


def shares(decomposition: Mapping[str, Any]) -> dict[str, float]:
    """Return error, bias, variance and, if known, noise of a result."""
    value = {name: part["value"] for name, part in decomposition["parts"].items()}
    if decomposition["kind"] == "0-1":
        net = value["unbiased_variance"] - value["biased_variance"]
        return {"error": value["error"], "bias": value["bias"], "variance": net}
    known = {"error": value["error"], "bias": value["bias2"], "variance": value["variance"]}
    return known | ({"noise": value["noise"]} if "noise" in value else {})


def bias_variance_figures(results: Sequence[Diagnostic]) -> list[Block]:
    """Return for each dataset the parts against each axis and the number of training rows."""
    blocks: list[Block] = []
    for dataset in dict.fromkeys(d.dataset for d in results):
        same = [d for d in results if d.dataset == dataset]
        charts: dict[str, list[dict[str, Any]]] = {}
        for axis, row in _points(same):
            charts.setdefault(axis, []).append(row)
        sizes = list(_best(same))
        if len({row["x"] for row in sizes}) > 1:
            charts[SIZE] = sizes
        blocks += [_figure(rows, axis, dataset) for axis, rows in charts.items()]
    return [Details("Error, bias and variance as curves", blocks)] if blocks else []


def _points(results: Sequence[Diagnostic]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield axis and points of the results on one dataset whose algorithm has an axis."""
    differing = varied(results)
    axes = {
        name: _axis(results, differing, name)
        for name in dict.fromkeys(d.algorithm for d in results)
    }
    for d, params in zip(results, differing, strict=True):
        axis = axes[d.algorithm]
        if not axis or not _is_number(params[axis]):  # such as a depth without a limit
            continue
        rest = params_text({k: v for k, v in params.items() if k != axis})
        size = plural(d.found["train_rows"], "row")
        name = ", ".join(filter(None, [d.algorithm, rest, size]))
        yield axis, {"name": name, "x": params[axis], **shares(d.found)}


def _axis(results: Sequence[Diagnostic], differing: Sequence[dict[str, Any]], name: str) -> str:
    """Return the param of an algorithm with the most distinct numbers, or ""."""
    known: dict[str, set[float]] = {}
    for d, params in zip(results, differing, strict=True):
        for key, value in params.items():
            if d.algorithm == name and _is_number(value):
                known.setdefault(key, set()).add(value)
    several = {key: values for key, values in known.items() if len(values) > 1}
    return max(several, key=lambda key: len(several[key]), default="")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _best(results: Sequence[Diagnostic]) -> Iterator[dict[str, Any]]:
    """Yield points against training rows, for each algorithm's params of least final error."""
    every = list(zip(results, varied(results), strict=True))
    for name in dict.fromkeys(d.algorithm for d in results):
        mine = [(d, params) for d, params in every if d.algorithm == name]
        largest = max(d.found["train_rows"] for d, _ in mine)
        ends = [(d, params) for d, params in mine if d.found["train_rows"] == largest]
        chosen = min(ends, key=lambda end: shares(end[0].found)["error"])[1]
        label = ", ".join(filter(None, [name, params_text(chosen)]))
        for d, params in mine:
            if params == chosen:
                yield {"name": label, "x": d.found["train_rows"], **shares(d.found)}


def _figure(rows: Sequence[dict[str, Any]], axis: str, dataset: str) -> Figure:
    names = list(dict.fromkeys(row["name"] for row in rows))
    names, left = names[:MAX_PANELS], len(names) - MAX_PANELS
    drawn = sorted((r for r in rows if r["name"] in names), key=lambda r: names.index(r["name"]))
    kinds = [kind for kind in ("error", "bias", "variance", "noise") if kind in drawn[0]]
    columns = [Column("Model"), Column(short(axis), numeric=True)]
    columns += numeric(*(kind.capitalize() for kind in kinds))
    table: list[Row] = [
        [short(r["name"], 80), Cell.of(r["x"], digits), *(Cell.of(r[k], digits) for k in kinds)]
        for r in drawn
    ]
    caption = f"{listing(kinds).capitalize()} against {short(axis)} on {short(dataset)}"
    if left > 0:
        caption += f"; {plural(left, 'more panel')} not drawn"
    named = Table(columns, table, caption, f"diagnostics-bias-variance-{axis}-{dataset}")
    long = [
        {"name": r["name"], "x": r["x"], "part": kind, "value": r[kind]}
        for r in drawn
        for kind in kinds
    ]
    spec = parts(long, short(axis), "error")
    return Figure(spec=spec, title=caption, finding=caption, table=named, keys=parts_keys(kinds))
