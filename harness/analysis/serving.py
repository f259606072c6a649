"""Serving times of a run: estimates with intervals over launches, from the stored records.

A launch is one process; its value of a batch size is the median over its rounds. Estimates are
geometric means over launches, with the t interval of their logarithms. A ratio is that of the same
launch, so that drift between launches cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from harness.analysis.run_view import Interval
from harness.analysis.stats import geometric_mean

KIND = "serving"  # of the stored events


@dataclass(frozen=True)
class ServingTimes:
    """Serving times of one model, in seconds.

    Attributes
    ----------
    algorithm
        Name of the algorithm.
    dataset
        Name of the dataset.
    threads
        Number of threads.
    params
        Parameters of the algorithm, JSON.
    failure
        Reason why it was not measured; "" if it was.
    model_bytes
        Size of the pickled model.
    calls
        Number of calls with a single row, over all launches.
    imported
        Import of the library in a new process.
    load_cold
        First load of the model in a process.
    load_warm
        Second load of the model in the same process.
    first_call
        First prediction of a single row in a process.
    quantiles
        Quantile of the latency of a single row → seconds; without quantiles that need more calls.
    batches
        Number of rows of a call → seconds of a call.
    first_batches
        Number of rows of a call → seconds of the first such call in a process.
    launches
        Number of rows of a call → median seconds of a call in each launch.
    """

    algorithm: str
    dataset: str
    threads: int
    params: Mapping[str, Any] = field(default_factory=dict)
    failure: str = ""
    model_bytes: int = 0
    calls: int = 0
    imported: Interval | None = None
    load_cold: Interval | None = None
    load_warm: Interval | None = None
    first_call: Interval | None = None
    quantiles: Mapping[float, Interval] = field(default_factory=dict)
    batches: Mapping[int, Interval] = field(default_factory=dict)
    first_batches: Mapping[int, Interval] = field(default_factory=dict)
    launches: Mapping[int, Sequence[float]] = field(default_factory=dict)


def serving_times(events: Iterable[Mapping[str, Any]]) -> tuple[ServingTimes, ...]:
    """Return the serving times in the events of a run."""
    return tuple(times_of(event["data"]) for event in events if event["kind"] == KIND)


def times_of(record: Mapping[str, Any]) -> ServingTimes:
    """Return the serving times of one stored record."""
    names = ("algorithm", "dataset", "threads", "params", "failure")
    what: dict[str, Any] = {name: record[name] for name in names}
    launches = record["launches"]
    if not launches:
        return ServingTimes(**what, model_bytes=record.get("model_bytes", 0))
    sizes = [str(size) for size in launches[0]["batches"]]
    medians = {int(s): [median(one["batches"][s]) for one in launches] for s in sizes}
    firsts = {int(s): [one["first_batches"][s] for one in launches] for s in sizes}
    quantiles = {
        float(q): [one["rows"]["quantiles"][q] for one in launches]
        for q in launches[0]["rows"]["quantiles"]
    }
    known = {q: values for q, values in quantiles.items() if None not in values}
    return ServingTimes(
        **what,
        model_bytes=record["model_bytes"],
        calls=sum(one["rows"]["calls"] for one in launches),
        imported=mean_seconds(one["import"] for one in launches),
        load_cold=mean_seconds(one["load"][0] for one in launches),
        load_warm=mean_seconds(one["load"][-1] for one in launches),
        first_call=mean_seconds(one["first_call"] for one in launches),
        quantiles={q: mean_seconds(values) for q, values in known.items()},
        batches={size: mean_seconds(values) for size, values in medians.items()},
        first_batches={size: mean_seconds(values) for size, values in firsts.items()},
        launches=medians,
    )


def mean_seconds(values: Iterable[float]) -> Interval:
    """Return the geometric mean of seconds with its 95 % interval over launches."""
    return geometric_mean([max(value, 1e-9) for value in values])


def ratio_of_times(slow: ServingTimes, fast: ServingTimes, rows: int) -> Interval | None:
    """Return the time of one model over that of another for a batch size; None if one is unknown.

    Each launch gives one ratio, because its calls were interleaved.
    """
    a, b = slow.launches.get(rows, ()), fast.launches.get(rows, ())
    if not a or len(a) != len(b):
        return None
    return geometric_mean([x / y for x, y in zip(a, b, strict=True)])


def fastest(times: Sequence[ServingTimes], rows: int) -> ServingTimes | None:
    """Return the model with the least time for a batch size, or None."""
    measured = [one for one in times if rows in one.batches]
    return min(measured, key=lambda one: one.batches[rows].value, default=None)


def slowdown(one: ServingTimes, others: Sequence[ServingTimes], rows: int) -> Interval | None:
    """Return the time of a model over that of the fastest with as many threads."""
    best = fastest([other for other in others if other.threads == one.threads], rows)
    if best is None or rows not in one.batches:
        return None
    return Interval(1.0, 1.0, 1.0) if best is one else ratio_of_times(one, best, rows)


def speedup(one: ServingTimes, others: Sequence[ServingTimes], rows: int) -> Interval | None:
    """Return the time of the same model with the fewest threads over that of this one."""
    same = [o for o in others if (o.algorithm, o.params) == (one.algorithm, one.params)]
    base = min(same, key=lambda other: other.threads)
    return None if base is one else ratio_of_times(base, one, rows)


def is_bounded(interval: Interval) -> bool:
    """Return whether an interval has finite bounds; one launch gives none."""
    return interval.low > 0 and math.isfinite(interval.high)
