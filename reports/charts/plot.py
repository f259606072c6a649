"""Fast plots as static SVG: thousands of dots take milliseconds.

A :class:`Plot` is a grid of panels; a panel has two axes and marks in the units of these axes.
It becomes a static SVG of plain attributes, as `charts.vega` makes them from Vega-Lite:
colors of the palette, which the style sheet maps to the theme, and escaped text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from markupsafe import Markup, escape

from reports.charts.axes import Axis
from reports.text.format import plain, short
from reports.text.palette import LABEL, PALETTE

SIZE = 12  # pixels of the letters
GAP = 26  # between panels
PAD = 8  # between an axis and its labels
# Letters by width. DejaVu Sans is the widest of the usual fonts; its widths are estimated.
NARROW, SLIM, BROAD = "ijlI.,:;'|![]· ", "frt()-", "mwMW@%—…×"
SHAPES = {
    "circle": "M{a:.1f},{y:.1f}a{r},{r} 0 1 0 {d},0a{r},{r} 0 1 0 -{d},0Z",
    "diamond": "M{x:.1f},{u:.1f}L{b:.1f},{y:.1f}L{x:.1f},{v:.1f}L{a:.1f},{y:.1f}Z",
    "square": "M{a:.1f},{u:.1f}h{d}v{d}h-{d}Z",
    "triangle-up": "M{x:.1f},{u:.1f}L{b:.1f},{v:.1f}H{a:.1f}Z",
    "triangle-down": "M{x:.1f},{v:.1f}L{b:.1f},{u:.1f}H{a:.1f}Z",
}

HALO = f' stroke="{PALETTE["paper"]}" stroke-width="3" paint-order="stroke"'

_ZERO = re.compile(r"\.0(?!\d)")  # of numbers with one decimal

Point: TypeAlias = tuple[float, float]


def width_of(text: str) -> float:
    """Return an upper estimate of the width of a label in pixels."""
    return sum(map(_letter_width, text)) * SIZE / 12


def _letter_width(letter: str) -> float:
    """Return the width of a letter at 12 pixels."""
    if letter in NARROW:
        return 4.0
    if letter in SLIM:
        return 5.0
    if letter in BROAD:
        return 11.8
    return 8.6 if letter.isupper() else 7.4 if letter < "ÿ" else 12.0


# ------------------------------------------------------------------ marks


@dataclass(frozen=True)
class Dots:
    """Points of one shape and color."""

    points: Sequence[Point]
    color: str = "blue"
    shape: str = "circle"
    radius: float = 3.5
    opacity: float = 1.0
    algorithm: str = ""  # that the mark belongs to

    def draw(self, at: Callable[[float, float], Point]) -> str:
        """Return the mark as SVG."""
        shape, r = SHAPES[self.shape], self.radius
        places = (at(x, y) for x, y in self.points)
        outline = "".join(
            shape.format(x=x, y=y, a=x - r, b=x + r, u=y - r, v=y + r, r=f"{r:g}", d=f"{2 * r:g}")
            for x, y in places
        )
        outline = _without_zeros(outline)
        return (
            f'<path d="{outline}" {self.paint}{owner_attribute(self.algorithm)}/>'
            if outline
            else ""
        )

    @property
    def paint(self) -> str:
        """The attributes of color."""
        faint = f' fill-opacity="{self.opacity:g}"' if self.opacity < 1 else ""
        return f'fill="{PALETTE[self.color]}"{faint}'


@dataclass(frozen=True)
class Lines:
    """Several lines of one color, each through its points."""

    lines: Sequence[Sequence[Point]]
    color: str = "blue"
    width: float = 2.0
    dash: str = ""
    algorithm: str = ""  # that the mark belongs to
    opacity: float = 1.0

    def draw(self, at: Callable[[float, float], Point]) -> str:
        """Return the mark as SVG."""
        outline = "".join(
            "M" + "L".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in line)
            for line in self.lines
            if line
        )
        outline = _without_zeros(outline)
        return (
            f'<path d="{outline}" {self.paint}{owner_attribute(self.algorithm)}/>'
            if outline
            else ""
        )

    @property
    def paint(self) -> str:
        """The attributes of color, width and dash."""
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        faint = f' stroke-opacity="{self.opacity:g}"' if self.opacity < 1 else ""
        width = f' stroke-width="{self.width:g}"'
        return f'fill="none" stroke="{PALETTE[self.color]}"{width}{dash}{faint}'


@dataclass(frozen=True)
class Boxes:
    """Rectangles of one color, each from one corner to the opposite one."""

    boxes: Sequence[tuple[float, float, float, float]]  # x, y, x, y
    color: str = "band"
    algorithm: str = ""  # that the mark belongs to

    def draw(self, at: Callable[[float, float], Point]) -> str:
        """Return the mark as SVG."""
        outline = ""
        for x0, y0, x1, y1 in self.boxes:
            (a, b), (c, d) = at(x0, y0), at(x1, y1)
            outline += f"M{a:.1f},{b:.1f}H{c:.1f}V{d:.1f}H{a:.1f}Z"
        return (
            f'<path d="{outline}" {self.paint}{owner_attribute(self.algorithm)}/>'
            if outline
            else ""
        )

    @property
    def paint(self) -> str:
        """The attribute of color."""
        return f'fill="{PALETTE[self.color]}"'


@dataclass(frozen=True)
class Label:
    """Words beside a point."""

    point: Point
    text: str
    anchor: str = "start"  # or middle, end
    dx: float = 7.0
    dy: float = 4.0
    color: str = "ink"
    algorithm: str = ""  # that the mark belongs to

    def draw(self, at: Callable[[float, float], Point]) -> str:
        """Return the mark as SVG."""
        x, y = at(*self.point)
        words = short(self.text, LABEL)
        return _text(
            x + self.dx,
            y + self.dy,
            words,
            self.anchor,
            self.color,
            owner_attribute(self.algorithm),
            halo=True,
        )


Mark: TypeAlias = Dots | Lines | Boxes | Label


def _without_zeros(outline: str) -> str:
    """Return an outline whose numbers end in no ".0", which makes a large page smaller."""
    return _ZERO.sub("", outline)


def owner_attribute(algorithm: str) -> str:
    """Return the attribute by which the page's script finds the marks of an algorithm."""
    return f' data-a="{escape(plain(short(algorithm, LABEL)))}"' if algorithm else ""


