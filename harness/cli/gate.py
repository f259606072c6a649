"""``harness gate``: do the claims hold? The exit code says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.common import (
    json_option,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
    undecided_option,
)
from harness.config import load_gates
from harness.errors import ConfigError
from harness.plugins import load_registry


@click.command("gate")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--run", default="latest", show_default=True, help='An id, the start of one, or "latest".'
)
@undecided_option
@click.option("--markdown", is_flag=True, help="Print a table for a pull request instead.")
@plugin_option
@results_option
@json_option
def command(**given: Any) -> int:
    """Hold a stored run against gates.

    FILE holds [[gate]] tables, alone or in an experiment; without it the run's own experiment is
    asked. Exit codes: 0 all hold, 1 one fails, 6 one is undecided.
    """
    from harness import reporting

    wanted = []
    if given["file"] is not None and not (wanted := load_gates(given["file"])):
        raise ConfigError(f"{given['file']} has no [[gate]] tables")
    registry = load_registry(given["plugins"])
    found = reporting.gates(given["results"], given["run"], registry, wanted)
    if given["as_json"]:
        print_json(found.to_json())
    elif given["markdown"]:
        click.echo(found.markdown(), nl=False)
    else:
        print_table(*found.table())
    say(found.sentence())
    return found.exit_code(given["undecided"])
