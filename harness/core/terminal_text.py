"""Lines for people: what a name may do to a terminal it does not do here."""

from __future__ import annotations

from typing import Any

import click


def printable(value: Any, limit: int = 200) -> str:
    """Return text with control characters escaped, at most ``limit`` characters long."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def say(message: str) -> None:
    """Write lines for people on stderr."""
    click.echo("\n".join(printable(line) for line in message.split("\n")), err=True)
