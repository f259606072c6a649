"""``harness run``: carry out an experiment and write its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.common import (
    first_code,
    json_option,
    plugin_option,
    print_json,
    results_option,
    say,
    undecided_option,
)
from harness.config import Experiment, Parity, load_experiment
from harness.data import dataset_from_file, describe
from harness.errors import ConfigError
from harness.model import Dataset
from harness.plugins import Registry, load_registry


@click.command("run")
@click.argument("experiment", default="quick")
@click.option(
    "-a",
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="GLOB",
    help="Only these algorithms, and the references they answer to.",
)
@click.option(
    "-d",
    "--dataset",
    "datasets",
    multiple=True,
    metavar="GLOB",
    help="Only these datasets: a glob, suite:NAME, or NAME:rows=1000.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Your own file: CSV, TSV, Parquet, ARFF, svmlight, also .gz.",
)
@click.option("--target", metavar="COLUMN", help="The column of --data to predict.")
@click.option(
    "--task",
    type=click.Choice(["binary", "multiclass", "regression"]),
    help="What --data asks for, where the guess is wrong.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the experiment, such as splits.folds=5.",
)
@click.option("--seed", type=int, help="Seed of splits and algorithms.")
@click.option("--threads", type=int, help="Threads of each algorithm.")
@click.option("--jobs", type=int, help="Trials side by side (default: as the cores allow).")
@click.option("--timeout", metavar="60s", help="Most time a trial may take.")
@click.option("--memory", metavar="4GiB", help="Most memory a trial may take.")
@click.option("--executor", default="local", show_default=True, help="Where trials run.")
@click.option("--scheduler", metavar="URL", help="Address of the executor's scheduler.")
@plugin_option
@results_option
@click.option("--fresh", is_flag=True, help="Run again what is already known.")
@click.option("--retry-failed", is_flag=True, help="Run again what failed.")
@click.option("--no-wait", is_flag=True, help="Do not wait for another run; exit 5 instead.")
@click.option("--dry-run", is_flag=True, help="Print the plan and stop.")
@click.option("--no-report", is_flag=True, help="Write no report.")
@undecided_option
@json_option
def command(**given: Any) -> int:
    """Run EXPERIMENT (a shipped name or a TOML file; default: quick)."""
    from harness import runs

    registry = load_registry(given["plugins"])
    extra = _own_file(given["data"], given["target"], given["task"])
    experiment = _experiment(given, registry, extra)
    request = runs.Request(
        experiment=experiment,
        extra=extra,
        plugin_files=tuple(str(p.resolve()) for p in given["plugins"]),
        results=given["results"],
        executor=given["executor"],
        executor_options={"scheduler": given["scheduler"]} if given["scheduler"] else {},
        fresh=given["fresh"],
        retry_failed=given["retry_failed"],
        wait=not given["no_wait"],
    )
    if given["dry_run"]:
        return _dry_run(request, registry, as_json=given["as_json"])
    return _run(request, registry, given)


def _own_file(data: Path | None, target: str | None, task: str | None) -> tuple[Dataset, ...]:
    if data is None:
        if target is not None or task is not None:
            raise ConfigError("--target and --task belong to --data FILE, which is missing")
        return ()
    if target is None:
        raise ConfigError(f"--data {data} needs --target COLUMN: which column is to be predicted?")
    dataset = dataset_from_file(data, target, task=task)
    for line in describe(dataset):
        say(line)
    return (dataset,)


def _experiment(
    given: dict[str, Any], registry: Registry, extra: tuple[Dataset, ...]
) -> Experiment:
    """Return the experiment with the command line's changes."""
    changes: dict[str, Any] = {}
    for option, key in (
        ("threads", "run.threads"),
        ("jobs", "run.jobs"),
        ("timeout", "run.timeout"),
        ("memory", "run.memory"),
    ):
        if given[option] is not None:
            changes[key] = given[option]
    if given["seed"] is not None:
        changes |= {"run.seeds": [given["seed"]], "splits.seed": given["seed"]}
    if given["algorithms"]:
        changes["algorithms"] = _with_references(given["algorithms"], registry)
    datasets = [*(d.name for d in extra), *given["datasets"]]
    if datasets:
        changes |= {"datasets": datasets, "duels.datasets": datasets}
    found = load_experiment(given["experiment"], overrides=given["overrides"], changes=changes)
    return found.model_copy(update={"parity": _narrowed(found.parity, changes)})


def _narrowed(parity: Parity, changes: dict[str, Any]) -> Parity:
    """Return whose trees are compared in a run of fewer algorithms or other datasets."""
    narrower: dict[str, Any] = {}
    if parity.datasets and "datasets" in changes:
        narrower["datasets"] = ["*"]
    if parity.pairs and "algorithms" in changes:
        chosen = set(changes["algorithms"])
        narrower["pairs"] = [pair for pair in parity.pairs if chosen.issuperset(pair)]
    return parity.model_copy(update=narrower)


def _with_references(patterns: tuple[str, ...], registry: Registry) -> list[str]:
    """Return the chosen algorithms and the references they answer to."""
    chosen = registry.matching("algorithm", patterns)
    answers = (registry.algorithm(name).reference for name in chosen)
    known = registry.names("algorithm")
    return list(dict.fromkeys([*chosen, *(a for a in answers if a in known)]))


def _dry_run(request: Any, registry: Registry, *, as_json: bool) -> int:
    from harness import runs

    forecast = runs.forecast(request, registry)
    if as_json:
        print_json(forecast.to_json())
    else:
        for line in forecast.lines():
            click.echo(line)
    return 0


def _run(request: Any, registry: Registry, given: dict[str, Any]) -> int:
    from harness import reporting, runs
    from harness.cli.drawn import new_progress

    progress = new_progress()
    try:
        result = runs.run_experiment(request, registry, progress)
    finally:
        progress.close()
    path = gates = None
    if not given["no_report"]:
        path = reporting.write_run_report(request.results, result.run_id, registry)
    if request.experiment.gate:
        gates = reporting.gates(request.results, result.run_id, registry)
    say(f"run {result.run_id}: {result.tally.sentence()}")
    if gates is not None:
        say(gates.sentence())
    if given["as_json"]:
        ends = result.tally.ends
        told = reporting.verdicts(request.results, result.run_id, registry)
        print_json(
            {
                "run": result.run_id,
                "outcomes": ends.get("trial", {}),
                "duels": ends.get("duel", {}),
                "comparisons": ends.get("comparison", {}),
                "parity": told["parity"],
                "reused": result.tally.reused,
                "report": str(path) if path else None,
                "gates": gates.to_json() if gates else None,
            }
        )
    elif path is not None:
        click.echo(path)
    code = 0 if gates is None else gates.exit_code(given["undecided"])
    return first_code(code, result.tally.exit_code)
