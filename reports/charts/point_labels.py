"""Labels of named points: the name where it fits, otherwise a number with a leader line."""

from __future__ import annotations

import itertools
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

MAX_NAMES = 12  # points of a panel that may all have names; of more, only the most important
NEAR = tuple(  # anchor and distance of a label that needs no leader line
    (anchor, dx, 4 + sign * dy)
    for dy in (0, 9, 15)
    for sign in (-1, 1)
    for anchor, dx in (("start", 8), ("end", -8), ("middle", 0))
    if dy or anchor != "middle"
)
FAR = tuple(  # of a label with a leader line
    (anchor, dx * distance, 4 + dy * distance)
    for distance in (16, 24, 34, 46, 60, 80, 100, 130)
    for anchor, dx, dy in (
        ("start", 1, 0),
        ("end", -1, 0),
        ("middle", 0, -1),
        ("middle", 0, 1),
        ("start", 1, -1),
        ("end", -1, -1),
        ("start", 1, 1),
        ("end", -1, 1),
    )
)
CLOSE = FAR[:16]  # of a name with a leader line; longer lines are for numbers
Place = tuple[str, float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class PointLabels:
    """The marks of the labels, and the names of the points with a number."""

    marks: list[Mark]
    numbered: set[str]


def label_points(
    named: Mapping[str, Point], important: Sequence[str], numbers: Mapping[str, int], panel: Panel
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
    dots = [
        (x - 4, y - 4, x + 4, y + 4)
        for mark in panel.marks
        if isinstance(mark, Dots)
        for x, y in (position(panel, point) for point in mark.points)
    ]
    labels, lines = list(dots), list(_line_boxes(panel))
    first = [name for name in important if name in named]
    placed = PointLabels([], set())
    for name in [*first, *(name for name in named if name not in first)]:
        text = short(name, LABEL)
        free = None
        if name in first or len(named) <= MAX_NAMES:
            free = _free(text, named[name], panel, CLOSE, [*labels, *lines], labels)
        if free is None:
            text = str(numbers[name])
            placed.numbered.add(name)
            free = _free(text, named[name], panel, FAR, [*labels, *lines], labels)
        place, box = free or (NEAR[0], (0.0, 0.0, 0.0, 0.0))
        labels.append(box)
        placed.marks.extend(_marks(text, place, name, named[name], panel))
    return placed


def _line_boxes(panel: Panel) -> Iterator[Box]:
    """Yield the boxes of the horizontal and vertical parts of the opaque lines."""
    for mark in panel.marks:
        for line in mark.lines if isinstance(mark, Lines) and mark.opacity == 1 else ():
            for (x0, y0), (x1, y1) in itertools.pairwise(position(panel, p) for p in line):
                if x0 == x1 or y0 == y1:
                    yield min(x0, x1) - 1, min(y0, y1) - 1, max(x0, x1) + 1, max(y0, y1) + 1


def _free(
    text: str, point: Point, panel: Panel, far: Sequence[Place], *obstacles: Sequence[Box]
) -> tuple[Place, Box] | None:
    """Return the first place inside the panel where a label covers no obstacle, with its box.

    Places near the point come first; the first obstacles are avoided if possible, the last always.
    """
    x, y = position(panel, point)
    wide = width_of(text)
    for places, taken in itertools.product((NEAR, far), obstacles):
        for anchor, dx, dy in places:
            left = x + dx - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
            box = (left, y + dy - SIZE + 1, left + wide, y + dy + 2)
            inside = min(box[:2]) >= 0 and box[2] <= panel.width and box[3] <= panel.height
            if inside and not any(_overlap(box, other) for other in taken):
                return (anchor, dx, dy), box
    return None


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _marks(text: str, place: Place, name: str, point: Point, panel: Panel) -> Iterator[Mark]:
    """Yield the leader line, if the label is far from its point, and the label."""
    anchor, dx, dy = place
    if place in FAR:
        x, y = position(panel, point)
        end = value_at(panel, (x + dx, y + dy - 4))
        yield Lines([[point, end]], "muted", 0.75, algorithm=name)
    yield Label(point, text, anchor, dx, dy, algorithm=name)
