"""Small multiples: the loss of each algorithm round by round, and how probabilities come true."""

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
