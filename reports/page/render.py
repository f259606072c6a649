"""Render blocks as HTML: templates escape all text and make it visible."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.blocks.blocks import Block, Figure, Key
from reports.blocks.tables import Cell, Column, Row, Table, csv_text
from reports.charts.legends import SYMBOLS
from reports.charts.plot import Dots
from reports.charts.tree_drawing import draw_tree
from reports.charts.vega import draw
from reports.text.format import plain, short, slug
from reports.text.inline import Badge, Code, Inline, Link, Report, SitePage, Strong, Words
from reports.text.palette import PALETTE

TEMPLATES = Path(__file__).parents[1] / "templates"
TRACK = 110  # pixels of a track in a table cell, within a margin of 5 on either side
UNBROKEN = 14  # characters of a name that fits a narrow column without a break
LABELED = 60  # cells of a table that repeats its column titles; the script labels larger ones
LONGEST_VALUE = 256  # characters of a cell's hidden value
# Characters after which a long name may break; numbers have none.
_BREAKS = re.compile(r"(?<=[a-z0-9][._])(?=[a-z])|(?<=[a-z0-9]:)(?=[^\W\d])|(?<=[a-z0-9]=)(?=\w)")


@dataclass(frozen=True)
class Drawn:
    """A chart, or the reason why there is none."""

    svg: Markup | None
    reason: str = ""


class Renderer:
    """Converts blocks to HTML, with anchors and ids that are unique in one page."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._anchors: set[str] = set()
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_safe,
            trim_blocks=True,
        )
        self._templates.globals |= {
            "cells": cells,
            "classes": classes,
            "color": PALETTE,
            "csv_text": csv_text,
            "draw": self._draw,
            "draw_tree": draw_tree,
            "fresh": self._fresh,
            "has_labels": has_labels,
            "key_mark": key_mark,
            "lines": lines,
            "px": lambda share: f"{5 + share * TRACK:.1f}",
            "raw": raw,
            "refuse": refuse,
            "slug": slug,
            "soft": soft,
            "unique": self.unique,
            "words": words,
        }
        self._blocks: Any = self._templates.get_template("blocks.html.j2").module

    def blocks(self, blocks: Sequence[Block]) -> Markup:
        """Return blocks as HTML; anything else is an error."""
        html: Markup = self._blocks.blocks(blocks)
        return html

    def page(self, **values: Any) -> str:
        """Return the whole page."""
        return self._templates.get_template("page.html.j2").render(**values)

    def _draw(self, figure: Figure) -> Drawn:
        """Draw a chart; an error replaces the chart, and the section remains."""
        if not isinstance(figure.spec, Mapping):
            return Drawn(figure.spec.svg(figure.title))
        try:
            return Drawn(draw(figure.spec, figure.title, f"{self._fresh('chart')}-"))
        except ValueError as error:
            reason = " ".join(str(error).splitlines()[:2])  # the rest is the renderer's own stack
            return Drawn(None, f"{short(reason, 200)}.")

    def _fresh(self, kind: str) -> str:
        return self.unique(f"{kind}-{next(self._numbers)}")

    def unique(self, name: str) -> str:
        """Return an anchor that the page does not have yet."""
        anchor = slug(name)
        names = itertools.chain([anchor], (f"{anchor}-{n}" for n in itertools.count(2)))
        chosen = next(name for name in names if name not in self._anchors)
        self._anchors.add(chosen)
        return chosen


def _safe(value: Any) -> Any:
    """Make a value printed by a template visible; Markup is safe already."""
    return value if isinstance(value, Markup) else plain(value)


def lines(text: str) -> Markup:
    """Return text with its line breaks and tabs."""
    return escape(plain(text, lines=True))


def soft(text: str) -> Markup:
    """Return text in which long names may break after separators."""
    shown = plain(text)
    parts = _BREAKS.split(shown) if len(shown) > UNBROKEN else [shown]
    return Markup("<wbr>").join(parts)


def words(content: Words) -> Markup:
    """Return the words of a sentence as HTML; anything else is an error."""
    parts = [content] if isinstance(content, str) or not isinstance(content, Iterable) else content
    return Markup("").join(map(_inline, parts))


def _inline(part: Inline) -> Markup:
    match part:
        case str():
            return soft(part)
        case Code() | Strong():
            return _markup(f"<{part.kind}>{soft(part.text)}</{part.kind}>")
        case Link():
            return Markup('<a href="{}" rel="noreferrer">{}</a>').format(part.href, soft(part.text))
        case Report() | SitePage():
            is_run = isinstance(part, Report)
            text = Markup("<code>{}</code>").format(plain(part.run)) if is_run else soft(part.text)
            return Markup('<a href="{}">{}</a>').format(part.href, text)
        case Badge():
            symbol = f'<span aria-hidden="true">{escape(plain(part.symbol))}</span> '
            text = f"{symbol if part.symbol else ''}{soft(part.text)}"
            return _markup(f'<span class="badge {escape(part.tone)}">{text}</span>')
        case _:
            return refuse(part)


def key_mark(key: Key) -> Markup:
    """Return the mark of a legend entry as SVG."""
    shape = next((name for name, symbol in SYMBOLS.items() if symbol == key.symbol), "")
    if shape:
        drawn = Markup(Dots([(6.0, 7.0)], key.color, shape, 4.5).draw(lambda x, y: (x, y)))  # noqa: S704 - numbers and our own colors
    else:
        drawn = Markup('<text x="6" y="12" text-anchor="middle" font-size="13" fill="{}">{}</text>')
        drawn = drawn.format(PALETTE[key.color], plain(key.symbol))
    return Markup(
        '<svg width="12" height="14" viewBox="0 0 12 14" aria-hidden="true">{}</svg>'
    ).format(drawn)


def _markup(html: str) -> Markup:
    """Return text as Markup; all its parts are escaped already.

    `Markup.format` would escape again, which takes a quarter of the time of a large page.
    """
    return Markup(html)  # noqa: S704 - see above


def cells(row: Row, columns: Sequence[Column]) -> Iterator[Cell]:
    """Yield the cells of a row, one for each column.

    Raises
    ------
    ValueError
        The row has more or fewer cells than the table has columns.
    """
    for item, _ in zip(row, columns, strict=True):
        yield item if isinstance(item, Cell) else Cell(item)


def has_labels(table: Table) -> bool:
    """Return whether each cell repeats its column's title, which a narrow screen shows."""
    return len(table.rows) * len(table.columns) <= LABELED


def classes(cell: Cell, column: Column) -> Markup:
    """Return the class attribute of a cell: number, sentence, tone."""
    named = ["n" if column.numeric else "", "w" if column.wide else "", cell.tone]
    names = " ".join(filter(None, named))
    return _markup(f' class="{escape(names)}"' if names else "")


def raw(cell: Cell) -> Markup:
    """Return the attribute with a cell's value for sorting and the CSV file, if it is not shown."""
    value = cell.value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Markup("")
    text = f"{value:.7g}" if isinstance(value, float) else plain(value)[:LONGEST_VALUE]
    shown = cell.text[0].text if _is_code(cell.text) else cell.text
    return _markup(f' data-v="{escape(text)}"' if text != shown else "")


def _is_code(words: Words) -> bool:
    return isinstance(words, list) and len(words) == 1 and isinstance(words[0], Code)


def refuse(block: object) -> NoReturn:
    """Raise an error for an object that is not a block."""
    raise TypeError(
        f"{type(block).__name__} is not a block of a report; see reports/blocks/blocks.py"
    )
