"""Typed blocks of which sections consist, so that no section writes HTML.

A section returns a :class:`Fragment` of blocks. All text in them, from wherever it comes, is
escaped when the page is rendered; there is no block for raw HTML. Blocks nest where they
hold ``blocks``; words inside a sentence are ``str`` or one of
:mod:`reports.text.inline`, tables are those of :mod:`reports.blocks.tables`.

``tone`` is a meaning, to which the style sheet gives a color: ``good``, ``same``,
``bad``, ``unsure``, or "" for no meaning. A tone always has
a word or symbol, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from harness.core.field_errors import explain_fields
from harness.core.renamed import renamed
from reports.blocks.tables import Table
from reports.text.inline import Words

if TYPE_CHECKING:
    from markupsafe import Markup

    from harness.analysis.difference import Line

MAX_CHOICES = 12  # of a switch; the style sheet has a rule for each position


@explain_fields
@dataclass(frozen=True)
class Paragraph:
    """A paragraph.

    Attributes
    ----------
    words
        Text.
    role
        ``lead`` opens a page, ``note`` is an aside, "" is any other.
    """

    words: Words
    role: str = ""
    kind: ClassVar[str] = "paragraph"


@explain_fields
@dataclass(frozen=True)
class Items:
    """A list of sentences.

    Attributes
    ----------
    items
        Sentences, one for each item.
    """

    items: Sequence[Words]
    kind: ClassVar[str] = "items"


@explain_fields
@dataclass(frozen=True)
class Tile:
    """One large figure with its title and a note.

    Attributes
    ----------
    label
        Title.
    value
        Large figure, as text with its unit.
    note
        Small text below.
    tone
        Meaning that sets the color: good, same, bad, unsure or "".
    href
        Anchor in the page that the title links to, or "".
    """

    label: str
    value: str
    note: str = ""
    tone: str = ""
    href: str = ""


@explain_fields
@dataclass(frozen=True)
class Tiles:
    """A row of tiles.

    Attributes
    ----------
    tiles
        Tiles from left to right.
    role
        ``answers`` if the values are words, "" if they are numbers.
    """

    tiles: Sequence[Tile]
    role: str = ""
    kind: ClassVar[str] = "tiles"


@explain_fields
@dataclass(frozen=True)
class Facts:
    """Terms with their values.

    Attributes
    ----------
    items
        Pairs of a term and its value.
    """

    items: Sequence[tuple[str, Words]]
    kind: ClassVar[str] = "facts"


@explain_fields
@dataclass(frozen=True)
class Verbatim:
    """Preformatted text: commands, tracebacks, a configuration.

    Attributes
    ----------
    text
        Text that keeps its line ends.
    label
        Name of the text for a screen reader.
    """

    text: str
    label: str
    kind: ClassVar[str] = "verbatim"


@renamed(colour="color")
@explain_fields
@dataclass(frozen=True)
class Key:
    """One entry of a figure's legend: a symbol in one of the chart colors, and its meaning.

    Attributes
    ----------
    symbol
        Symbol of the entry.
    color
        Name of a color in `reports.PALETTE`.
    text
        Meaning of the symbol.
    """

    symbol: str
    color: str
    text: str


class Picture(Protocol):
    """An object that draws itself."""

    def svg(self, title: str) -> Markup:
        """Return the picture as an ``<svg>`` element with that title."""


@explain_fields
@dataclass(frozen=True)
class Figure:
    """A chart, the finding in one sentence, and the table of its numbers.

    The chart becomes a static SVG.

    Attributes
    ----------
    spec
        Vega-Lite specification with its data inline, or a :class:`Picture`.
    title
        Name of the chart for those who cannot see it.
    finding
        Result in one sentence.
    table
        Table of the numbers.
    keys
        Entries of the legend.
    again
        Command that repeats the measurements, as :meth:`reports.Page.again` returns it.
    points
        All drawn points, one row for each, if ``table`` is a summary.
    numbers
        Names of the points that have a number instead of a name, shown below the chart.
    """

    spec: Mapping[str, Any] | Picture
    title: str
    finding: Words
    table: Table
    keys: Sequence[Key] = ()
    again: str = ""
    points: Table | None = None
    numbers: Sequence[Key] = ()
    kind: ClassVar[str] = "figure"


@explain_fields
@dataclass(frozen=True)
class Drawing:
    """A few nodes of a tree, drawn.

    Attributes
    ----------
    lines
        Lines of the drawn tree.
    title
        Name of the drawing for those who cannot see it.
    caption
        Text below the drawing.
    algorithm
        Algorithm that the tree belongs to: its nodes turn gray if two others are chosen.
    """

    lines: Sequence[Line]
    title: str
    caption: str
    algorithm: str = ""
    kind: ClassVar[str] = "drawing"


@explain_fields
@dataclass(frozen=True)
class Details:
    """Blocks that a click on a line opens.

    Attributes
    ----------
    summary
        Line that opens the blocks.
    blocks
        Blocks that are hidden at first.
    """

    summary: Words
    blocks: Sequence[Block]
    kind: ClassVar[str] = "details"


@explain_fields
@dataclass(frozen=True)
class Callout:
    """A box of blocks that need attention.

    Attributes
    ----------
    title
        Heading of the box.
    blocks
        Blocks in the box.
    tone
        Meaning that sets the color: good, same, bad, unsure or "".
    """

    title: str
    blocks: Sequence[Block]
    tone: str = "unsure"
    kind: ClassVar[str] = "callout"


@explain_fields
@dataclass(frozen=True)
class Sides:
    """Blocks next to each other, if there is room.

    Attributes
    ----------
    blocks
        Blocks from left to right.
    """

    blocks: Sequence[Block]
    kind: ClassVar[str] = "sides"


@explain_fields
@dataclass(frozen=True)
class Choice:
    """One alternative of a :class:`Switch`.

    Attributes
    ----------
    title
        Text of the option.
    blocks
        Blocks that are shown if the option is chosen.
    """

    title: str
    blocks: Sequence[Block]


@explain_fields
@dataclass(frozen=True)
class Switch:
    """Alternatives of which the reader chooses one, without a script; the first is chosen at first.

    Attributes
    ----------
    title
        Name of the group of options.
    choices
        Alternatives, at most :data:`MAX_CHOICES`.
    """

    title: str
    choices: Sequence[Choice]
    kind: ClassVar[str] = "switch"

    def __post_init__(self) -> None:
        if len(self.choices) > MAX_CHOICES:
            raise ValueError(f"a switch has {len(self.choices)} choices; at most {MAX_CHOICES}")


@explain_fields
@dataclass(frozen=True)
class Panel:
    """A titled part of a section, with an anchor for links.

    Attributes
    ----------
    title
        Heading.
    blocks
        Blocks of the part.
    anchor
        Anchor in the page.
    folded
        Whether the part is closed at first.
    note
        Short text beside the heading.
    """

    title: str
    blocks: Sequence[Block]
    anchor: str
    folded: bool = False
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
    | Switch
    | Panel
)


@explain_fields
@dataclass(frozen=True)
class Fragment:
    """The content of a section.

    Attributes
    ----------
    blocks
        Blocks from top to bottom.
    badge
        Short count beside the title of the section.
    """

    blocks: Sequence[Block]
    badge: str = ""
