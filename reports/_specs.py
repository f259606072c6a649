"""The Vega-Lite specifications of the project's own charts: plain dicts, their data inline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reports._blocks import Key
from reports._charts import PALETTE
from reports._text import TIMES

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

ROW = 22  # pixels of a row of names
TICKS = 6  # of a log axis, at most
# Meaning → symbol in words, symbol in the chart, colour: colour never stands alone.
ORIGINS = {
    "from scratch": ("●", "circle", "blue"),
    "reference library": ("◆", "diamond", "orange"),
}
SPEEDS = {
    "faster": ("▲", "triangle-up", "blue"),
    "slower": ("▼", "triangle-down", "orange"),
    "undecided": ("■", "square", "muted"),
}
PHASES = {
    "import": ("●", "circle", "muted"),
    "compile": ("◆", "diamond", "purple"),
    "prepare": ("■", "square", "amber"),
    "native form": ("▲", "triangle-up", "sky"),
    "fit": ("▼", "triangle-down", "blue"),
    "predict": ("▶", "triangle-right", "orange"),
    "predict one row": ("✚", "cross", "green"),
}
_SECONDS = (
    "datum.value < 0.001 ? format(datum.value * 1e6, '~g') + ' µs' : "
    "datum.value < 1 ? format(datum.value * 1e3, '~g') + ' ms' : format(datum.value, '~g') + ' s'"
)
_RATIOS = f"'{TIMES}' + format(datum.value, '~g')"


def keys(meanings: Mapping[str, tuple[str, str, str]], used: Iterable[str]) -> list[Key]:
    """Return the legend of those meanings that a chart uses."""
    present = set(used)
    return [
        Key(symbol, colour, text)
        for text, (symbol, _, colour) in meanings.items()
        if text in present
    ]


def strips(rows: Rows, panels: Sequence[tuple[str, str, str]]) -> Spec:
    """Return dots in rows of names, a panel a quantity, with a tick at each row's mean.

    Parameters
    ----------
    rows
        ``name``, ``kind`` (of ``ORIGINS``) and the quantities, None where there is none.
    panels
        (key of the quantity, title of its axis, ``loss`` or ``seconds``).
    """
    names = list(dict.fromkeys(row["name"] for row in rows))
    views = [
        _strip(rows, names, key, title, unit, labelled=not index)
        for index, (key, title, unit) in enumerate(panels)
    ]
    return {"data": {"values": list(rows)}, "hconcat": views, "spacing": 24}


def _strip(
    rows: Rows, names: Sequence[str], key: str, title: str, unit: str, *, labelled: bool
) -> Spec:
    values = [row[key] for row in rows if row[key] is not None]
    axis: Spec = {"title": title, "tickCount": 4, "labelOverlap": True}
    scale: Spec = {"zero": False, "padding": 8}
    if unit == "seconds" or _wide(values):
        domain, ticks = log_scale(values)
        scale, axis["values"] = {"type": "log", "domain": domain, "nice": False}, ticks
    if unit == "seconds":
        axis["labelExpr"] = _SECONDS
    y = _names(names, labelled=labelled)
    x = {"field": key, "type": "quantitative", "scale": scale, "axis": axis}
    tick = {"type": "tick", "thickness": 2, "size": 14, "color": PALETTE["ink"]}
    return {
        "width": 190,
        "height": {"step": ROW},
        "transform": [{"filter": f"isValid(datum.{key})"}],
        "layer": [
            {"mark": _dot(46, 0.65), "encoding": {"x": x, "y": y, **_meaning("kind", ORIGINS)}},
            {"mark": tick, "encoding": {"x": {**x, "aggregate": "mean"}, "y": y}},
        ],
    }


def forest(rows: Rows) -> Spec:
    """Return ratios with their intervals on a log axis, and a line at 1.

    ``rows``: ``name``, ``kind`` (of ``SPEEDS``), ``low``, ``value``, ``high``; an interval without
    bounds is drawn dotted, from edge to edge.
    """
    finite = [row[k] for row in rows for k in ("low", "value", "high")]
    domain, ticks = log_scale([*(v for v in finite if 0 < v < math.inf), 1.0])
    low, high = domain
    held = [
        {
            **row,
            "low": max(row["low"], low),
            "high": min(row["high"], high),
            "bounded": row["high"] < math.inf,
        }
        for row in rows
    ]
    bounded: Spec = {"domain": [True, False], "range": [[1, 0], [1, 4]]}
    dash = {"field": "bounded", "type": "nominal", "legend": None, "scale": bounded}
    names = [row["name"] for row in held]
    axis = {"title": None, "values": ticks, "labelExpr": _RATIOS, "grid": True}
    scale = {"type": "log", "domain": domain, "nice": False}
    x = {"type": "quantitative", "scale": scale, "axis": axis}
    line = {"type": "rule", "strokeWidth": 2}
    one = {"type": "rule", "color": PALETTE["ink"], "strokeDash": [3, 3]}
    meaning = _meaning("kind", SPEEDS)
    span = {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": _names(names)}
    return {
        "data": {"values": held},
        "width": 420,
        "height": {"step": ROW},
        "layer": [
            {"mark": one, "encoding": {"x": {"datum": 1, **x}}},
            {"mark": line, "encoding": {**span, "color": meaning["color"], "strokeDash": dash}},
            {
                "mark": _dot(70),
                "encoding": {"x": {"field": "value", **x}, "y": _names(names), **meaning},
            },
        ],
    }


def phases(rows: Rows) -> Spec:
    """Return the median seconds of each phase, a row an algorithm; ``rows``: name, kind, value."""
    domain, ticks = log_scale([row["value"] for row in rows])
    axis = {"title": "median wall time", "values": ticks, "labelExpr": _SECONDS}
    scale = {"type": "log", "domain": domain, "nice": False}
    names = list(dict.fromkeys(row["name"] for row in rows))
    x = {"field": "value", "type": "quantitative", "scale": scale, "axis": axis}
    return {
        "data": {"values": list(rows)},
        "width": 460,
        "height": {"step": ROW},
        "mark": _dot(60),
        "encoding": {"x": x, "y": _names(names), **_meaning("kind", PHASES)},
    }


def log_scale(values: Iterable[float]) -> tuple[list[float], list[float]]:
    """Return the domain of a log axis around positive values, and two to seven ticks in it."""
    positive = [v for v in values if 0 < v < math.inf] or [1.0]
    low, high = min(positive) / 1.25, max(positive) * 1.25
    while len(_ticks(low, high, (1, 2, 3, 5))) < 2:
        low, high = low / 1.25, high * 1.25
    for factors in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        ticks = _ticks(low, high, factors)
        if len(ticks) <= TICKS:
            return [low, high], ticks
    return [low, high], ticks[:: math.ceil(len(ticks) / TICKS)]


def _ticks(low: float, high: float, factors: Sequence[int]) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**e for e in exponents for m in factors if low <= m * 10.0**e <= high]


def _wide(values: Sequence[float]) -> bool:
    """Whether values span so much that a linear axis would show only the largest."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > 12


