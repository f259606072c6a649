"""Charts of searches: best validation loss against configurations and against time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from harness.analysis.trajectories import Band, Trajectory
from reports.blocks.blocks import Figure, Key
from reports.blocks.tables import Cell, Column, Row, Table, numeric
from reports.charts.axes import Axis, brief_seconds, linear, logarithmic, number
from reports.charts.plot import Boxes, Lines, Mark, Panel, Plot
from reports.text.format import count, few, loss, plural, seconds, short

MAX_PANELS = 12  # panels of a figure
KEYS = (
    Key("━", "blue", "median over the splits"),
    Key("▒", "band", "lowest to highest split"),
    Key("─", "muted", "medians of the others"),
)


def tuning_figure(
    dataset: str,
    trajectories: Sequence[Trajectory],
    bands_of: Callable[[Trajectory], Sequence[Band]],
    axis: str,
    again: str = "",
) -> Figure | None:
    """Return one panel for each algorithm on a dataset; ``axis`` is configurations or time.

    None if no trajectory has such bands.
    """
    bands = {one.name: list(bands_of(one)) for one in trajectories}
    bands = {name: several for name, several in bands.items() if several}
    if not bands:
        return None
    every = [band for several in bands.values() for band in several]
    y = linear([v for band in every for v in (band.low, band.high)], "validation loss")
    places = [band.at for band in every]
    if axis == "time":
        x = logarithmic(places, "seconds of the search", label_of=brief_seconds)
    else:
        x = linear([1.0, *places], "configurations", label_of=number)
    panels = [_panel(name, bands, x, y) for name in list(bands)[:MAX_PANELS]]
    cut = (
        f" The chart shows {MAX_PANELS} of {len(bands)} searches."
        if len(bands) > MAX_PANELS
        else ""
    )
    return Figure(
        spec=Plot(panels, across=3),
        title=f"Best validation loss against {axis} on {short(dataset, 40)}",
        finding=_finding(dataset, bands, axis) + cut,
        table=_table(dataset, bands, axis),
        keys=KEYS,
        again=again,
    )


def _panel(name: str, bands: dict[str, list[Band]], x: Axis, y: Axis) -> Panel:
    mine = bands[name]
    others = [_line(several) for other, several in bands.items() if other != name]
    boxes = [
        (band.at, band.low, following.at, band.high) for band, following in itertools.pairwise(mine)
    ]
    marks: list[Mark] = [
        Boxes(boxes),
        Lines(others[: MAX_PANELS - 1], "muted", 1),
        Lines([_line(mine)], "blue", 2.2, "", short(name, 40)),
    ]
    return Panel(x, y, marks, short(name, 40), width=210, height=150)


def _line(bands: Sequence[Band]) -> list[tuple[float, float]]:
    """Return the corners of the steps of the median."""
    corners = [(bands[0].at, bands[0].middle)]
    for before, band in itertools.pairwise(bands):
        corners += [(band.at, before.middle), (band.at, band.middle)]
    return corners


def _finding(dataset: str, bands: dict[str, list[Band]], axis: str) -> str:
    least = min(several[-1].middle for several in bands.values())
    best = [name for name, several in bands.items() if several[-1].middle == least]
    several = bands[best[0]]
    first = next(band for band in several if band.middle == several[-1].middle)
    reached = (
        f"after {seconds(first.at)}" if axis == "time" else f"with configuration {count(first.at)}"
    )
    return (
        f"Lowest validation loss on {short(dataset, 40)}: {few(best, 2)} at {loss(least)}, "
        f"reached {reached} of {_end(several[-1].at, axis)}."
    )


def _end(at: float, axis: str) -> str:
    return seconds(at) if axis == "time" else plural(round(at), "configuration")


def _table(dataset: str, bands: dict[str, list[Band]], axis: str) -> Table:
    show = seconds if axis == "time" else count
    columns = [Column("Algorithm")]
    columns.append(Column("Time" if axis == "time" else "Configurations", numeric=True))
    columns += numeric("Median", "Lowest", "Highest")
    rows: list[Row] = [
        [
            Cell.named(name),
            Cell.of(band.at, show),
            *(Cell.of(value, loss) for value in (band.middle, band.low, band.high)),
        ]
        for name, several in bands.items()
        for band in several
    ]
    caption = f"Best validation loss over the splits by {axis}"
    return Table(columns, rows, caption, f"tuning-{axis}-{dataset}")
