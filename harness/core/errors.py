"""Errors that a user can fix; each message says what happened, where, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MISTAKES, _NEXT = " mistakes", "\n  "  # format: "2 mistakes", then one line for each
_FEW = 5  # list the known names up to this many; otherwise give their number


class HarnessError(Exception):
    """Base class of errors that are shown in one line, without a traceback."""

    exit_code = 2


class ConfigError(HarnessError):
    """Invalid experiment, option or name."""


class PluginError(HarnessError):
    """Plugin that breaks the contract of ``harness/plugins/hookspecs.py``."""


class OtherPluginAPIError(PluginError):
    """Plugin written for another version of the plugin API."""


class DataError(HarnessError):
    """Dataset that is missing, malformed or different from its card."""


class StoreError(HarnessError):
    """Results store that cannot be read or written."""

    exit_code = 5


class BusyError(StoreError):
    """Another process writes to the store, and ``wait`` is off."""


def unknown(kind: str, name: str, known: Iterable[str], hint: str = "") -> str:
    """Return the message for an unknown name, with "did you mean" if a known name is close.

    ``hint`` is the advice if no known name is close; the default names the command that lists them.
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
    """Return one message for several mistakes, one per line; a single mistake stays as it is.

    A message that this function built before is split into its mistakes; duplicates are dropped.
    """
    lines: dict[str, None] = {}
    for mistake in mistakes:
        head, *rest = mistake.split(_NEXT)
        lines |= dict.fromkeys(rest if head.endswith(_MISTAKES) and rest else [mistake])
    if len(lines) == 1:
        return next(iter(lines))
    return _NEXT.join([f"{len(lines)}{_MISTAKES}", *lines])
