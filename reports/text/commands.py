"""Command lines that measure again what a page shows; one that cannot be exact is none."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from harness.analysis.run_command import command_of
from reports.text.format import plain

LONGEST = 300  # characters of one word; nobody would copy a longer one


def command(run: Mapping[str, Any], *words: str) -> str:
    """Return a harness command line, its words quoted where a shell needs it.

    Returns "" where a word holds what no page can show as it is, or is very long. ``run`` tells
    where its results lie, if not where they lie by default.
    """
    if any(plain(word) != word or len(word) > LONGEST for word in words):
        return ""
    place = run.get("results")
    return shlex.join(["python", "-m", "harness", *words, *(["--results", place] if place else [])])


def run_again(
    run: Mapping[str, Any], algorithms: Iterable[str] = (), datasets: Iterable[str] = ()
) -> str:
    """Return the command that repeats a run, or the part of it with these names."""
    kind, tables = command_of(run), _options("-d", datasets)
    if not run.get("id") or kind == "gate":
        return ""
    if kind == "parity":
        return command(run, "parity", "--again", str(run["id"]), *tables, "--fresh")
    if kind == "duel":
        return ""  # its duel has an id of its own
    words = ["run", "--again", str(run["id"]), *_options("-a", algorithms), *tables]
    return command(run, *words, "--fresh")


def cell_again(run: Mapping[str, Any], trial: str) -> str:
    """Return the command that measures the row of a trial again: it on all of its splits."""
    if not run.get("id") or command_of(run) != "run":
        return ""
    return command(run, "run", "--again", str(run["id"]), "--trial", trial, "--fresh")


def duels_again(run: Mapping[str, Any], ids: Iterable[str]) -> str:
    """Return the commands that fight duels again, a line each."""
    if command_of(run) == "gate":
        return ""
    return "\n".join(command(run, "duel", "--again", id_, "--fresh") for id_ in dict.fromkeys(ids))


def _options(flag: str, names: Iterable[str]) -> list[str]:
    return [word for name in names for word in (flag, glob.escape(name))]
