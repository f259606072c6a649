"""Charts of serving times: batches, latency of single rows, and threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from harness.analysis.run_view import Interval
from harness.analysis.serving import ServingTimes, speedup
from reports.blocks.blocks import Figure
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.charts.axes import Axis, brief_seconds, linear, logarithmic
from reports.charts.legends import SERIES, series_keys
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.text.format import bounds, count, plural, ratio, seconds, short

MAX_LINES = len(SERIES)  # lines of one panel
PANELS = 6  # numbers of threads with a panel


def batch_figure(times: Sequence[ServingTimes], again: str = "") -> Figure:
    """Return the time per row against the rows of a call, one panel for each thread count."""
    names = _names(times)
    threads = list(dict.fromkeys(one.threads for one in times))
    panels = [
        _panel(
            {
                one.algorithm: [
                    (size, _scaled(interval, 1 / size)) for size, interval in one.batches.items()
                ]
                for one in times
                if one.threads == number
            },
            names,
            ("rows of a call", "time per row"),
            plural(number, "thread") if len(threads) > 1 else "",
        )
        for number in threads[:PANELS]
    ]
    return Figure(
        spec=Plot(panels, across=2),
        title="Time per row against the number of rows of a call",
        finding=_batch_finding(times, names),
        table=_batch_table(times),
        keys=series_keys(short(name, 40) for name in names),
        again=again,
    )


def latency_figure(times: Sequence[ServingTimes], again: str = "") -> Figure | None:
    """Return the quantiles of the latency of single rows, with the fewest threads."""
    fewest = min(one.threads for one in times)
    drawn = [one for one in times if one.threads == fewest and one.quantiles]
    if not drawn:
        return None
    names = _names(drawn)
    quantiles = sorted({q for one in drawn for q in one.quantiles})
    places = {q: float(place) for place, q in enumerate(quantiles)}
    lines = {
        one.algorithm: [(places[q], interval) for q, interval in sorted(one.quantiles.items())]
        for one in drawn
    }
    x = Axis(-0.3, len(quantiles) - 0.7, list(places.values()), list(map(_name_of, quantiles)),
             "share of calls that are as fast")  # fmt: skip
    calls = sum(one.calls for one in drawn)
    slowest = max((one for one in drawn), key=lambda one: one.quantiles[quantiles[0]].value)
    quickest = min((one for one in drawn), key=lambda one: one.quantiles[quantiles[0]].value)
    finding = (
        f"Over {plural(calls, 'call')} with a single row: the median is "
        f"{seconds(quickest.quantiles[quantiles[0]].value)} for {short(quickest.algorithm, 40)} "
        f"and {seconds(slowest.quantiles[quantiles[0]].value)} for {short(slowest.algorithm, 40)}."
    )
    return Figure(
        spec=Plot([_panel(lines, names, ("", "latency of a single row"), "", x)], across=1),
        title="Quantiles of the latency of a single row",
        finding=finding,
        table=_latency_table(times),
        keys=series_keys(short(name, 40) for name in names),
        again=again,
    )


def thread_figure(times: Sequence[ServingTimes], again: str = "") -> Figure | None:
    """Return the speed-up of the largest batch by threads; None for one number of threads."""
    if len({one.threads for one in times}) < 2:
        return None
    size = max(size for one in times for size in one.batches)
    names = _names(times)
    ratios = [(one, speedup(one, times, size)) for one in times]
    lines: dict[str, list[tuple[float, Interval]]] = {name: [] for name in names}
    for one, interval in ratios:
        if interval is not None and one.algorithm in lines:
            lines[one.algorithm].append((one.threads, interval))
    numbers = sorted({one.threads for one in times})
    x = Axis(0.9 * numbers[0], 1.05 * numbers[-1], numbers, list(map(str, numbers)), "threads")
    values = [interval.value for line in lines.values() for _, interval in line]
    if not values:
        return None
    y = linear([1.0, *values], "speed-up", zero=True)
    marks = [Lines([[(numbers[0], 1.0), (numbers[-1], 1.0)]], "muted", 1, "3 3")]
    panel = Panel(x, y, [*marks, *_marks(lines, names)], width=300, height=200)
    return Figure(
        spec=Plot([panel], across=1),
        title=f"Speed-up of a call with {count(size)} rows by threads",
        finding=f"Time of a call with {plural(size, 'row')} with the fewest threads over that "
        "with more; above 1, more threads are faster.",
        table=_thread_table(ratios, size),
        keys=series_keys(short(name, 40) for name in names),
        again=again,
    )


def start_table(times: Sequence[ServingTimes], again: str = "") -> Table:
    """Return size, import, load and first call of each model."""
    titles = ("Import", "First load", "Second load", "First row")
    columns = [
        *_columns(),
        Column("Model size", numeric=True, unit="bytes"),
        *numeric(*titles, unit="s"),
    ]
    rows: list[Row] = [
        [
            *_heads(one),
            Cell.of(one.model_bytes, count),
            *(
                interval_cell(interval)
                for interval in (one.imported, one.load_cold, one.load_warm, one.first_call)
            ),
        ]
        for one in times
    ]
    caption = "Costs of a new process, and size of the model"
    return Table(columns, rows, caption, "serving-start", again=again)


def interval_cell(interval: Interval | None, show: Callable[[float | None], str] = seconds) -> Cell:
    """Return the cell of an estimate with its interval as a note."""
    if interval is None:
        return Cell.of(None, show)
    is_open = not (interval.low > 0 and math.isfinite(interval.high))
    if is_open:
        return Cell.of(interval.value, show)
    note = f"{show(interval.low)} to {show(interval.high)}" if show is seconds else bounds(
        interval.low, interval.high
    )  # fmt: skip
    return Cell.of(interval.value, show, note=note)


# ------------------------------------------------------------------ parts


def _names(times: Iterable[ServingTimes]) -> list[str]:
    return list(dict.fromkeys(one.algorithm for one in times))[:MAX_LINES]


def _name_of(quantile: float) -> str:
    return f"{100 * quantile:g} %"


def _scaled(interval: Interval, factor: float) -> tuple[float, float, float]:
    return interval.low * factor, interval.value * factor, interval.high * factor


def _ends(estimate: Interval | tuple[float, float, float]) -> tuple[float, float, float]:
    return (
        estimate if isinstance(estimate, tuple) else (estimate.low, estimate.value, estimate.high)
    )


def _panel(
    lines: Mapping[str, Sequence[tuple[float, Interval | tuple[float, float, float]]]],
    names: Sequence[str],
    titles: tuple[str, str],
    title: str,
    x: Axis | None = None,
) -> Panel:
    """Return a panel of seconds on a logarithmic axis."""
    points = [(place, *_ends(estimate)) for line in lines.values() for place, estimate in line]
    if x is None:
        x = logarithmic([place for place, *_ in points], titles[0], label_of=_brief_count)
    values = [value for _, *ends in points for value in ends if 0 < value < math.inf]
    y = logarithmic(values, titles[1], label_of=brief_seconds)
    return Panel(x, y, list(_marks(lines, names)), title, width=300, height=200)


def _marks(
    lines: Mapping[str, Sequence[tuple[float, Interval | tuple[float, float, float]]]],
    names: Sequence[str],
) -> Iterable[Mark]:
    """Yield a line with dots and bars of intervals for each name."""
    for name, (color, dash, shape) in zip(names, SERIES, strict=False):
        if line := lines.get(name):
            points = [(place, _ends(estimate)[1]) for place, estimate in line]
            bars = [
                [(place, low), (place, high)]
                for place, (low, _, high) in ((place, _ends(estimate)) for place, estimate in line)
                if low > 0 and math.isfinite(high)
            ]
            owner = short(name, 40)
            yield Lines([points], color, 2, dash, owner)
            yield Lines(bars, color, 1.2, "", owner)
            yield Dots(points, color, shape, 3.2, algorithm=owner)


def _brief_count(value: float) -> str:
    """Return the label of a tick of rows: 10k."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


