"""``harness list``: list algorithms, datasets, experiments, runs and so on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.common import json_option, plugin_option, print_json, print_table, results_option
from harness.config.experiment import load_experiment
from harness.config.files import shipped_experiments
from harness.core.model import Algorithm, Dataset, Metric, Section
from harness.plugins.registry import NO_ALGORITHMS, OWN_PACKAGES, Registry, load_registry

KINDS = (
    *("algorithms", "datasets", "metrics", "sections", "executors"),
    *("experiments", "plugins", "runs"),
)
MAX_SHOWN = 3  # items in a table cell
RUN = ("id", "name", "status", "started", "ended")  # `harness show` has the rest of a run


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND", required=False)
@plugin_option
@results_option
@json_option
def command(kind: str | None, plugins: tuple[Path, ...], results: Path, as_json: bool) -> None:
    """List registered, shipped or stored items: KIND is one of those below.

    algorithms, datasets, metrics, sections, executors, experiments, plugins, runs
    """
    if kind is None:  # click would print one in each line
        raise click.UsageError(f"list needs a KIND: {', '.join(KINDS)}")
    if kind == "runs":
        rows = _runs(results)
    else:
        packages = OWN_PACKAGES if kind in ("algorithms", "plugins") else NO_ALGORITHMS
        rows = _registered(kind, load_registry(plugins, packages=packages))
    if as_json:
        print_json({kind: rows})
    elif rows:
        print_table(list(rows[0]), [[_shown(value) for value in row.values()] for row in rows])
    else:
        click.echo(f"no {kind}", err=True)


def _registered(kind: str, registry: Registry) -> list[dict[str, Any]]:
    match kind:
        case "algorithms":
            return [_algorithm(a) for a in registry.all("algorithm")]
        case "datasets":
            return [_dataset(d) for d in registry.all("dataset")]
        case "metrics":
            return [_metric(m) for m in registry.all("metric")]
        case "sections":
            sections: list[Section] = sorted(registry.all("section"), key=lambda s: s.order)
            return [{"name": s.name, "title": s.title} for s in sections]
        case "executors" | "experiments":
            items: dict[str, Any] = {one.name: one for one in registry.all("executor")}
            if kind == "experiments":
                items = {name: load_experiment(name) for name in shipped_experiments()}
            return [{"name": name, "summary": one.summary} for name, one in items.items()]
        case _:
            return _plugins(registry)


def _algorithm(algorithm: Algorithm) -> dict[str, Any]:
    return {
        "name": algorithm.name,
        "origin": algorithm.origin,
        "tasks": sorted(algorithm.tasks),
        "reference": algorithm.reference,
        "summary": algorithm.summary,
    }


def _dataset(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "task": dataset.task.value,
        "rows": dataset.rows,
        "columns": dataset.columns,
        "categorical": dataset.categorical,
        "missing": dataset.missing,
        "source": dataset.source,
        "suites": list(dataset.suites),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "better": "lower" if metric.lower_is_better else "higher",
        "primary": metric.primary,
        "tasks": sorted(metric.tasks),
        "summary": metric.summary,
    }


def _plugins(registry: Registry) -> list[dict[str, Any]]:
    offered: dict[str, list[str]] = {name: [] for name, _ in registry.manager.list_name_plugin()}
    for kind, entries in registry.entries.items():
        for name, entry in entries.items():
            offered[entry.plugin].append(f"{kind} {name}")
    notes: dict[str, list[str]] = {}
    for name, note in registry.missing_references().items():
        notes.setdefault(registry.entry("algorithm", name).plugin, []).append(note)
    fine = [
        {
            "plugin": name,
            "state": "loaded",
            "offers": things,
            "note": "; ".join(notes.get(name, ())),
        }
        for name, things in offered.items()
    ]
    broken = [
        {"plugin": b.plugin, "state": "broken", "offers": [], "note": b.reason}
        for b in registry.broken
    ]
    return fine + broken


def _shown(value: Any) -> Any:
    """Return a value shortened for the table; JSON has the full value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        more = len(value) - MAX_SHOWN
        return ", ".join(value[:MAX_SHOWN]) + (f" and {more} more" if more > 0 else "") or "-"
    return "-" if value in (None, "") else value


def _runs(results: Path) -> list[dict[str, Any]]:
    from harness.store import Store

    with Store.open(results) as store:
        return [{key: run[key] for key in RUN} for run in store.runs()]
