"""``harness plugin``: write a new plugin package, and test a plugin's contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import json_option, plugin_option, print_json, printable, say
from harness.plugins.registry import load_registry
from harness.plugins.scaffold import KINDS, write_package

if TYPE_CHECKING:
    from harness.conformance.findings import Finding
    from harness.plugins.registry import Registry

MAX_MESSAGE = 600  # characters of a message
MARKS = {"ok": "ok", "failed": "FAILED", "skipped": "-", "noted": "note"}


@click.group("plugin")
def command() -> None:
    """Write a new plugin package, or test a plugin's contract."""


@command.command("new")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="algorithm",
    show_default=True,
    help="Kind of plugin.",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Parent folder of the new package's folder (default: the current one).",
)
def new(*, name: str, kind: str, into: Path) -> None:
    """Write a new plugin package NAME that installs, works and has passing tests.

    Comments mark the parts to replace. `harness plugin check NAME` and pytest list what is missing.
    """
    for path in write_package(name, kind, into):
        click.echo(str(path))
    say(f"next: pip install -e '{into / name}[test]' && pytest {into / name}")


@command.command("check")
@click.argument("name")
@plugin_option
@click.option(
    "--timeout",
    type=float,
    default=300.0,
    show_default=True,
    help="Time limit of one check, seconds.",
)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default=None,
    help="Kind of NAME, if several kinds have this name.",
)
@json_option
def check(
    *, name: str, plugins: tuple[Path, ...], timeout: float, kind: str | None, as_json: bool
) -> int:
    """Test the algorithm, dataset, metric, section or executor NAME against the contract.

    Each rule of the contract has a check. Each line says what was checked, what happened and, after
    a failure, what to do. The checks run in a separate process, so a crash or a
    hang is a result, too. Then the claimed parity levels of an algorithm are compared with those it
    reaches. Exit code 1 if a check fails.
    """
    from harness.conformance.checks import kinds_of

    registry = load_registry(plugins)
    if kind is not None:
        registry.entry(kind, name)
    answer: dict[str, list[Finding]] = {}
    for each in [kind] if kind else kinds_of(registry, name):
        answer[each] = list(
            _run_checks(registry, each, name, plugins, timeout, printed=not as_json)
        )
        counts = Counter(one.state for one in answer[each])
        passed = counts["ok"] + counts["noted"]
        summary = f"{passed} passed, {counts['failed']} failed, {counts['skipped']} do not apply"
        say(f"The checks of the {each} {name} are done: {summary}.")
    if as_json:
        print_json({"name": name, "findings": answer})
    return int(any(one.state == "failed" for found in answer.values() for one in found))


def _run_checks(
    registry: Registry,
    kind: str,
    name: str,
    plugins: tuple[Path, ...],
    timeout: float,
    *,
    printed: bool,
) -> Iterator[Finding]:
    """Yield the results, and print each as it arrives."""
    from harness.conformance.claims import check_claims
    from harness.conformance.supervised import check_supervised

    findings: Iterator[Finding] = check_supervised(name, plugins, timeout, kind)
    if kind == "algorithm":
        findings = chain(findings, check_claims(registry, name, plugins))
    for _, same in groupby(findings, key=lambda one: (one.check, one.state, one.message)):
        same_findings = list(same)
        if printed:
            _print_finding(same_findings)
        yield from same_findings


def _print_finding(same: list[Finding]) -> None:
    """Print the result of a check in one line for all tasks with the same result."""
    from harness.conformance.advice import sentences

    message = printable(same[0].message, MAX_MESSAGE)
    shown = [replace(one, message=message) for one in same]
    click.echo(f"{MARKS[same[0].state]:<7}{sentences(shown)}")
