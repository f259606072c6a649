"""Small multiples: losses by round, reliability of probabilities, parts of an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reports.blocks.blocks import Key
from reports.charts.axes import Axis, linear, number
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot

Rows = Sequence[Mapping[str, Any]]

ACROSS = 3  # panels in a row
# Side → dash of its line, symbol in words, color; the dash also shows the side.
SIDES = {"test rows": ("", "—", "blue"), "training rows": ("4 3", "┄", "orange")}

PARTS = {
    "error": ("", "—", "blue"),
    "bias": ("6 3", "╌", "orange"),
    "variance": ("2 2", "┄", "green"),
    "noise": ("1 4", "·", "muted"),
}


def side_keys() -> list[Key]:
    """Return the legend of the lines of :func:`curves`."""
    return [Key(symbol, color, side) for side, (_, symbol, color) in SIDES.items()]


def curves(rows: Rows, key: str, x_title: str, y_title: str) -> Plot:
    """Return one panel for each algorithm with the loss on test and training rows.

    Parameters
    ----------
    rows
        ``name``, ``side`` (of ``SIDES``), ``loss`` and the quantity of the x axis.
    key
        Of that quantity.
    """
    x = linear([row[key] for row in rows], x_title)
    y = linear([row["loss"] for row in rows], y_title)
    return _panels(rows, lambda mine: (x, y, list(_lines(mine, "side", key, "loss", SIDES))))


def parts_keys(kinds: Sequence[str]) -> list[Key]:
    """Return the legend of the lines of :func:`parts`."""
    return [Key(PARTS[kind][1], PARTS[kind][2], kind) for kind in kinds]


def parts(rows: Rows, x_title: str, y_title: str) -> Plot:
    """Return one panel for each model with the parts of its error, against a positive number.

    ``rows``: ``name``, ``x``, ``part`` (of ``PARTS``) and ``value``. The x axis is logarithmic
    if its largest number is 20 times the least or more. Each panel has its own scale of the error:
    an ensemble's parts would be invisible on that of a single tree.
    """
    xs = sorted({row["x"] for row in rows})
    if xs[0] > 0 and xs[-1] >= 20 * xs[0]:
        x = Axis(xs[0] / 1.1, xs[-1] * 1.1, xs, [number(v) for v in xs], x_title, log=True)
    else:
        x = linear(xs, x_title)

    def draw(mine: Rows) -> tuple[Axis, Axis, list[Mark]]:
        y = linear([row["value"] for row in mine], y_title, zero=True)  # parts of a whole
        marks = list(_lines(mine, "part", "x", "value", PARTS))
        dots = [Dots(line, m.color, radius=2.4) for m in marks for line in m.lines]
        return x, y, [*marks, *dots]

    return _panels(rows, draw)


def reliability(rows: Rows) -> Plot:
    """Return one panel for each algorithm: rate of the event against its probability.

    ``rows``: ``name``, ``predicted``, ``observed``, ``low``, ``high``; the line is ideal.
    """
    x, y = (linear((0.0, 1.0), title, zero=True) for title in ("predicted", "observed"))

    def draw(mine: Rows) -> tuple[Axis, Axis, list[Mark]]:
        whiskers = [[(r["predicted"], r["low"]), (r["predicted"], r["high"])] for r in mine]
        dots = [(r["predicted"], r["observed"]) for r in mine]
        perfect = Lines([[(0, 0), (1, 1)]], "muted", 1, "3 3")
        return x, y, [perfect, Lines(whiskers, width=1.2), Dots(dots)]

    return _panels(rows, draw)


def _lines(
    rows: Rows, kind: str, x: str, y: str, meanings: Mapping[str, tuple[str, str, str]]
) -> Iterable[Lines]:
    """Yield one line for each meaning, sorted by x."""
    for meaning, (dash, _, color) in meanings.items():
        points = [(row[x], row[y]) for row in rows if row[kind] == meaning]
        if points:
            yield Lines([sorted(points)], color, 2, dash)


def _panels(rows: Rows, draw: Callable[[Rows], tuple[Axis, Axis, list[Mark]]]) -> Plot:
    panels = []
    for name in dict.fromkeys(row["name"] for row in rows):
        x, y, marks = draw([row for row in rows if row["name"] == name])
        panels.append(Panel(x, y, marks, name))
    return Plot(panels, ACROSS)
