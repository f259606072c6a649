"""``harness serving``: latency and throughput of predictions, load time and size of models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from harness.cli.common import (
    capacity_option,
    json_option,
    names_option,
    path_option,
    plugin_option,
    print_json,
    print_table,
    results_option,
    say,
)
from harness.core.errors import ConfigError
from harness.core.units import show_duration, show_size
from harness.plugins.registry import load_registry

if TYPE_CHECKING:
    from harness.analysis.run_view import Interval
    from harness.analysis.serving import ServingTimes


@click.command("serving")
@names_option(
    "-a", "algorithm", "Algorithms to measure; may be given several times.", required=True
)
@click.option("-d", "--dataset", metavar="NAME", help="A dataset, or NAME:rows=100000.")
@path_option("--data", "A file of your own instead of a dataset.")
@click.option("--target", metavar="COLUMN", help="The column of --data to predict.")
@click.option(
    "--batches",
    default="1,10,100,1000,10000,100000",
    show_default=True,
    help="Numbers of rows of a call.",
)
@click.option(
    "--threads", default="1", show_default=True, help="Numbers of threads, such as 1,2,4."
)
@click.option(
    "--launches", type=int, default=5, show_default=True, help="New processes of each model."
)
@click.option(
    "--rounds", type=int, default=4, show_default=True, help="Interleaved rounds in each process."
)
@click.option(
    "--calls",
    type=int,
    default=500,
    show_default=True,
    help="Calls with a single row in each round, within a second.",
)
@capacity_option
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--timeout", default="10m", show_default=True, help="Time limit of a call.")
@plugin_option
@results_option
@json_option
def command(**given: Any) -> int:
    """Measure how fast trained models load and predict, as a service uses them.

    Each model is trained once and saved. Every launch starts a new process for each model, which
    imports the library, loads the model and predicts: first one row, then batches of all sizes.
    The processes are called in turn. Intervals are over launches. The quantile p99.9 needs 1000
    calls with a single row in each launch.
    """
    from harness import reporting
    from harness.measurement.serving import ServingSettings
    from harness.progress_display import new_progress
    from harness.runs.request import own_data, whole_paths
    from harness.runs.serving import ServingRequest, run_serving

    if (given["dataset"] is None) == (given["data"] is None):
        raise ConfigError("name either a dataset (-d NAME) or a file of your own (--data FILE)")
    registry = load_registry(given["plugins"])
    extra = own_data(given["data"], given["results"], given["target"], None)
    request = ServingRequest(
        algorithms=given["algorithms"],
        dataset=given["dataset"] or extra[0].name,
        extra=extra,
        threads=_numbers("threads", given["threads"]),
        settings=ServingSettings(
            _numbers("batches", given["batches"]),
            given["launches"],
            given["rounds"],
            given["calls"],
        ),
        **{name: given[name] for name in ("capacity", "seed", "timeout", "results")},
        plugin_files=whole_paths(given["plugins"]),
    )
    with closing(new_progress()) as progress:
        run_id = run_serving(request, registry, progress)
    times = reporting.view(given["results"], run_id, registry).serving
    if given["as_json"]:
        print_json({"run": run_id, "serving": times})
    else:
        _print(times)
        say(f"run {run_id}: `harness report` draws the curves")
    for one in times:
        if one.failure:
            say(f"harness: {one.algorithm} with {one.threads} threads failed: {one.failure}")
    return _exit_code(times)


def _numbers(name: str, text: str) -> tuple[int, ...]:
    """Return the whole numbers of a comma-separated list, sorted and without duplicates."""
    try:
        return tuple(sorted({int(part) for part in text.split(",") if part.strip()}))
    except ValueError:
        raise ConfigError(
            f"--{name} is a list of whole numbers, such as 1,10, not {text!r}"
        ) from None


def _exit_code(times: Sequence[ServingTimes]) -> int:
    """Return 3 if some models failed, 4 if all did."""
    failed = [one for one in times if one.failure]
    return 0 if not failed else 4 if len(failed) == len(times) else 3


def _print(times: Sequence[ServingTimes]) -> None:
    """Print the costs of starting, the latency of single rows, and the time of batches."""
    measured = [one for one in times if one.batches]
    if not measured:
        return
    names = ["algorithm", "threads"]
    print_table(
        [*names, "model size", "import", "load cold", "load warm", "first call"],
        (
            [*_name(one), show_size(one.model_bytes), *map(_seconds, _starts(one))]
            for one in measured
        ),
    )
    click.echo()
    quantiles = sorted({q for one in measured for q in one.quantiles})
    print_table(
        [*names, *(f"p{100 * q:g}" for q in quantiles), "calls"],
        (
            [*_name(one), *(_seconds(one.quantiles.get(q)) for q in quantiles), one.calls]
            for one in measured
        ),
    )
    click.echo()
    print_table([*names, "rows", "per call", "per row", "over the fastest"], _batch_rows(measured))


def _batch_rows(measured: Sequence[ServingTimes]) -> Iterable[Sequence[Any]]:
    from harness.analysis.serving import slowdown

    for size in measured[0].batches:
        for one in measured:
            if size in one.batches:
                interval = one.batches[size]
                ratio = slowdown(one, measured, size)
                yield [
                    *_name(one),
                    size,
                    _seconds(interval),
                    show_seconds(interval.value / size),
                    "-" if ratio is None else _ratio(ratio),
                ]


def _name(one: ServingTimes) -> list[Any]:
    return [one.algorithm, one.threads]


def _starts(one: ServingTimes) -> tuple[Interval | None, ...]:
    return one.imported, one.load_cold, one.load_warm, one.first_call


def _seconds(interval: Interval | None) -> str:
    """Return an estimate with its interval: ``12.3 µs [11.9, 12.8]``."""
    from harness.analysis.serving import is_bounded

    if interval is None:
        return "-"
    value = show_seconds(interval.value)
    if not is_bounded(interval):
        return value
    return f"{value} [{show_seconds(interval.low)}, {show_seconds(interval.high)}]"


def _ratio(interval: Interval) -> str:
    from harness.analysis.serving import is_bounded

    bounds = f" [{interval.low:.2f}, {interval.high:.2f}]" if is_bounded(interval) else ""
    return f"{interval.value:.2f}{bounds}"


def show_seconds(seconds: float) -> str:
    """Return a time as short text, in microseconds below a millisecond."""
    return show_duration(seconds) if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
