"""Sections, blocks and functions from which a report is built.

A section is a function from a :class:`Page` to a :class:`Fragment` of typed blocks, registered
by name. Plugins add sections in the same way::

    from harness import Section, hookimpl
    from reports import Cell, Column, Fragment, Page, Paragraph, Table

    @hookimpl
    def register_report_sections(register):
        register(Section("threads", "Threads", order=55, build=build))

    def build(page: Page) -> Fragment | None:
        rows = [[o.trial.algorithm, str(o.trial.threads)] for o in page.done]
        columns = [Column("Algorithm"), Column("Threads", numeric=True)]
        if not rows:
            return None  # the section stays out of the page
        return Fragment([Table(columns, rows, "Threads of each trial", "threads")])

``page.view`` is a :class:`harness.analysis.run_view.RunView`: all stored data of the run.
Names are imported on first use, which keeps the import of a section fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.blocks.blocks import (
        Block,
        Callout,
        Choice,
        Details,
        Drawing,
        Facts,
        Figure,
        Fragment,
        Items,
        Key,
        Panel,
        Paragraph,
        Picture,
        Sides,
        Switch,
        Tile,
        Tiles,
        Verbatim,
    )
    from reports.blocks.tables import Cell, Column, Table, track
    from reports.page.build import build_report, write_report
    from reports.page.digest import markdown_summary, verdicts_json
    from reports.page.index_page import build_index, write_index
    from reports.page.page import Page
    from reports.page.printed import (
        comparison_json,
        comparison_markdown,
        comparison_sentence,
        comparison_tables,
    )
    from reports.text.inline import Badge, Code, Inline, Link, Report, Strong
    from reports.text.palette import PALETTE

_BUILD = {
    **dict.fromkeys(("Cell", "Column", "Table", "track"), "blocks.tables"),
    **dict.fromkeys(("Badge", "Code", "Inline", "Link", "Report", "Strong"), "text.inline"),
    "build_report": "page.build",
    "write_report": "page.build",
    "build_index": "page.index_page",
    "write_index": "page.index_page",
    "PALETTE": "text.palette",
    "Page": "page.page",
    **dict.fromkeys(
        ("comparison_json", "comparison_markdown", "comparison_sentence", "comparison_tables"),
        "page.printed",
    ),
    "markdown_summary": "page.digest",
    "verdicts_json": "page.digest",
}
__all__ = [
    "PALETTE",
    "Badge",
    "Block",
    "Callout",
    "Cell",
    "Choice",
    "Code",
    "Column",
    "Details",
    "Drawing",
    "Facts",
    "Figure",
    "Fragment",
    "Inline",
    "Items",
    "Key",
    "Link",
    "Page",
    "Panel",
    "Paragraph",
    "Picture",
    "Report",
    "Sides",
    "Strong",
    "Switch",
    "Table",
    "Tile",
    "Tiles",
    "Verbatim",
    "build_index",
    "build_report",
    "comparison_json",
    "comparison_markdown",
    "comparison_sentence",
    "comparison_tables",
    "markdown_summary",
    "track",
    "verdicts_json",
    "write_index",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'reports' has no attribute {name!r}")
    return getattr(importlib.import_module(f"reports.{_BUILD.get(name, 'blocks.blocks')}"), name)
