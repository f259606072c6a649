"""Labels of named points: the name where it fits, otherwise a number with a leader line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.charts.plot import (
    SIZE,
    Dots,
    Label,
    Lines,
    Mark,
    Panel,
    Point,
    position,
    value_at,
    width_of,
)
from reports.text.format import short
from reports.text.palette import LABEL

MOST_NAMES = 12  # points of a panel that may all have names; of more, only the most important
NEAR = tuple(  # anchor and distance of a label that needs no leader line
    (anchor, dx, 4 + sign * dy)
    for dy in (0, 9, 15)
    for sign in (-1, 1)
    for anchor, dx in (("start", 8), ("end", -8), ("middle", 0))
    if dy or anchor != "middle"
)
FAR = tuple(  # of a number with a leader line
    ("middle", dx, 4 + dy)
    for distance in (20, 28, 38, 50, 64, 80, 100, 130)
    for dx, dy in (
        (distance, 0),
        (-distance, 0),
        (0, -distance),
        (0, distance),
        (distance, -distance),
        (-distance, -distance),
        (distance, distance),
        (-distance, distance),
    )
)
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class PointLabels:
    """The marks of the labels, and the names of the points with a number."""

    marks: list[Mark]
    numbered: set[str]


def label_points(
    named: Mapping[str, Point],
    important: Sequence[str],
    numbers: Mapping[str, int],
    panel: Panel,
) -> PointLabels:
    """Return a label for every point; no label covers another one or a dot, if there is room.

    Parameters
    ----------
    named
        Name → point.
    important
        Names whose labels are placed first. If there are many points, only these show names.
    numbers
        Name → number, shown where the name does not fit.
    panel
        The panel with the points' marks.
    """
    taken = [
        (x - 4, y - 4, x + 4, y + 4)
        for mark in panel.marks
        if isinstance(mark, Dots)
        for x, y in (position(panel, point) for point in mark.points)
    ]
    first = [name for name in important if name in named]
    order = [*first, *(name for name in named if name not in first)]
    found = PointLabels([], set())
    for name in order:
        may_be_name = name in first or len(named) <= MOST_NAMES
        text = short(name, LABEL)
        box = _free(text, NEAR, named[name], panel, taken) if may_be_name else None
        if box is None:
            text = str(numbers[name])
            found.numbered.add(name)
            box = _free(text, (*NEAR, *FAR), named[name], panel, taken) or (NEAR[0], (0, 0, 0, 0))
        place, covered = box
        taken.append(covered)
        found.marks.extend(_marks(text, place, name, named[name], panel))
    return found


def _free(
    text: str,
    places: Sequence[tuple[str, float, float]],
    point: Point,
    panel: Panel,
    taken: Sequence[Box],
) -> tuple[tuple[str, float, float], Box] | None:
    """Return the first place inside the panel where a label covers nothing, with its box."""
    x, y = position(panel, point)
    wide = width_of(text)
    for anchor, dx, dy in places:
        left = x + dx - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        box = (left, y + dy - SIZE + 1, left + wide, y + dy + 2)
        inside = box[0] >= 0 and box[2] <= panel.width and box[1] >= 0 and box[3] <= panel.height
        if inside and not any(_overlap(box, other) for other in taken):
            return (anchor, dx, dy), box
    return None


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _marks(
    text: str, place: tuple[str, float, float], name: str, point: Point, panel: Panel
) -> Iterator[Mark]:
    """Yield the leader line, if the label is far from its point, and the label."""
    anchor, dx, dy = place
    if place in FAR:
        x, y = position(panel, point)
        end = value_at(panel, (x + dx, y + dy - 4))
        yield Lines([[point, end]], "muted", 0.75, algorithm=name)
    yield Label(point, text, anchor, dx, dy, algorithm=name)