def _by_row(mark: Mark, names: Sequence[str]) -> Iterator[Mark]:
    """Yield a mark once for each row of names, so that each row has its own element."""
    if isinstance(mark, Dots):
        parts: dict[str, list[Any]] = {}
        for point in mark.points:
            parts.setdefault(_row_name(names, [point]), []).append(point)
        yield from (replace(mark, points=p, algorithm=name) for name, p in parts.items())
    elif isinstance(mark, Lines):
        parts = {}
        for line in mark.lines:
            parts.setdefault(_row_name(names, line), []).append(line)
        yield from (replace(mark, lines=p, algorithm=name) for name, p in parts.items())
    elif isinstance(mark, Boxes):
        parts = {}
        for x0, y0, x1, y1 in mark.boxes:
            # a corner may be on the border of two rows; the middle of a box in one row is not
            ends = [(x0, (y0 + y1) / 2)] if abs(y1 - y0) <= 1 else [(x0, y0), (x1, y1)]
            parts.setdefault(_row_name(names, ends), []).append((x0, y0, x1, y1))
        yield from (replace(mark, boxes=p, algorithm=name) for name, p in parts.items())
    else:
        yield mark


def _row_name(names: Sequence[str], points: Sequence[Point]) -> str:
    """Return the name of the row that holds all of the points, or ""."""
    rows = {math.floor(y + 0.5) for _, y in points}
    row = rows.pop() if len(rows) == 1 else -1
    return names[row] if 0 <= row < len(names) else ""


# ------------------------------------------------------------------ the picture


@dataclass(frozen=True)
class Panel:
    """Two axes and the marks between them."""

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    title: str = ""
    width: float = 190.0
    height: float = 130.0
    right: float = 0.0  # room for labels beyond the right edge


@dataclass(frozen=True)
class Plot:
    """A grid of panels with ``across`` panels in a row."""

    panels: Sequence[Panel]
    across: int = 3

    def svg(self, title: str) -> Markup:
        """Return the plot as an ``<svg>`` element; screen readers read the title."""
        lefts = [max(map(_left, self.panels[i :: self.across])) for i in range(self.across)
                 if i < len(self.panels)]  # fmt: skip
        parts, top, width = [], 4.0, 0.0
        for first in range(0, len(self.panels), self.across):
            line = self.panels[first : first + self.across]
            head = 20.0 if any(p.title for p in line) else 0.0
            x = 0.0
            for panel, left in zip(line, lefts, strict=False):
                x += left
                parts += _panel(panel, x, top + head)
                x += panel.width + panel.right + GAP
            width = max(width, x - GAP + 24)
            top += head + max(p.height + _below(p) for p in line) + 14
        height = top - 8
        name = "chart broad" if width > 760 else "chart wide" if width > 520 else "chart"
        return Markup(  # noqa: S704 - every text in the parts was escaped where it was made
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" role="img" '
            f'aria-label="{escape(plain(title))}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-size="{SIZE}">{"".join(parts)}</svg>'
        )


