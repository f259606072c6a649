"""Diagrams of mean ranks, with bars over groups without a significant difference (Demsar 2006)."""

from __future__ import annotations

from collections.abc import Sequence

from reports.charts.axes import Axis, linear
from reports.charts.legends import ROW
from reports.charts.plot import Dots, Label, Lines, Mark, Panel, Plot


def critical_difference(
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[tuple[int, int]],
    distance: float,
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
    places = list(zip(ranks, map(float, range(len(names))), strict=True))
    # names of the worse half are at the left, where there is room
    middle = (ranks[0] + ranks[-1]) / 2
    marks: list[Mark] = [
        Lines([[(x, top), (x, y)] for x, y in places], "line", 1),
        Lines(bars, "ink", 4),
        Dots(places, "blue", radius=4.2),
        Label((start, top + 0.6), "critical distance", "start", dx=0, dy=-7, colour="muted"),
    ]
    for name, (x, y) in zip(names, places, strict=True):
        left = x > middle
        marks.append(Label((x, y), name, "end" if left else "start", dx=-9 if left else 9))
    axis = linear([start, *ranks, start + distance], "mean rank (1 is best)", most=8)
    rows = Axis(len(names) - 0.5, top - 0.8, (), ())
    height = ROW * (len(names) + len(groups) + 3)
    return Plot([Panel(axis, rows, marks, width=520, height=height)], across=1)
