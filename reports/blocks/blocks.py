"""Typed blocks of which sections consist, so that no section writes HTML.

A section returns a :class:`Fragment` of blocks. All text in them, from wherever it comes, is
escaped when the page is rendered; there is no block for raw HTML. Blocks nest where they
hold ``blocks``; words inside a sentence are ``str`` or one of
:mod:`reports.text.inline`, tables are those of :mod:`reports.blocks.tables`.

``tone`` is a meaning, to which the style sheet gives a colour: ``good``, ``same``,
``bad``, ``unsure``, or "" for no meaning. A tone always has
a word or symbol, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from reports.blocks.tables import Table
from reports.text.inline import Words

if TYPE_CHECKING:
    from markupsafe import Markup

    from harness.analysis.difference import Line


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; ``role``: ``lead`` opens a page, ``note`` is an aside, "" is any other."""

    words: Words
    role: str = ""
    kind: ClassVar[str] = "paragraph"


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    items: Sequence[Words]
    kind: ClassVar[str] = "items"


@dataclass(frozen=True)
class Tile:
    """One large figure with its title and a note."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Tiles:
    """A row of tiles."""

    tiles: Sequence[Tile]
    kind: ClassVar[str] = "tiles"


@dataclass(frozen=True)
class Facts:
    """Terms with their values."""

    items: Sequence[tuple[str, Words]]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Verbatim:
    """Preformatted text: commands, tracebacks, a configuration."""

    text: str
    label: str
    kind: ClassVar[str] = "verbatim"


@dataclass(frozen=True)
class Key:
    """One entry of a figure's legend: a symbol in one of the chart colours, and its meaning."""

    symbol: str
    colour: str  # a name of `reports.PALETTE`
    text: str


class Picture(Protocol):
    """An object that draws itself."""

    def svg(self, title: str) -> Markup:
        """Return the picture as an ``<svg>`` element with that title."""


@dataclass(frozen=True)
class Figure:
    """A chart, the finding in one sentence, and the table of its numbers.

    ``spec`` is a Vega-Lite specification with its data inline, or a :class:`Picture`; it becomes
    a static SVG. ``title`` names the chart for those who cannot see it. ``again`` is the command
    that repeats the measurements, as :meth:`reports.Page.again` returns it. ``points``
    holds all drawn points if ``table`` is a summary: one row for each dot, shown as CSV.
    """

    spec: Mapping[str, Any] | Picture
    title: str
    finding: Words
    table: Table
    keys: Sequence[Key] = ()
    again: str = ""
    points: Table | None = None
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True)
class Drawing:
    """A few nodes of a tree, drawn; ``title`` names the drawing for those who cannot see it."""

    lines: Sequence[Line]
    title: str
    caption: str
    kind: ClassVar[str] = "drawing"


@dataclass(frozen=True)
class Details:
    """Blocks that a click on a line opens."""

    summary: Words
    blocks: Sequence[Block]
    kind: ClassVar[str] = "details"


@dataclass(frozen=True)
class Callout:
    """A box of blocks that need attention."""

    title: str
    blocks: Sequence[Block]
    tone: str = "unsure"
    kind: ClassVar[str] = "callout"


@dataclass(frozen=True)
class Sides:
    """Blocks next to each other, if there is room."""

    blocks: Sequence[Block]
    kind: ClassVar[str] = "sides"


@dataclass(frozen=True)
class Panel:
    """A titled part of a section, with an anchor for links."""

    title: str
    blocks: Sequence[Block]
    anchor: str
    folded: bool = False  # closed at first, for the many panels of a large run
    note: str = ""
    kind: ClassVar[str] = "panel"


Block: TypeAlias = (
    Paragraph
    | Items
    | Tiles
    | Facts
    | Table
    | Figure
    | Drawing
    | Verbatim
    | Details
    | Callout
    | Sides
    | Panel
)


@dataclass(frozen=True)
class Fragment:
    """The content of a section; ``badge`` is a short count beside its title."""

    blocks: Sequence[Block]
    badge: str = ""
