"""From a view and sections to one HTML file that needs nothing but itself."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import math
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from harness import __version__
from harness.errors import StoreError
from reports._blocks import (
    Callout,
    Cell,
    Column,
    Details,
    Figure,
    Fragment,
    Paragraph,
    Row,
    Verbatim,
)
from reports._charts import PALETTE, draw
from reports._page import Page
from reports._text import moment, plain, short, slug

if TYPE_CHECKING:
    from harness.analysis.view import RunView
    from harness.model import Section

HERE = Path(__file__).parent
TRACK = 110  # pixels of a track in a table cell, within a margin of 5 on either side
LONGEST_VALUE = 256  # characters of a cell's hidden value
_BREAKS = re.compile(
    r"(?<=[a-z0-9][._])(?=[a-z])|(?<=[a-z0-9][:=])(?=\w)"
)  # where a long name may be parted


@dataclass(frozen=True)
class Shown:
    """A section as the page template takes it."""

    anchor: str
    title: str
    badge: str
    html: Markup


@dataclass(frozen=True)
class Drawn:
    """A chart, or why there is none."""

    svg: Markup | None
    reason: str = ""


def build_report(view: RunView, sections: Iterable[Section]) -> str:
    """Return the report of a run as the text of one HTML file.

    Parameters
    ----------
    view
        What the store knows of the run; nothing else is looked at.
    sections
        What the page is made of; shown by ``order``, then by name. A section that raises
        becomes a box that says so.
    """
    page = Page(view)
    renderer = Renderer()
    ordered = sorted(sections, key=lambda section: (section.order, section.name))
    shown = [s for s in (renderer.section(section, page) for section in ordered) if s]
    return renderer.page(page, shown)


def write_report(view: RunView, sections: Iterable[Section], path: Path) -> None:
    """Write the report of a run; at any moment the path holds the old file or the new one.

    Raises
    ------
    StoreError
        Where the file cannot be written.
    """
    text = build_report(view, sections)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        message = (
            f"cannot write the report {path}: {error.strerror}; free the place, or name another"
        )
        raise StoreError(message) from error
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or could not be made
            temporary.unlink()


def policy(css: str, js: str) -> str:
    """Return a content security policy that allows these two texts inline and nothing else."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{digest(js)}'; style-src 'sha256-{digest(css)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


class Renderer:
    """Turns blocks into HTML, with anchors and ids that are unique in one page."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._anchors: set[str] = set()
        self._templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_safe,
            trim_blocks=True,
        )
        self._templates.globals |= {
            "cells": cells,
            "colour": PALETTE,
            "draw": self._draw,
            "fresh": self._fresh,
            "lines": lines,
            "px": lambda share: f"{5 + share * TRACK:.1f}",
            "raw": raw,
            "refuse": refuse,
            "slug": slug,
            "soft": soft,
            "unique": self._unique,
        }
        self._blocks: Any = self._templates.get_template("blocks.html.j2").module

    def section(self, section: Section, page: Page) -> Shown | None:
        """Return a section ready for the page, None where it has nothing to show."""
        try:
            fragment = section.build(page)
            if fragment is None:
                return None
            html = self._fragment(fragment, section)
        except Exception as error:  # noqa: BLE001 - a stranger's section may raise anything
            fragment = _broken(section, error)
            html = self._fragment(fragment, section)
        return Shown(self._unique(section.name), section.title, fragment.badge, html)

    def _fragment(self, fragment: Fragment, section: Section) -> Markup:
        if not isinstance(fragment, Fragment):
            kind = type(fragment).__name__
            raise TypeError(f"{section.name} must return a reports.Fragment or None, not a {kind}")
        html: Markup = self._blocks.blocks(fragment.blocks)
        return html

    def page(self, page: Page, shown: Sequence[Shown]) -> str:
        """Return the whole page."""
        css = (HERE / "assets" / "report.css").read_text(encoding="utf-8")
        js = (HERE / "assets" / "report.js").read_text(encoding="utf-8")
        name = short(page.of_run("name") or "run", 120)
        return self._templates.get_template("page.html.j2").render(
            policy=policy(css, js),
            css=Markup(css),  # noqa: S704 - our own file, as it was hashed
            js=Markup(js),  # noqa: S704 - our own file, as it was hashed
            title=f"{name}: harness report",
            name=name,
            subtitle=_subtitle(page),
            sections=shown,
            version=__version__,
        )

    def _draw(self, figure: Figure) -> Drawn:
        """Draw a chart; one that cannot be drawn costs the chart, not its section."""
        try:
            return Drawn(draw(figure.spec, figure.title, f"{self._fresh('chart')}-"))
        except ValueError as error:
            return Drawn(None, f"{short(str(error), 200)}.")

    def _fresh(self, kind: str) -> str:
        return self._unique(f"{kind}-{next(self._numbers)}")

    def _unique(self, wanted: str) -> str:
        """Return an anchor that the page does not have yet."""
        anchor = slug(wanted)
        names = itertools.chain([anchor], (f"{anchor}-{n}" for n in itertools.count(2)))
        chosen = next(name for name in names if name not in self._anchors)
        self._anchors.add(chosen)
        return chosen


def _safe(value: Any) -> Any:
    """Make what a template prints visible; Markup was made so before."""
    return value if isinstance(value, Markup) else plain(value)


def lines(text: str) -> Markup:
    """Return text whose line breaks and tabs are kept."""
    return escape(plain(text, lines=True))


def soft(text: str) -> Markup:
    """Return text in which a long name may break after an underscore or a dot."""
    parts = _BREAKS.split(plain(text))
    return Markup("<wbr>").join(parts)


def cells(row: Row, columns: Sequence[Column]) -> Iterator[Cell]:
    """Yield the cells of a row, one a column.

    Raises
    ------
    ValueError
        The row has more or fewer cells than the table has columns.
    """
    for item, _ in zip(row, columns, strict=True):
        yield item if isinstance(item, Cell) else Cell(item)


def raw(cell: Cell) -> Markup:
    """Return the attribute that holds a cell's value for sorting and for the CSV file."""
    value = cell.value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Markup("")
    text = plain(value)[:LONGEST_VALUE]
    return Markup(f' data-v="{escape(text)}"') if text != cell.text else Markup("")  # noqa: S704 - escaped


def refuse(block: object) -> NoReturn:
    """Say that something is no block, whatever it is."""
    raise TypeError(f"{type(block).__name__} is no block of a report; see reports/_blocks.py")


def _broken(section: Section, error: Exception) -> Fragment:
    """Return the box that stands in the place of a section that raised."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{Path(f.filename).name}:{f.lineno} in {f.name}" for f in frames]
    what = f"{type(error).__name__}: {error}"
    blocks = [
        Paragraph(short(what, 400)),
        Details(
            "Where it was raised", [Verbatim("\n".join([*lines, what]), "Where it was raised")]
        ),
    ]
    return Fragment(
        [Callout(f"This section failed: {section.name}", blocks, "bad")], badge="failed"
    )


def _subtitle(page: Page) -> str:
    parts = [page.of_run("id"), page.of_run("status"), moment(page.of_run("started"))]
    return " · ".join(short(part, 80) for part in parts if part)
