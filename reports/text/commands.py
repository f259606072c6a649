"""Command lines that repeat measurements; omitted if they cannot be exact."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from harness.analysis.run_command import command_of
from reports.text.format import plain

LONGEST = 300  # characters of one word
OF_COMMITS = ("gate", "bisect")  # commands whose measurements need other working trees


def command(run: Mapping[str, Any], *words: str) -> str:
    """Return a harness command line, with words quoted for the shell.

    Returns "" if a word is very long or has characters that a page cannot show. ``run`` gives
    the results folder, if it is not the default one.
    """
    if any(plain(word) != word or len(word) > LONGEST for word in words):
        return ""
    place = run.get("results")
    return shlex.join(["python", "-m", "harness", *words, *(["--results", place] if place else [])])


def run_again(
    run: Mapping[str, Any], algorithms: Iterable[str] = (), datasets: Iterable[str] = ()
) -> str:
    """Return the command that repeats a run, or its part with these names."""
    kind, tables = command_of(run), _options("-d", datasets)
    if not run.get("id") or kind in OF_COMMITS:
        return ""
    if kind == "serving":
        return serving_again(run)
    if kind == "parity":
        return command(run, "parity", "--again", str(run["id"]), *tables, "--fresh")
    if kind == "duel":
        return ""  # the duel has its own id
    words = ["run", "--again", str(run["id"]), *_options("-a", algorithms), *tables]
    return command(run, *words, "--fresh")


def serving_again(run: Mapping[str, Any]) -> str:
    """Return the command that repeats a run of ``harness serving``; "" if it used own files."""
    config = run.get("config") or {}
    served, files = config.get("serving") or {}, config.get("plugin_files", ())
    experiment = config.get("experiment") or {}
    if not served or config.get("files") or files:
        return ""
    words = [word for name in served["algorithms"] for word in ("-a", name)]
    words += ["-d", served["dataset"]]
    for flag in ("batches", "threads"):
        words += [f"--{flag}", ",".join(map(str, served[flag]))]
    for flag in ("launches", "rounds", "calls"):
        words += [f"--{flag}", str(served[flag])]
    for key, value in (experiment.get("capacity") or {}).items():
        words += ["--capacity", f"{key}={value}"]
    return command(run, "serving", *words)


def cell_again(run: Mapping[str, Any], trial: str) -> str:
    """Return the command that repeats a trial on all of its splits."""
    if not run.get("id") or command_of(run) != "run":
        return ""
    return command(run, "run", "--again", str(run["id"]), "--trial", trial, "--fresh")


def duels_again(run: Mapping[str, Any], ids: Iterable[str]) -> str:
    """Return the commands that repeat duels, one a line."""
    if command_of(run) in OF_COMMITS:
        return ""
    return "\n".join(command(run, "duel", "--again", id_, "--fresh") for id_ in dict.fromkeys(ids))


def _options(flag: str, names: Iterable[str]) -> list[str]:
    return [word for name in names for word in (flag, glob.escape(name))]