def _columns() -> list[Column]:
    return [Column("Algorithm"), *numeric("Threads")]


def _heads(one: ServingTimes) -> list[Cell]:
    return [Cell.named(one.algorithm), Cell.of(one.threads, count)]


def _batch_table(times: Sequence[ServingTimes]) -> Table:
    columns = [*_columns(), *numeric("Rows of a call")]
    titles = ("Time of a call", "Time per row", "First call of the size")
    columns += numeric(*titles, unit="s")
    rows: list[Row] = [
        [
            *_heads(one),
            Cell.of(size, count),
            interval_cell(interval),
            Cell.of(interval.value / size, seconds),
            interval_cell(one.first_batches.get(size)),
        ]
        for one in times
        for size, interval in one.batches.items()
    ]
    return Table(columns, rows, "Time of a call by number of rows", "serving-batches")


def _latency_table(times: Sequence[ServingTimes]) -> Table:
    quantiles = sorted({q for one in times for q in one.quantiles})
    columns = [*_columns()]
    columns += [Column(f"p{100 * q:g}", numeric=True, unit="s") for q in quantiles]
    columns += numeric("Calls")
    rows: list[Row] = [
        [*_heads(one), *(interval_cell(one.quantiles.get(q)) for q in quantiles),
         Cell.of(one.calls, count)]
        for one in times
    ]  # fmt: skip
    return Table(columns, rows, "Quantiles of the latency of a single row", "serving-latency")


def _thread_table(ratios: Sequence[tuple[ServingTimes, Interval | None]], size: int) -> Table:
    columns = [*_columns(), Column("Time of a call", numeric=True, unit="s"), *numeric("Speed-up")]
    rows: list[Row] = [
        [*_heads(one), interval_cell(one.batches.get(size)), interval_cell(interval, ratio)]
        for one, interval in ratios
    ]
    return Table(columns, rows, f"Speed-up of a call with {size} rows", "serving-threads")


def _batch_finding(times: Sequence[ServingTimes], names: Sequence[str]) -> str:
    """Return a sentence on the fastest model with the fewest threads for one row and for many."""
    fewest = min(one.threads for one in times)
    same = [one for one in times if one.threads == fewest]
    parts = []
    for size in sorted({size for one in same for size in one.batches}):
        best = min((o for o in same if size in o.batches), key=lambda o: o.batches[size].value)
        parts.append((size, best))
    chosen = [parts[0], parts[-1]] if len(parts) > 1 else parts
    words = [
        f"{short(best.algorithm, 40)} at {plural(size, 'row')} "
        f"({seconds(best.batches[size].value / size)} per row)"
        for size, best in chosen
    ]
    several = len({one.algorithm for one in times}) > len(names)
    cut = f" The chart shows {MAX_LINES} algorithms." if several else ""
    threads = plural(fewest, "thread")
    return f"Fastest with {threads}: {' and '.join(words)}. Bars are 95 % intervals.{cut}"
