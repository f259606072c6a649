"""Terminal output: escape control characters before printing."""

from __future__ import annotations

from typing import Any

import click


def printable(value: Any, limit: int = 200) -> str:
    """Return text with control characters escaped, at most ``limit`` characters long."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def say(message: str) -> None:
    """Write a message to stderr, with control characters escaped."""
    click.echo("\n".join(printable(line) for line in message.split("\n")), err=True)
