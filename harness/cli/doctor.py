"""``harness doctor``: whether this machine can be measured on and this installation is whole."""

from __future__ import annotations

import click

from harness.cli.common import json_option, print_json, printable


@click.command("doctor")
@click.option("--deep", is_flag=True, help="Also time first calls and the harness's own overhead.")
@json_option
def command(*, deep: bool, as_json: bool) -> int:
    """Check dependencies, threads, timing conditions, caches and plugins."""
    from harness.doctor import diagnose

    checks = diagnose(deep=deep)
    if as_json:
        print_json({"checks": checks})
    else:
        for check in checks:
            click.echo(f"{check.state:<5}{check.name}: {printable(check.message)}")
            if check.advice:
                click.echo(f"     → {printable(check.advice)}")
    return 1 if any(check.state == "fail" for check in checks) else 0
