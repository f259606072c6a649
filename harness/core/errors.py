"""Errors that a user can mend: each says what happened, where, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MISTAKES, _NEXT = " mistakes", "\n  "  # how several are told: "2 mistakes", then a line each
_FEW = 5  # known names that are told instead of counted


class HarnessError(Exception):
    """A mistake or fault that is told in one line, without a traceback."""

    exit_code = 2


class ConfigError(HarnessError):
    """An experiment, an option or a name that cannot be used."""


class PluginError(HarnessError):
    """A plugin that breaks the contract of ``harness/plugins/hookspecs.py``."""


class OtherPluginAPIError(PluginError):
    """A plugin written for another version of the contract than this harness has."""


class DataError(HarnessError):
    """A dataset that is missing, malformed or not what its card says."""


class StoreError(HarnessError):
    """A results store that cannot be read or written."""

    exit_code = 5


class BusyError(StoreError):
    """Another process writes to the store, and waiting was not wanted."""


def unknown(kind: str, name: str, known: Iterable[str], hint: str = "") -> str:
    """Say that a name is unknown, with "did you mean" where a known one is close.

    ``hint`` says what to do where none is close; by default which command lists the known ones.
    """
    names = sorted(known)
    name = name if len(name) <= 80 else f"{name[:79]}…"
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"unknown {kind} {name!r}: did you mean {close[0]!r}?"
    if not hint:
        many = "none is known" if not names else f"{len(names)} known"
        known_ones = many if len(names) > _FEW or not names else f"known: {', '.join(names)}"
        hint = f"`harness list {kind}s` lists them ({known_ones})"
    return f"unknown {kind} {name!r}; {hint}"


def together(mistakes: Sequence[str]) -> str:
    """Return one message for several mistakes, a line each; a lone one stands by itself.

    A message that this made already gives its own mistakes, each once.
    """
    lines: dict[str, None] = {}
    for mistake in mistakes:
        head, *rest = mistake.split(_NEXT)
        lines |= dict.fromkeys(rest if head.endswith(_MISTAKES) and rest else [mistake])
    if len(lines) == 1:
        return next(iter(lines))
    return _NEXT.join([f"{len(lines)}{_MISTAKES}", *lines])
