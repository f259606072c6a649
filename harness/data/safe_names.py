"""Formatting of names from files for messages."""

from __future__ import annotations

from collections.abc import Sequence


def shown(name: object, most: int = 60) -> str:
    """Return a name from a file for a message: quoted, escaped, shortened."""
    text = str(name)
    return repr(text if len(text) <= most else f"{text[: most - 1]}…")


def listed(names: Sequence[object], most: int = 5) -> str:
    """Return the first names of a list and the number of further ones."""
    head = ", ".join(shown(name) for name in names[:most])
    return f"{head} and {len(names) - most:,} more" if len(names) > most else head


def count(n: int, one: str, many: str = "") -> str:
    """Return a count with its noun: ``1 column``, ``2,000 columns``."""
    return f"{n:,} {one}" if n == 1 else f"{n:,} {many or one + 's'}"
