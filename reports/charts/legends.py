"""Symbols and colors of all charts; a symbol goes with every color."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reports.blocks.blocks import Key

ROW = 22  # pixels of a row of names
# Meaning → symbol in words, symbol in the chart, color.
ORIGINS = {"from scratch": ("●", "circle", "blue"), "reference library": ("◆", "diamond", "orange")}
SPEEDS = {
    "faster": ("▲", "triangle-up", "blue"),
    "slower": ("▼", "triangle-down", "orange"),
    "undecided": ("■", "square", "muted"),
}
VERDICTS = {
    "equivalent": ("●", "circle", "blue"),
    "better": ("▲", "triangle-up", "green"),
    "worse": ("▼", "triangle-down", "orange"),
    "inconclusive": ("■", "square", "muted"),
}
SERIES = (  # for series without a fixed meaning: color, dash of the line, symbol
    ("blue", "", "circle"),
    ("orange", "7 3", "diamond"),
    ("green", "2 2", "square"),
    ("purple", "7 2 2 2", "triangle-up"),
    ("amber", "12 3", "triangle-down"),
    ("sky", "4 4", "circle"),
    ("muted", "1 3", "diamond"),
    ("ink", "", "square"),
)
SYMBOLS = {"circle": "●", "diamond": "◆", "square": "■", "triangle-up": "▲", "triangle-down": "▼"}


def keys(meanings: Mapping[str, tuple[str, str, str]], used: Iterable[str]) -> list[Key]:
    """Return the legend of the meanings in a chart."""
    present = set(used)
    return [
        Key(symbol, color, text) for text, (symbol, _, color) in meanings.items() if text in present
    ]


def series_keys(names: Iterable[str]) -> list[Key]:
    """Return the legend of series, in the order of ``SERIES``."""
    return [
        Key(SYMBOLS[shape], color, name)
        for name, (color, _, shape) in zip(names, SERIES, strict=False)
    ]