def _names(names: Sequence[str], *, labelled: bool = True) -> Spec:
    axis = {"title": None, "grid": True, "labelPadding": 10, "labels": labelled}
    return {"field": "name", "type": "nominal", "sort": list(names), "axis": axis}


def _dot(area: int, opacity: float = 1.0) -> Spec:
    return {"type": "point", "filled": True, "size": area, "opacity": opacity}


def _meaning(field: str, meanings: Mapping[str, tuple[str, str, str]]) -> Spec:
    """Return the encodings that give each meaning its own shape and colour."""
    domain = list(meanings)
    shapes = [shape for _, shape, _ in meanings.values()]
    colours = [PALETTE[colour] for _, _, colour in meanings.values()]
    common: Spec = {"field": field, "type": "nominal", "legend": None}
    return {
        "color": {**common, "scale": {"domain": domain, "range": colours}},
        "shape": {**common, "scale": {"domain": domain, "range": shapes}},
    }


def critical_difference(
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[tuple[int, int]],
    distance: float,
) -> Spec:
    """Return mean ranks on an axis with bars over those that no test tells apart (Demsar 2006).

    ``names`` and ``ranks`` go from the best on; ``groups`` are (first, last) positions; the bar
    at the very top shows the critical distance itself.
    """
    start = max(1.0, min(ranks) - 0.2)
    bars = [{"low": start, "high": start + distance, "y": -len(groups) - 1.6, "kind": "CD"}]
    bars += [
        {"low": ranks[a] - 0.03, "high": ranks[b] + 0.03, "y": j - len(groups) - 0.4, "kind": ""}
        for j, (a, b) in enumerate(groups)
    ]
    top = -len(groups) - 2.2
    dots = [
        {"name": name, "rank": rank, "y": i, "top": top}
        for i, (name, rank) in enumerate(zip(names, ranks, strict=True))
    ]
    low, high = start - 0.3, max(*ranks, start + distance) + 0.3
    axis = {"title": "mean rank (1 is best)", "orient": "top", "grid": False, "tickCount": 6}
    x: Spec = {"type": "quantitative", "scale": {"domain": [low, high]}, "axis": axis}
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": [len(names) - 0.5, top], "nice": False},
        "axis": None,
    }
    label = {"type": "text", "align": "left", "dx": 8, "fontSize": 12, "color": PALETTE["ink"]}
    thin = {"type": "rule", "color": PALETTE["line"]}
    thick = {"type": "rule", "strokeWidth": 4, "color": PALETTE["ink"]}
    dot = {**_dot(60), "color": PALETTE["blue"]}
    at = {"x": {"field": "rank", **x}, "y": {"field": "y", **y}}
    span = {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": {"field": "y", **y}}
    return {
        "width": 520,
        "height": ROW * (len(names) + len(groups) + 2),
        "layer": [
            {"data": {"values": dots}, "mark": thin, "encoding": {**at, "y2": {"field": "top"}}},
            {"data": {"values": bars}, "mark": thick, "encoding": span},
            {
                "data": {"values": bars[:1]},
                "mark": {**label, "align": "right", "dx": -6},
                "encoding": {"x": span["x"], "y": span["y"], "text": {"field": "kind"}},
            },
            {"data": {"values": dots}, "mark": dot, "encoding": at},
            {
                "data": {"values": dots},
                "mark": label,
                "encoding": {**at, "text": {"field": "name", "type": "nominal"}},
            },
        ],
    }
