"""``harness clean``: remove runs, and array files without a run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from harness.cli.common import json_option, print_json, results_option
from harness.core.errors import ConfigError, StoreError
from harness.core.units import parse_duration


@click.command("clean")
@click.option("--run", "runs", multiple=True, metavar="ID", help="Remove this run.")
@click.option("--older-than", metavar="DURATION", help="Remove runs older than, say, 720h.")
@click.option("--yes", is_flag=True, help="Remove them; without this option, only list them.")
@results_option
@json_option
def command(
    *, runs: tuple[str, ...], older_than: str | None, yes: bool, results: Path, as_json: bool
) -> None:
    """Remove chosen runs, and the array files that belong to no run."""
    from harness.store import Store
    from harness.store.clean import clean

    before = _ago(older_than) if older_than is not None else None
    if not Store.exists(results):
        raise StoreError(f"there are no results in {results}, so there is nothing to clean")
    with Store.open(results, write=True) as store:
        removal = clean(store, runs=runs, before=before, dry_run=not yes)
    if as_json:
        print_json(
            {
                "removed": yes,
                "runs": removal.runs,
                "outcomes": removal.outcomes,
                "files": len(removal.files),
                "bytes": removal.bytes,
            }
        )
        return
    verb = "removed" if yes else "would remove (add --yes)"
    size = f"{removal.bytes / 2**20:.1f} MiB"
    click.echo(
        f"{verb}: {len(removal.runs)} runs, {removal.outcomes} outcomes, "
        f"{len(removal.files)} array files, {size}"
    )


def _ago(duration: str) -> datetime:
    """Return the moment before now by a duration."""
    try:
        return datetime.now(UTC) - timedelta(seconds=parse_duration(duration))
    except OverflowError:  # before the year 1
        raise ConfigError(
            f"--older-than {duration[:80]}: no run is that old; give a shorter time, such as 720h"
        ) from None
