"""Draw a few nodes of a tree as a static SVG, one line for each node, indented by depth.

Its text is escaped, its colors are the chart palette's (the style sheet maps them to the theme),
and it needs no style and no script. The marked node differs in shape and color.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from harness.analysis.difference import Line
from reports.charts.plot import owner_attribute
from reports.text.format import count, plain, short
from reports.text.palette import PALETTE

ROW = 24  # pixels between two lines
INDENT = 22
LETTER = 7.2  # pixels of a letter, an upper estimate
RADIUS = 5
SHAPES = {
    "split": '<circle cx="{x}" cy="{y}" r="5" fill="{band}" stroke="{ink}"/>',
    "leaf": '<rect x="{left}" y="{top}" width="10" height="10" fill="{band}" stroke="{ink}"/>',
    "more": '<circle cx="{x}" cy="{y}" r="2" fill="{muted}"/>',
}
MARK = '<path d="M{x},{up}L{right},{y}L{x},{down}L{left},{y}Z" fill="{orange}" stroke="{ink}"/>'


def draw_tree(lines: Sequence[Line], title: str, algorithm: str = "") -> Markup:
    """Return the nodes as an ``<svg>`` element.

    Parameters
    ----------
    lines
        Depth first, parents before children.
    title
        Title of the drawing for screen readers.
    algorithm
        Algorithm that the tree belongs to, for the choice of two algorithms.
    """
    parts, owner = "".join(_parts(lines)), owner_attribute(algorithm)
    drawn = f"<g{owner}>{parts}</g>" if owner else parts
    width = max((_right_end(line) for line in lines), default=0) + 8
    height = ROW * len(lines) + 8
    return Markup(  # noqa: S704 - every text in the parts was escaped where it was made
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart tree" role="img" '
        f'aria-label="{escape(plain(title))}" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}">{drawn}</svg>'
    )


def _parts(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the branches, then the nodes, which cover them."""
    last: dict[
        int, int
    ] = {}  # depth → the last line at that depth, the parent of the following lines
    for number, line in enumerate(lines):
        last[line.depth] = number
        if line.depth:
            above = last[line.depth - 1]
            stem = f"M{_x(line.depth - 1)},{_y(above) + RADIUS}V{_y(number)}H{_x(line.depth)}"
            yield f'<path d="{stem}" fill="none" stroke="{PALETTE["muted"]}"/>'
    for number, line in enumerate(lines):
        yield _node(line, _x(line.depth), _y(number))


def _node(line: Line, x: int, y: int) -> str:
    places = {"x": x, "y": y, "left": x - RADIUS, "top": y - RADIUS}
    if line.marked:
        places |= {"left": x - 8, "right": x + 8, "up": y - 8, "down": y + 8}
    shape = (MARK if line.marked else SHAPES[line.shape]).format(**places, **PALETTE)
    weight = ' font-weight="700"' if line.marked else ""
    side, text, rows = _words(line)
    muted = f'fill="{PALETTE["muted"]}"'
    label = f"<tspan {muted}>{escape(side)}</tspan>" if side else ""
    label += f"<tspan{weight}>{escape(text)}</tspan><tspan {muted}>{escape(rows)}</tspan>"
    start = f'x="{x + 14}" y="{y + 4}" font-size="13" fill="{PALETTE["ink"]}"'
    return f"{shape}<text {start}>{label}</text>"


def _words(line: Line) -> tuple[str, str, str]:
    """Return the text of a line: side of the parent, the node, and its rows."""
    side = f"{line.side}: " if line.side else ""
    return plain(side), short(line.text, 80), f" ({count(line.rows)})"


def _right_end(line: Line) -> float:
    return _x(line.depth) + 14 + LETTER * sum(map(len, _words(line)))


def _x(depth: int) -> int:
    return 10 + INDENT * depth


def _y(number: int) -> int:
    return 14 + ROW * number
