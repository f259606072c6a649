"""Where the time goes: import, compile, preparation, native form, fit, predict."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from harness import Section, hookimpl
from reports._blocks import Cell, Code, Column, Figure, Fragment, Paragraph, Row, Table
from reports._page import PHASES, Page, median
from reports._specs import PHASES as DRAWN
from reports._specs import keys, phases
from reports._text import seconds, short
from reports._verdict import PHASE_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

NOTE = (
    "Medians of wall time over datasets and splits, not interleaved. Import and compile are paid "
    "once a process, preparation and native form once a training set, predict once a test set."
)


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Offer the phases."""
    register(Section("phases", "Phases", 50, build))


def build(page: Page) -> Fragment | None:
    """Return one chart of all algorithms and phases, with its table."""
    medians = phase_medians(page)
    rows = [
        {"name": name, "kind": PHASE_NAMES[phase], "value": value}
        for name, found in medians.items()
        for phase, value in found.items()
        if PHASE_NAMES[phase] in DRAWN and value > 0
    ]
    if not rows:
        return None
    figure = Figure(
        spec=phases(rows),
        title="Median seconds of each phase for each algorithm",
        finding=_finding(medians),
        table=_table(medians),
        keys=keys(DRAWN, (str(row["kind"]) for row in rows)),
    )
    return Fragment([Paragraph(NOTE, role="note"), figure])


def phase_medians(page: Page) -> dict[str, dict[str, float]]:
    """Return name → phase → median seconds over the datasets, by the time of fitting."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, cell in zip(page.names.values(), page.view.cells, strict=True):
        for phase in PHASES:
            if math.isfinite(cell.seconds.get(phase, math.nan)):
                times[name][phase].append(cell.seconds[phase])
    found = {name: {p: median(v) for p, v in by.items()} for name, by in times.items()}
    return dict(sorted(found.items(), key=lambda item: (item[1].get("fit", math.inf), item[0])))


def _finding(medians: dict[str, dict[str, float]]) -> str:
    fits = {name: by["fit"] for name, by in medians.items() if "fit" in by}
    if not fits:
        return "No fit was timed."
    fastest, slowest = min(fits, key=fits.__getitem__), max(fits, key=fits.__getitem__)
    if fastest == slowest:
        return f"{short(fastest)} fits in {seconds(fits[fastest])}."
    return (
        f"The median fit takes from {seconds(fits[fastest])} ({short(fastest)}) to "
        f"{seconds(fits[slowest])} ({short(slowest)})."
    )


def _table(medians: dict[str, dict[str, float]]) -> Table:
    shown = [p for p in PHASES if any(p in by for by in medians.values())]
    columns = [
        Column("Algorithm"),
        *(Column(PHASE_NAMES[p].capitalize(), numeric=True, unit="s") for p in shown),
    ]
    rows: list[Row] = [
        [
            Cell([Code(short(name))], name),
            *(Cell.of(by.get(p, math.nan), seconds) for p in shown),
        ]
        for name, by in medians.items()
    ]
    return Table(columns, rows, "Median wall time of each phase, not interleaved", "phases")
