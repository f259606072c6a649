"""``harness doctor``: check the machine and the installation."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import json_option, print_json, printable, results_option


@click.command("doctor")
@click.option(
    "--deep",
    is_flag=True,
    help="Also time the first call of every compiled algorithm; takes minutes.",
)
@results_option
@json_option
def command(*, deep: bool, results: Path, as_json: bool) -> int:
    """Check dependencies, threads, timing conditions, caches and plugins."""
    from harness.doctor import diagnose

    checks = diagnose(deep=deep, results=results)
    if as_json:
        print_json({"checks": checks})
    else:
        for check in checks:
            click.echo(f"{check.state:<5}{check.name}: {printable(check.message)}")
            if check.advice:
                click.echo(f"     → {printable(check.advice)}")
    return 1 if any(check.state == "fail" for check in checks) else 0
