"""``harness plugin``: write a new plugin package, and check what a plugin promises."""

from __future__ import annotations

from collections import Counter
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import json_option, plugin_option, print_json, printable, say
from harness.plugins import load_registry

if TYPE_CHECKING:
    from harness.conformance.findings import Finding

MOST = 600  # characters of a message
MARKS = {"ok": "ok", "failed": "FAILED", "skipped": "-", "noted": "note"}


@click.group("plugin")
def command() -> None:
    """Write a new plugin package, or check what a plugin promises."""


@command.command("check")
@click.argument("name")
@plugin_option
@click.option(
    "--timeout", type=float, default=300.0, show_default=True, help="Seconds for one check."
)
@json_option
def check(*, name: str, plugins: tuple[Path, ...], timeout: float, as_json: bool) -> int:
    """Hold the algorithm NAME to the contract, each promise by a check of its own.

    The checks run in a process of their own, so a crash or a hang is a finding too. Then the
    rungs that it claims are held against those it reaches. Exit code 1 where a promise is broken.
    """
    from harness.conformance.claims import check_claims
    from harness.conformance.supervised import check_supervised

    registry = load_registry(plugins)
    registry.entry("algorithm", name)
    coming = chain(check_supervised(name, plugins, timeout), check_claims(registry, name, plugins))
    found = []
    for _, alike in groupby(coming, key=lambda one: (one.check, one.state, one.message)):
        found += (told := list(alike))
        if not as_json:
            _tell(told)
    if as_json:
        print_json({"algorithm": name, "findings": found})
    counts = Counter(one.state for one in found)
    kept = counts["ok"] + counts["noted"]
    say(f"{name}: {kept} kept, {counts['failed']} broken, {counts['skipped']} do not apply")
    return 1 if counts["failed"] else 0


def _tell(alike: list[Finding]) -> None:
    """Say what a check found, in one line for all the tasks of which it found the same."""
    first = alike[0]
    where = f" ({', '.join(one.task for one in alike)})" if first.task else ""
    why = f": {printable(first.message, MOST)}" if first.message else ""
    click.echo(f"{MARKS[first.state]:<7}{first.check}{where}{why}")
