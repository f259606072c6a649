"""``harness show NAME|ID``: details of an algorithm, a dataset, a run or a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.common import json_option, plugin_option, print_json, printable, results_option
from harness.core.errors import ConfigError, unknown
from harness.core.model import DuelOutcome, Outcome, to_json
from harness.plugins.registry import Registry, load_registry

_KINDS = ("algorithm", "dataset", "metric", "executor")


@click.command("show")
@click.argument("name")
@plugin_option
@results_option
@json_option
def command(name: str, *, plugins: tuple[Path, ...], results: Path, as_json: bool) -> None:
    """Show NAME: an algorithm, dataset, metric or executor, or the start of a stored id."""
    registry = load_registry(plugins)
    items = _registered(name, registry) or _stored(name, results)
    if not items:
        known = [known for kind in _KINDS for known in registry.names(kind)]
        hint = f"no {', '.join(_KINDS)}, run, trial or duel has that name or id"
        raise ConfigError(unknown("name", name, known, hint))
    if as_json:
        print_json(items)
    else:
        for key, value in items.items():
            click.echo(f"{key}: {printable(value)}")


def _registered(name: str, registry: Registry) -> dict[str, Any]:
    for kind in _KINDS:
        entry = registry.entries[kind].get(name)
        if entry is not None:
            return {"kind": kind, **_facts(entry.value), "plugin": entry.path}
    return {}


def _facts(value: Any) -> dict[str, Any]:
    """Return the fields of a declaration, without functions."""
    facts = {key: getattr(value, key) for key in value.__dataclass_fields__}
    return {key: _without_functions(to_json(f)) for key, f in facts.items() if not callable(f)}


def _without_functions(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_functions(v) for k, v in value.items() if not callable(v)}
    return value


def _stored(name: str, results: Path) -> dict[str, Any]:
    from harness.store import Store

    if not name or not Store.exists(results):
        return {}
    with Store.open(results) as store:
        for trial in store.find(name)[:1]:
            attempts = [_attempt(o, run) for o, run in store.history(trial.cell)]
            return {"kind": "trial", **to_json(trial), "attempts": attempts}
        if duels := store.find_duels(name):
            duel = duels[0][0].duel
            same = [(o, run) for o, run in duels if o.duel.id == duel.id]
            return {"kind": "duel", **to_json(duel), "attempts": [_duel(o, r) for o, r in same]}
        ids = [run["id"] for run in store.runs()]
        if name == "latest" or any(i.startswith(name) or i.endswith(name) for i in ids):
            return {"kind": "run", **store.run(name), "outcomes": store.counts(name)}
    return {}


def _duel(outcome: DuelOutcome, run: str) -> dict[str, Any]:
    fields = to_json(outcome)
    return {"run": run, **{key: fields[key] for key in ("status", "blocks", "failure", "facts")}}


def _attempt(outcome: Outcome, run: str) -> dict[str, Any]:
    fields = to_json(outcome)
    return {"run": run, **{key: fields[key] for key in ("status", "samples", "failure", "facts")}}
