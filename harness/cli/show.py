"""``harness show NAME|ID``: all that is known of an algorithm, a dataset, a run or a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.common import json_option, plugin_option, print_json, printable, results_option
from harness.errors import ConfigError, StoreError
from harness.model import Outcome, to_json
from harness.plugins import Registry, load_registry


@click.command("show")
@click.argument("name")
@plugin_option
@results_option
@json_option
def command(name: str, *, plugins: tuple[Path, ...], results: Path, as_json: bool) -> None:
    """Show NAME: an algorithm, dataset or metric, or the start of a run, trial or cell id."""
    found = _registered(name, load_registry(plugins)) or _stored(name, results)
    if not found:
        kinds = "algorithm, dataset, metric, executor, run or trial"
        raise ConfigError(f"nothing is called {name!r}: no {kinds} has that name or id")
    if as_json:
        print_json(found)
    else:
        for key, value in found.items():
            click.echo(f"{key}: {printable(value)}")


def _registered(name: str, registry: Registry) -> dict[str, Any]:
    for kind in ("algorithm", "dataset", "metric", "executor"):
        entry = registry.entries[kind].get(name)
        if entry is not None:
            return {"kind": kind, **_facts(entry.value), "plugin": entry.path}
    return {}


def _facts(value: Any) -> dict[str, Any]:
    """Return a declaration's fields, without the functions among them."""
    facts = {key: getattr(value, key) for key in value.__dataclass_fields__}
    return {key: _without_functions(to_json(f)) for key, f in facts.items() if not callable(f)}


def _without_functions(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_functions(v) for k, v in value.items() if not callable(v)}
    return value


def _stored(name: str, results: Path) -> dict[str, Any]:
    from harness.store import Store

    if not Store.exists(results):
        return {}
    with Store.open(results) as store:
        for trial in store.find(name)[:1]:
            attempts = [_attempt(o, run) for o, run in store.history(trial.cell)]
            return {"kind": "trial", **to_json(trial), "attempts": attempts}
        try:
            return {"kind": "run", **store.run(name), "outcomes": store.counts(name)}
        except StoreError:
            return {}


def _attempt(outcome: Outcome, run: str) -> dict[str, Any]:
    told = to_json(outcome)
    return {"run": run, **{key: told[key] for key in ("status", "samples", "failure", "facts")}}
