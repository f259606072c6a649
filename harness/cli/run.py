"""``harness run``: run an experiment and write its report."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import (
    first_code,
    json_option,
    names_option,
    path_option,
    plugin_option,
    print_json,
    results_option,
    say,
    sole_option,
    undecided_option,
)
from harness.core.model import Task

if TYPE_CHECKING:
    from harness.results import RunResult
    from harness.runs.request import RunOptions
    from harness.runs.rerun import RunAgain

BESIDE_AGAIN = frozenset(  # options that may be combined with --again
    {"algorithms", "datasets", "trial", "executor", "scheduler", "plugins", "results", "fresh"}
    | {"retry_failed", "no_wait", "dry_run", "no_report", "open_it", "undecided", "as_json"}
)


@click.command("run")
@click.argument("experiment", required=False)
@names_option(
    "-a",
    "algorithm",
    "Only these algorithms, and their references. The import path of a scikit-learn estimator "
    "is a name, too.",
)
@names_option("-d", "dataset", "Only these datasets: a glob, suite:NAME, or NAME:rows=1000.")
@path_option(
    "--data",
    "Your own file: CSV, TSV, Parquet, JSON lines, XLSX, ARFF, svmlight; several are concatenated.",
    multiple=True,
)
@click.option("--target", metavar="COLUMN", help="The column of --data to predict.")
@click.option(
    "--task",
    type=click.Choice([task.value for task in Task]),
    help="Task of --data, if the guess is wrong.",
)
@click.option("--metric", help="The metric to judge by, such as auc or mae.")
@click.option(
    "--group",
    metavar="COLUMN",
    help="Column of groups; the rows of a group are never split between training and test.",
)
@click.option(
    "--time", metavar="COLUMN", help="Column of times; train on earlier rows, test on later ones."
)
@click.option("--weight", metavar="COLUMN", help="Column with the weights of the rows.")
@click.option("--drop", multiple=True, metavar="COLUMNS", help="Columns to leave out: a,b,c.")
@path_option("--test", "A file of test rows; --data is then for training alone.")
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Give rows of rare classes more weight in training.",
)
@click.option(
    "--early-stopping",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N rounds without improvement on a tenth of the training rows.",
)
@click.option(
    "--drop-flagged",
    is_flag=True,
    help="Leave out the identifier columns that the checks find in --data.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the experiment, such as splits.folds=5.",
)
@click.option(
    "--again",
    metavar="RUN",
    help="Repeat a stored run (or a part of it, with -a and -d) with its stored options.",
)
@click.option(
    "--trial", default="", metavar="ID", help="With --again: only this trial, on all of its splits."
)
@click.option("--seed", type=int, help="Seed of splits and algorithms.")
@click.option("--threads", type=int, help="Threads of each algorithm.")
@click.option(
    "--jobs",
    type=int,
    help="Number of trials that run at the same time (default: as many as the cores allow).",
)
@click.option("--timeout", metavar="60s", help="Time limit of a trial.")
@click.option("--memory", metavar="4GiB", help="Memory limit of a trial.")
@click.option(
    "--budget",
    metavar="30m",
    help=(
        "Time limit of the run (default with --data: 10m). First the number of splits is "
        "reduced, then that of rows."
    ),
)
@click.option(
    "--track",
    type=click.Choice(["equal", "default", "tuned", "ensembled"]),
    help=(
        "Parameters: equal size, each library's own defaults, tuned by search, or an ensemble of "
        "the configurations of a search."
    ),
)
@click.option("--quick", is_flag=True, help="A short comparison with equal size: 20 trees each.")
@click.option(
    "--executor", default="local", show_default=True, help="Executor that runs the trials."
)
@click.option("--scheduler", metavar="URL", help="Address of the executor's scheduler.")
@plugin_option
@results_option
@click.option("--fresh", is_flag=True, help="Run again even if a result is stored.")
@click.option("--retry-failed", is_flag=True, help="Run failed trials again.")
@click.option("--no-wait", is_flag=True, help="Do not wait for another run; exit 5 instead.")
@click.option("--dry-run", is_flag=True, help="Print the plan and stop.")
@click.option("--no-report", is_flag=True, help="Write no report.")
@click.option("--open", "open_it", is_flag=True, help="Open the report in a browser.")
@undecided_option
@json_option
def command(**given: Any) -> int:
    """Run EXPERIMENT (a shipped name or a TOML file).

    The default is quick; with --data it is own_data: the libraries at their own defaults, within
    ten minutes.

    In a series, such as speed or a folder of TOML files, each experiment is run in turn. At the
    end each algorithm is compared with its fastest rival that is as accurate, and verdicts
    are counted over the datasets.
    """
    series = [_rerun(given)] if given["again"] else _new_runs(given)
    if given["dry_run"]:
        return max(_dry_run(options, as_json=given["as_json"]) for options in series)
    results = [_run(options, given) for options in series]
    if not given["as_json"]:
        from harness.cli.rivals import print_rivals
        from harness.cli.run_output import print_verdicts

        views = [result.view for result, _ in results]
        print_rivals(views)
        print_verdicts(views)
    return first_code(*(code for _, code in results))


def _new_runs(given: dict[str, Any]) -> list[RunOptions | RunAgain]:
    from harness.config.files import experiments_of
    from harness.runs.request import RunOptions

    excluded = ("dry_run", "no_report", "open_it", "undecided", "as_json", "no_wait", "experiment")
    if given["trial"]:
        raise click.UsageError("--trial needs --again RUN, the run with that trial")
    options = {k: value for k, value in given.items() if k not in (*excluded, "again", "trial")}
    options["data"] = list(given["data"]) or None
    return [
        RunOptions(experiment=name, **options, wait=not given["no_wait"])
        for name in (experiments_of(given["experiment"]) if given["experiment"] else [None])
    ]


def _rerun(given: dict[str, Any]) -> RunAgain:
    from harness.runs.rerun import RunAgain

    sole_option("again", BESIDE_AGAIN)
    names = ("algorithms", "datasets", "trial", "executor", "scheduler", "results", "fresh")
    options = {name: given[name] for name in names}
    return RunAgain(
        given["again"],
        **options,
        retry_failed=given["retry_failed"],
        plugin_files=given["plugins"],
        wait=not given["no_wait"],
    )


def _dry_run(options: RunOptions | RunAgain, *, as_json: bool) -> int:
    from harness.data import describe
    from harness.plugins.registry import load_registry
    from harness.runs import run

    registry = load_registry(options.plugins)
    request = options.request(registry)
    forecast = run.forecast(request, registry)
    if as_json:
        print_json(forecast.to_json())
    else:
        detected = (line for dataset in request.extra for line in describe(dataset))
        for line in (*detected, *forecast.lines()):
            click.echo(line)
    return 0


def _run(options: RunOptions | RunAgain, given: dict[str, Any]) -> tuple[RunResult, int]:
    from harness import api, reporting
    from harness.progress_display import new_progress

    result = api.carry_out(options, new_progress())
    path = None if given["no_report"] else result.report()
    gates = result.gates
    say(f"run {result.run}: {result.tally.sentence()}")
    if gates is not None:
        say(gates.sentence())
    if given["as_json"]:
        ends = result.tally.ends
        verdicts = reporting.verdicts(result.path, result.run, result.registry)
        print_json(
            {
                "run": result.run,
                "outcomes": ends.get("trial", {}),
                "duels": ends.get("duel", {}),
                "comparisons": ends.get("comparison", {}),
                "parity": verdicts["parity"],
                "reused": result.tally.reused,
                "answers": verdicts["answers"],
                "report": str(path) if path else None,
                "gates": gates.to_json() if gates else None,
            }
        )
    else:
        from harness.cli.run_output import print_answer

        print_answer(result.view)
        if path is not None:
            click.echo(path)
    if path is not None and given["open_it"]:
        webbrowser.open(path.resolve().as_uri())
    code = 0 if gates is None else gates.exit_code(given["undecided"])
    return result, first_code(code, result.tally.exit_code)
