"""Diagrams of mean ranks, with bars over groups without a significant difference (Demsar 2006)."""

from __future__ import annotations

from collections.abc import Sequence

from reports.charts.axes import Axis, linear
from reports.charts.legends import ROW
from reports.charts.plot import Dots, Label, Lines, Mark, Panel, Plot


def critical_difference(
    names: Sequence[str], ranks: Sequence[float], groups: Sequence[tuple[int, int]], distance: float
) -> Plot:
    """Return the diagram; the bar at the top shows the critical distance.

    ``names`` and ``ranks`` are sorted, best first; ``groups`` are (first, last) positions.
    """
    start = max(1.0, min(ranks) - 0.2)
    top = -len(groups) - 2.2
    bars = [[(start, top + 0.6), (start + distance, top + 0.6)]]
    for j, (first, last) in enumerate(groups):
        y = j - len(groups) - 0.4
        bars.append([(ranks[first] - 0.03, y), (ranks[last] + 0.03, y)])
    places = zip(ranks, map(float, range(len(names))), strict=True)
    named = list(zip(names, places, strict=True))
    # names of the worse half are at the left, where there is room
    middle = (ranks[0] + ranks[-1]) / 2
    marks: list[Mark] = [
        *(Lines([[(x, top), (x, y)]], "line", 1, algorithm=n) for n, (x, y) in named),
        Lines(bars, "ink", 4),
        *(Dots([place], "blue", radius=4.2, algorithm=name) for name, place in named),
        Label((start, top + 0.6), "critical distance", "start", dx=0, dy=-7, color="muted"),
    ]
    for name, (x, y) in named:
        anchor, dx = ("end", -9) if x > middle else ("start", 9)
        marks.append(Label((x, y), name, anchor, dx=dx, algorithm=name))
    axis = linear([start, *ranks, start + distance], "mean rank (1 is best)", most=8)
    rows = Axis(len(names) - 0.5, top - 0.8, (), ())
    height = ROW * (len(names) + len(groups) + 3)
    return Plot([Panel(axis, rows, marks, width=520, height=height)], across=1)