def position(panel: Panel, point: Point) -> Point:
    """Return the pixels of a point from the left and the top of a panel."""
    x, y = panel.x.share(point[0]), panel.y.share(point[1])
    return x * panel.width, (1 - y) * panel.height


def value_at(panel: Panel, pixels: Point) -> Point:
    """Return the values at pixels from the left and the top of a panel."""
    x, y = pixels
    return panel.x.value(x / panel.width), panel.y.value(1 - y / panel.height)


def _left(panel: Panel) -> float:
    """Return the width of the labels on the left of a panel, those of both axes."""
    widest = max(map(width_of, panel.y.labels), default=0.0)
    labels = zip(panel.x.ticks, panel.x.labels, strict=True)
    beyond = max((width_of(t) / 2 - panel.x.share(x) * panel.width for x, t in labels), default=0.0)
    return max(widest + (PAD if widest else 0) + (18 if panel.y.title else 2), beyond)


def _below(panel: Panel) -> float:
    return (18.0 if any(panel.x.labels) else 0.0) + (18.0 if panel.x.title else 0.0)


def _panel(panel: Panel, left: float, top: float) -> Iterator[str]:
    width, height = panel.width, panel.height

    def at(x: float, y: float) -> Point:
        return left + panel.x.share(x) * width, top + (1 - panel.y.share(y)) * height

    xs = [at(t, panel.y.low)[0] for t in panel.x.ticks]
    ys = [at(panel.x.low, t)[1] for t in panel.y.ticks]
    grid = "".join(f"M{x:.1f},{top:.1f}v{height:g}" for x in xs)
    grid += "".join(f"M{left:.1f},{y:.1f}h{width:g}" for y in ys)
    yield f'<path d="{grid}" stroke="{PALETTE["line"]}" fill="none"/>' if grid else ""
    yield from _drawn_marks(panel, at)
    owners = panel.y.names or [""] * len(ys)
    yield from (
        _text(left - PAD, y + 4, label, "end", more=owner_attribute(owner))
        for y, label, owner in zip(ys, panel.y.labels, owners, strict=True)
        if label
    )
    yield from _x_labels(panel.x, xs, top + height + 17)
    if panel.title:
        yield _text(
            left,
            top - 8,
            short(panel.title, int(width / 6.4)),
            "start",
            more=owner_attribute(panel.title),
        )
    if panel.x.title:
        below = top + height + 34
        yield _text(left + width / 2, below, panel.x.title, "middle", "muted")
    if panel.y.title:
        x, y = left - _left(panel) + 12, top + height / 2
        turned = f' transform="translate({x:.1f},{y:.1f})rotate(-90)"'
        yield _text(0, 0, panel.y.title, "middle", "muted", turned)


def _drawn_marks(panel: Panel, at: Callable[[float, float], Point]) -> Iterator[str]:
    """Yield the marks as SVG: those of a panel with a title in one group of that name."""
    yield f"<g{owner_attribute(panel.title)}>" if panel.title else ""
    for mark in panel.marks:
        if panel.y.names and not isinstance(mark, Label):
            drawn = "".join(part.draw(at) for part in _by_row(mark, panel.y.names))
            # the parts share their paint, and a group that has it makes a large page smaller
            yield f"<g {mark.paint}>{drawn.replace(f' {mark.paint}', '')}</g>" if drawn else ""
        else:
            yield mark.draw(at)
    yield "</g>" if panel.title else ""


def _x_labels(axis: Axis, xs: Sequence[float], y: float) -> Iterator[str]:
    """Yield the labels of an x axis that do not overlap the previous one."""
    end = -math.inf
    for x, label in zip(xs, axis.labels, strict=True):
        half = width_of(label) / 2
        if label and x - half > end + 4:
            end = x + half
            yield _text(x, y, label, "middle")


def _text(
    x: float,
    y: float,
    words: str,
    anchor: str,
    color: str = "ink",
    more: str = "",
    *,
    halo: bool = False,
) -> str:
    """Return a text with a halo in the background color, legible over lines."""
    place = f'x="{x:.1f}" y="{y:.1f}"' + (HALO if halo else "")
    aside = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text {place}{aside} fill="{PALETTE[color]}"{more}>{escape(plain(words))}</text>'
