"""HTML of results in a notebook: tables of escaped text, in the notebook's own colors.

There is no style sheet and no script, as front ends may remove them. Text and background
have the colors of the page, light or dark; lines are a half-transparent gray, visible on both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from harness.analysis.run_view import Accuracy, Parity, Speed
from harness.core.parity_level import MEANING
from harness.core.units import show_duration

Rows = list[list[str]]
MAX_ROWS = 60  # rows of a table; the report has all
LONGEST = 300  # characters of a cell
_LINE = "1px solid rgba(128,128,128,0.4)"
_CELL = f"padding:0.2em 0.7em;text-align:left;border-bottom:{_LINE}"
_SYMBOLS = {"equivalent": "≈", "better": "▲", "worse": "▼", "inconclusive": "?"}


def box(title: str, *parts: str) -> str:
    """Return HTML parts under a title of plain text."""
    body = "".join(parts) or lines(["nothing was compared"])
    return f'<div style="overflow-x:auto"><p><strong>{_text(title)}</strong></p>{body}</div>'


def table(header: Sequence[str], rows: Rows) -> str:
    """Return a table of plain texts as HTML, "" without rows."""
    if not rows:
        return ""
    style = "border-collapse:collapse;margin:0.5em 0;font-variant-numeric:tabular-nums"
    body = "".join(_row("td", row) for row in rows[:MAX_ROWS])
    more = [f"{len(rows) - MAX_ROWS} more rows: see report()"] if len(rows) > MAX_ROWS else []
    return f'<table style="{style}">{_row("th", header)}{body}</table>{lines(more)}'


def lines(texts: Iterable[str]) -> str:
    """Return one paragraph for each line of plain text."""
    return "".join(f"<p>{_text(text)}</p>" for text in texts)


def accuracy_rows(verdicts: Iterable[Accuracy]) -> tuple[Sequence[str], Rows]:
    """Return header and rows of accuracy verdicts."""
    header = ("algorithm", "reference", "dataset", "accuracy", "difference", "95 %", "why")
    rows = [
        [
            v.algorithm,
            v.reference,
            v.dataset or "pooled",
            f"{_SYMBOLS.get(v.verdict, '')} {v.verdict}",
            f"{v.difference.value:+.3g}" if math.isfinite(v.difference.value) else "",
            _bounds(v.difference.low, v.difference.high, "+.3g"),
            v.advice or "; ".join(v.notes),
        ]
        for v in verdicts
    ]
    return header, rows


def speed_rows(speeds: Iterable[Speed]) -> tuple[Sequence[str], Rows]:
    """Return header and rows of ratios of time."""
    header = ("A", "B", "dataset", "phase", "A takes", "B takes", "B / A", "interval", "from")
    rows = [
        [
            s.algorithm,
            s.reference,
            s.dataset or "pooled",
            s.phase,
            *(show_duration(t) if math.isfinite(t) else "" for t in s.seconds),
            f"×{s.ratio.value:.3f}",
            _bounds(s.ratio.low, s.ratio.high, ".3f"),
            f"{s.ratio.n} × {s.unit}",
        ]
        for s in speeds
    ]
    return header, rows


def parity_rows(found: Iterable[Parity]) -> tuple[Sequence[str], Rows]:
    """Return header and rows of parity levels, with the first difference of the trees."""
    header = ("A", "B", "dataset", "level", "meaning", "claimed", "accuracy", "first difference")
    rows = []
    for p in found:
        differences = p.comparison.differences if p.comparison else ()
        why = differences[0].sentence if differences else p.reason
        names = [p.algorithm, p.reference, p.dataset]
        level = [p.parity_level or "none", MEANING[p.parity_level]]
        rows.append([*names, *level, p.claimed or "–", p.verdict or "–", why])
    return header, rows


def _bounds(low: float, high: float, form: str) -> str:
    return f"[{low:{form}}, {high:{form}}]" if math.isfinite(high) else ""


def _row(tag: str, cells: Sequence[str]) -> str:
    cells_html = "".join(f'<{tag} style="{_CELL}">{_text(cell)}</{tag}>' for cell in cells)
    return f"<tr>{cells_html}</tr>"


def _text(value: str) -> str:
    """Return plain text as HTML, with markup escaped and control characters visible."""
    visible = "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)
    return escape(visible if len(visible) <= LONGEST else visible[: LONGEST - 1] + "…")
