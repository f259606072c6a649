"""``harness gate``: check gates; the exit code is the result."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import (
    json_option,
    names_option,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
    undecided_option,
)
from harness.config.experiment import load_experiment, load_gates
from harness.core.errors import ConfigError, StoreError
from harness.core.units import parse_duration, parse_share
from harness.plugins.registry import load_registry

if TYPE_CHECKING:
    from harness.reporting import Gates

LIMITS = ("slower", "larger", "worse")
OF_AGAINST = {
    "algorithms": "-a",
    "datasets": "-d",
    "everything": "--all",
    **{name: f"--{name}" for name in (*LIMITS, "fresh", "budget", "instructions")},
}


@click.command("gate")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--run", metavar="ID", help='An id, the start of one, or "latest" (the default).')
@click.option(
    "--against",
    metavar="REV",
    help="Compare the working tree with a git revision instead of reading a stored run.",
)
@names_option("-a", "algorithm", "With --against: only these algorithms.")
@names_option("-d", "dataset", "With --against: on these datasets.", metavar="NAME")
@click.option(
    "--all", "everything", is_flag=True, help="With --against: measure unchanged algorithms, too."
)
@click.option("--slower", metavar="5%", help="With --against: allowed increase of time.")
@click.option("--larger", metavar="10%", help="With --against: allowed increase of peak memory.")
@click.option(
    "--worse",
    metavar="1%",
    help="With --against: allowed increase of the loss, as a share of the gap.",
)
@click.option(
    "--fresh", is_flag=True, help="With --against: measure again even if a result is stored."
)
@click.option(
    "--budget",
    metavar="35m",
    help="With --against: time limit in total; comparisons not started by then are undecided.",
)
@click.option(
    "--instructions",
    is_flag=True,
    help="With --against: also count the instructions of a fit, by perf or valgrind (advisory).",
)
@undecided_option
@click.option(
    "--markdown",
    is_flag=False,
    flag_value="-",
    metavar="[FILE]",
    help="Write Markdown for a pull request, to FILE or instead of the table.",
)
@plugin_option
@results_option
@json_option
def command(**given: Any) -> int:
    """Check a stored run against gates, or the working tree against a revision.

    FILE holds [[gate]] tables, alone or in an experiment; without it those of the run's experiment
    are used. With --against, FILE is an experiment: the datasets, the capacity and the duels of the
    comparison. Exit codes: 0 all hold, 1 one fails, 6 one is undecided.
    """
    if given["markdown"] not in (None, "-") and given["markdown"].endswith(".toml"):
        raise click.UsageError(f"--markdown would overwrite {given['markdown']}: name FILE first")
    if given["against"] is not None:
        return _against(given)
    for name, option in OF_AGAINST.items():
        if given[name]:
            raise click.UsageError(f"{option} needs --against")
    return _stored(given)


def _stored(given: dict[str, Any]) -> int:
    from harness import reporting

    chosen = []
    if given["file"] is not None and not (chosen := load_gates(given["file"])):
        raise ConfigError(f"{given['file']} has no [[gate]] tables")
    registry = load_registry(given["plugins"])
    gates = reporting.gates(given["results"], given["run"] or "latest", registry, chosen)
    _print_gates(given, gates, gates.markdown(), gates.to_json())
    say(gates.sentence())
    return gates.exit_code(given["undecided"])


def _against(given: dict[str, Any]) -> int:
    from harness.gate.messages import answer_json, answer_lines, answer_markdown, gates_of
    from harness.gate.run import GateRequest, compare_with_revision
    from harness.progress_display import new_progress
    from harness.runs.request import whole_paths

    if given["run"] is not None:
        raise click.UsageError("--run reads a stored run; --against makes one")
    request = GateRequest(
        given["against"],
        experiment=load_experiment(str(given["file"])) if given["file"] else None,
        algorithms=given["algorithms"],
        datasets=given["datasets"],
        everything=given["everything"],
        limits=_limits(given),
        plugin_files=whole_paths(given["plugins"]),
        results=given["results"],
        fresh=given["fresh"],
        budget=parse_duration(given["budget"]) if given["budget"] else math.inf,
        instructions=given["instructions"],
    )
    progress = new_progress()
    try:
        answer = compare_with_revision(request, load_registry(given["plugins"]), progress)
    finally:
        progress.close()
    gates = gates_of(answer)
    _print_gates(given, gates, answer_markdown(answer), answer_json(answer))
    for line in answer_lines(answer):
        say(line)
    return gates.exit_code(given["undecided"])


def _limits(given: dict[str, Any]) -> Any:
    from harness.gate.decision import Limits

    limits = Limits(**{name: parse_share(given[name]) for name in LIMITS if given[name]})
    if min(getattr(limits, name) for name in LIMITS) <= 0:
        raise ConfigError("--slower, --larger and --worse must be above 0, such as 5%")
    return limits


def _print_gates(
    given: dict[str, Any], gates: Gates, markdown: str, document: dict[str, Any]
) -> None:
    """Print the result in the requested form."""
    if given["markdown"] not in (None, "-"):
        try:
            Path(given["markdown"]).write_text(markdown, encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{given['markdown']} cannot be written: {error.strerror}") from error
    if given["as_json"]:
        print_json(document)
    elif given["markdown"] == "-":
        click.echo(markdown, nl=False)
    elif gates.decisions:
        print_table(*gates.table())
