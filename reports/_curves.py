"""Small multiples: losses round by round, how probabilities come true, what an error is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports._blocks import Key
from reports._charts import PALETTE

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

WIDTH, HEIGHT = 190, 130  # pixels of one panel
ACROSS = 3  # panels in a row
# Side → dash of its line, symbol in words, colour: colour never stands alone.
SIDES = {"test rows": ([1, 0], "—", "blue"), "training rows": ([4, 3], "┄", "orange")}

PARTS = {
    "error": ([1, 0], "—", "blue"),
    "bias": ([6, 3], "╌", "orange"),
    "variance": ([2, 2], "┄", "green"),
    "noise": ([1, 4], "·", "muted"),
}


def side_keys() -> list[Key]:
    """Return the legend of the lines of :func:`curves`."""
    return [Key(symbol, colour, side) for side, (_, symbol, colour) in SIDES.items()]


def curves(rows: Rows, key: str, x_title: str, y_title: str) -> Spec:
    """Return a panel an algorithm with the loss on test and on training rows.

    Parameters
    ----------
    rows
        ``name``, ``side`` (of ``SIDES``), ``loss`` and the quantity of the x axis.
    key
        Of that quantity.
    """
    sides = list(SIDES)
    dashes = [dash for dash, _, _ in SIDES.values()]
    colours = [PALETTE[colour] for _, _, colour in SIDES.values()]
    common: Spec = {"field": "side", "type": "nominal", "legend": None}
    encoding = {
        "x": _number(key, x_title),
        "y": _number("loss", y_title),
        "color": {**common, "scale": {"domain": sides, "range": colours}},
        "strokeDash": {**common, "scale": {"domain": sides, "range": dashes}},
    }
    mark = {"type": "line", "strokeWidth": 2}
    return _panels(rows, {"mark": mark, "encoding": encoding})


def parts_keys(kinds: Sequence[str]) -> list[Key]:
    """Return the legend of the lines of :func:`parts`."""
    return [Key(PARTS[kind][1], PARTS[kind][2], kind) for kind in kinds]


def parts(rows: Rows, x_title: str, y_title: str) -> Spec:
    """Return a panel a model with each part of its error, against a positive number.

    ``rows``: ``name``, ``x``, ``part`` (of ``PARTS``) and ``value``. The x axis is logarithmic
    where its largest number is 20 times the least or more. Panels share no scale of the error:
    that of a single tree would hide what is left of an ensemble's.
    """
    known = [kind for kind in PARTS if any(row["part"] == kind for row in rows)]
    xs = [row["x"] for row in rows]
    x = _number("x", x_title)
    if min(xs) > 0 and max(xs) >= 20 * min(xs):
        x["scale"] = {"type": "log"}
        x["axis"] = {**x["axis"], "values": sorted(set(xs))}
    common: Spec = {"field": "part", "type": "nominal", "legend": None}
    colours = [PALETTE[PARTS[kind][2]] for kind in known]
    encoding = {
        "x": x,
        "y": {**_number("value", y_title), "scale": {"zero": True}},  # parts of a whole
        "color": {**common, "scale": {"domain": known, "range": colours}},
        "strokeDash": {**common, "scale": {"domain": known, "range": [PARTS[k][0] for k in known]}},
    }
    mark = {"type": "line", "strokeWidth": 2, "point": {"size": 18, "filled": True}}
    whole = _panels(rows, {"mark": mark, "encoding": encoding})
    return {**whole, "resolve": {"scale": {"y": "independent"}}}


def reliability(rows: Rows) -> Spec:
    """Return a panel an algorithm with the rate of the event against its probability.

    ``rows``: ``name``, ``predicted``, ``observed``, ``low``, ``high``; the line is perfection.
    """
    axis = {"values": [0, 0.5, 1], "title": "predicted"}
    x: Spec = {"field": "predicted", "type": "quantitative", "axis": axis}
    y: Spec = {"type": "quantitative", "axis": {**axis, "title": "observed"}}
    for channel in (x, y):
        channel["scale"] = {"domain": [0, 1]}
    perfect = {"type": "rule", "color": PALETTE["muted"], "strokeDash": [3, 3]}
    ends = {"x": {"datum": 0}, "y": {"datum": 0}, "x2": {"datum": 1}, "y2": {"datum": 1}}
    dot = {"type": "point", "filled": True, "size": 40, "color": PALETTE["blue"]}
    whisker = {"type": "rule", "color": PALETTE["blue"]}
    span = {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}}
    layers = [
        {"mark": perfect, "encoding": ends},
        {"mark": whisker, "encoding": span},
        {"mark": dot, "encoding": {"x": x, "y": {"field": "observed", **y}}},
    ]
    return _panels(rows, {"layer": layers})


def _panels(rows: Rows, view: Spec) -> Spec:
    names = list(dict.fromkeys(row["name"] for row in rows))
    return {
        "data": {"values": list(rows)},
        "facet": {"field": "name", "type": "nominal", "title": None, "sort": names},
        "columns": ACROSS,
        "spec": {"width": WIDTH, "height": HEIGHT, **view},
    }


def _number(field: str, title: str) -> Spec:
    axis = {"title": title, "tickCount": 4, "labelOverlap": True}
    return {"field": field, "type": "quantitative", "scale": {"zero": False}, "axis": axis}
