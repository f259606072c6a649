"""What a section's page is made of: typed blocks, so that no section needs to write HTML.

A section returns a :class:`Fragment` of blocks. All text in them, from wherever it comes, is
escaped when the page is rendered; there is no block for raw HTML. Blocks nest where they
hold ``blocks``; words inside a sentence are ``str``, :class:`Code`, :class:`Strong`,
:class:`Link`, :class:`Report` or :class:`Badge`.

``tone`` says what a thing means, and the style sheet says how that looks: ``good``, ``same``,
``bad``, ``unsure``, or "" for no meaning. A tone never stands alone; a word or symbol goes
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

if TYPE_CHECKING:
    from markupsafe import Markup

    from harness.analysis.difference import Line

# ------------------------------------------------------------------ words in a sentence


@dataclass(frozen=True)
class Code:
    """A name or command, set in the typeface of code."""

    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Strong:
    """Words that carry the sentence."""

    text: str
    kind: ClassVar[str] = "strong"


@dataclass(frozen=True)
class Link:
    """A link to a place in the page (``#anchor``) or to an https address."""

    text: str
    href: str
    kind: ClassVar[str] = "link"

    def __post_init__(self) -> None:
        if not self.href.startswith(("#", "https://")):
            raise ValueError(f"a link leads to #anchor or https://, not to {self.href[:80]!r}")


@dataclass(frozen=True)
class Badge:
    """A verdict in a word, with a symbol so that it can be read without colour."""

    text: str
    tone: str
    symbol: str = ""
    kind: ClassVar[str] = "badge"


@dataclass(frozen=True)
class Report:
    """A link to the report of a run, which lies beside the page."""

    run: str
    kind: ClassVar[str] = "report"

    @property
    def href(self) -> str:
        """The file's name; a run whose id could lead elsewhere has none."""
        if not self.run.replace("-", "").isalnum():
            raise ValueError(f"{self.run[:80]!r} is no id of a run")
        return f"report-{self.run}.html"


Inline: TypeAlias = str | Code | Strong | Link | Report | Badge
Words: TypeAlias = Inline | Sequence[Inline]

# ------------------------------------------------------------------ tables


@dataclass(frozen=True)
class Track:
    """A dot with its interval, drawn inside a table cell; all numbers are shares of its width."""

    low: float
    value: float
    high: float
    zero: float  # where "no difference" lies
    band: tuple[float, float] | None = None  # the region that counts as equal
    inner: tuple[float, float] | None = None  # a narrower interval, drawn heavier
    kind: ClassVar[str] = "track"


def track(
    interval: tuple[float, float, float],
    domain: tuple[float, float],
    zero: float,
    band: tuple[float, float] | None = None,
    inner: tuple[float, float] | None = None,
) -> Track:
    """Place (low, value, high) in a domain; what lies outside is held at its edge."""
    start, end = domain

    def place(x: float) -> float:
        return min(1.0, max(0.0, (x - start) / (end - start)))

    def both(ends: tuple[float, float] | None) -> tuple[float, float] | None:
        return (place(ends[0]), place(ends[1])) if ends else None

    low, value, high = map(place, interval)
    return Track(low, value, high, place(zero), both(band), both(inner))


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    ``value`` is what sorting and the CSV file use where that is not the text: the number itself,
    in full. ``note`` is a second, quieter line.
    """

    text: Words
    value: float | str | None = None
    note: Words = ""
    tone: str = ""
    track: Track | None = None

    @classmethod
    def of(cls, value: float | None, show: Callable[[float | None], str], **rest: Any) -> Cell:
        """Return the cell of a number, shown by one of the functions of the page's text."""
        return cls(show(value), value, **rest)


@dataclass(frozen=True)
class Column:
    """A column of a table; numbers stand flush right."""

    title: str
    numeric: bool = False
    unit: str = ""  # of the values in the CSV file
    wide: bool = False  # holds sentences


Row: TypeAlias = Sequence[Cell | Words]


@dataclass(frozen=True)
class Table:
    """A table; its first column names the row. ``name`` is that of its CSV file.

    ``compare`` lets a reader pick two of its numeric columns, which are runs.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: Words
    name: str
    compare: bool = False
    kind: ClassVar[str] = "table"


# ------------------------------------------------------------------ blocks


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
    """One large figure with what it is and what stands behind it."""

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
    """Text as it stands: commands, tracebacks, a configuration."""

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
    """What draws itself."""

    def svg(self, title: str) -> Markup:
        """Return it as an ``<svg>`` element with that name."""


@dataclass(frozen=True)
class Figure:
    """A chart, the finding in one sentence, and the table of its numbers.

    ``spec`` is a Vega-Lite specification with its data inline, or a :class:`Picture`; it becomes
    a static SVG. ``title`` names the chart for those who cannot see it.
    """

    spec: Mapping[str, Any] | Picture
    title: str
    finding: Words
    table: Table
    keys: Sequence[Key] = ()
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
    """Blocks behind a line that opens them."""

    summary: Words
    blocks: Sequence[Block]
    kind: ClassVar[str] = "details"


@dataclass(frozen=True)
class Callout:
    """Blocks set apart because they need attention."""

    title: str
    blocks: Sequence[Block]
    tone: str = "unsure"
    kind: ClassVar[str] = "callout"


@dataclass(frozen=True)
class Sides:
    """Blocks beside each other where there is room."""

    blocks: Sequence[Block]
    kind: ClassVar[str] = "sides"


@dataclass(frozen=True)
class Panel:
    """A titled part of a section, with an anchor that links can lead to."""

    title: str
    blocks: Sequence[Block]
    anchor: str
    folded: bool = False  # closed until it is opened: for the many panels of a large run
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
    """What a section puts on the page; ``badge`` is a short count beside its name."""

    blocks: Sequence[Block]
    badge: str = ""
