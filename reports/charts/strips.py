"""Strip plots: dots in rows of algorithms, one for each split, one panel for each quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.charts.axes import Axis, brief_seconds, linear, logarithmic, rows
from reports.charts.legends import ORIGINS, ROW
from reports.charts.plot import Dots, Lines, Mark, Panel, Plot
from reports.text.means import mean

WIDE = 12  # largest over least value from which a linear axis would show only the largest


def strips(values: Sequence[Mapping[str, Any]], panels: Sequence[tuple[str, str, str]]) -> Plot:
    """Return dots in rows of names, with a tick at the mean of each row.

    Parameters
    ----------
    values
        ``name``, ``kind`` (of ``ORIGINS``) and the quantities, None where there is none.
    panels
        (key of the quantity, title of its axis, ``loss`` or ``seconds``).
    """
    names = list(dict.fromkeys(value["name"] for value in values))
    drawn = [_strip(values, names, panel, labeled=not index) for index, panel in enumerate(panels)]
    return Plot(drawn, across=len(drawn))


def _strip(
    values: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    panel: tuple[str, str, str],
    *,
    labeled: bool,
) -> Panel:
    key, title, unit = panel
    by_name: dict[str, list[tuple[str, float]]] = {name: [] for name in names}
    for value in values:
        if value[key] is not None:
            by_name[value["name"]].append((value["kind"], value[key]))
    marks: list[Mark] = [
        Dots(
            [(x, y) for y, name in enumerate(names) for k, x in by_name[name] if k == kind],
            color,
            shape,
            radius=3.8,
            opacity=0.65,
        )
        for kind, (_, shape, color) in ORIGINS.items()
    ]
    middles = [
        (y, mean(x for _, x in by_name[name])) for y, name in enumerate(names) if by_name[name]
    ]
    ticks = [[(x, y - 0.32), (x, y + 0.32)] for y, x in middles]
    every = [x for several in by_name.values() for _, x in several]
    x = _axis(every, title, unit)
    return Panel(
        x, rows(names, labeled=labeled), [*marks, Lines(ticks, "ink")], height=ROW * len(names)
    )


def _axis(values: Sequence[float], title: str, unit: str) -> Axis:
    if unit == "seconds":
        return logarithmic(values, title, label_of=brief_seconds)
    if values and min(values) > 0 and max(values) / min(values) > WIDE:
        return logarithmic(values, title)
    return linear(values, title, most=5)
