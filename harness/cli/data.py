"""``harness data``: list, show, fetch, verify and add datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli.common import json_option, plugin_option, print_json, print_table, printable, say
from harness.core.errors import ConfigError, unknown
from harness.core.model import Dataset, Task
from harness.data import resolve
from harness.plugins.registry import NO_ALGORITHMS, Registry, load_registry


@click.group("data")
def command() -> None:
    """List, show, fetch, verify and add datasets."""


@command.command("list")
@click.option("--suite", help="Only the datasets of this suite.")
@plugin_option
@json_option
def list_(*, suite: str | None, plugins: tuple[Path, ...], as_json: bool) -> None:
    """List all datasets with their state: ready, to fetch, refused or broken."""
    from harness.data.manage import list_datasets

    rows = list_datasets(load_registry(plugins, packages=NO_ALGORITHMS))
    if suite:
        suites = {s for row in rows for s in row.get("suites", ())}
        if suite not in suites:
            raise ConfigError(unknown("suite", suite, suites, f"known are {sorted(suites)}"))
        rows = [row for row in rows if suite in row.get("suites", ())]
    if as_json:
        print_json({"datasets": rows})
        return
    keys = ("name", "state", "task", "rows", "columns", "categorical", "source")
    print_table(keys, [[row.get(key, "") for key in keys] for row in rows])
    for row in rows:
        if row.get("reason"):
            say(f"{row['name']}: {row['state']}: {row['reason']}")


@command.command("show")
@click.argument("name")
@plugin_option
@json_option
def show(name: str, *, plugins: tuple[Path, ...], as_json: bool) -> None:
    """Show the card of a dataset, and the source of its bytes."""
    from harness.data.manage import show as show_dataset

    facts = show_dataset(resolve(name, load_registry(plugins, packages=NO_ALGORITHMS)))
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        click.echo(f"{key}: {printable(value)}")


@command.command("fetch")
@click.argument("names", nargs=-1, required=True)
@plugin_option
@json_option
def fetch(names: tuple[str, ...], *, plugins: tuple[Path, ...], as_json: bool) -> int:
    """Download datasets (names, globs, suite:NAME) into the cache."""
    from harness.data.manage import fetch_all

    fetched, failed = fetch_all(_chosen(names, load_registry(plugins, packages=NO_ALGORITHMS)), say)
    if as_json:
        print_json({"fetched": fetched, "failed": failed})
    elif fetched:
        keys = ("name", "rows", "columns")
        print_table(keys, [[row[key] for key in keys] for row in fetched])
    return 5 if failed else 0


@command.command("verify")
@click.argument("names", nargs=-1, required=True)
@plugin_option
@json_option
def verify(names: tuple[str, ...], *, plugins: tuple[Path, ...], as_json: bool) -> int:
    """Read sources again and compare them with their cards."""
    from harness.data.manage import verify as verify_dataset

    checks = [
        {"name": dataset.name, **check}
        for dataset in _chosen(names, load_registry(plugins, packages=NO_ALGORITHMS))
        for check in verify_dataset(dataset)
    ]
    if as_json:
        print_json({"checks": checks})
    else:
        keys = ("name", "check", "expected", "found", "ok")
        print_table(keys, [[check[key] for key in keys] for check in checks])
    return 0 if all(check["ok"] for check in checks) else 5


@command.command("add")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="The column to predict.")
@click.option("--name", required=True, help="Name of the new dataset.")
@click.option("--task", type=click.Choice([task.value for task in Task]))
@click.option("--weight", default="", help="The column with the weights of the rows.")
@click.option(
    "--group",
    default="",
    help="The column of groups; a group is never split between training and test.",
)
@click.option("--summary", default="", help="One line that describes it.")
@json_option
def add(path: Path, *, target: str, name: str, as_json: bool, **facts: Any) -> None:
    """Write a card for your own file, so that its dataset is known by name."""
    from harness.data.manage import add as add_dataset

    known = load_registry(packages=NO_ALGORITHMS).names("dataset")
    card = add_dataset(path, target, name, known=known, **facts)
    if as_json:
        print_json({"name": name, "card": str(card)})
    else:
        click.echo(card)


def _chosen(names: Sequence[str], registry: Registry) -> list[Dataset]:
    """Return the datasets that match names, globs and ``suite:NAME``."""
    from harness.planning.candidates import dataset_names

    matching = dict.fromkeys(n for name in names for n in dataset_names(name, registry))
    return [resolve(name, registry) for name in matching]
