"""Section Datasets: one panel for each dataset with its facts and all results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

from harness import Section, hookimpl
from harness.analysis.run_view import Cell as Measured
from harness.analysis.seconds import counts
from harness.core.model import FAILURES, Outcome, Status
from reports.blocks.blocks import (
    Block,
    Details,
    Facts,
    Figure,
    Fragment,
    Items,
    Panel,
    Paragraph,
    Verbatim,
)
from reports.blocks.tables import Cell, Column, Row, Table, numeric, texts
from reports.charts.legends import ORIGINS, keys
from reports.charts.strips import strips
from reports.page.page import Page
from reports.text.commands import cell_again
from reports.text.format import TIMES, count, digits, listing, loss, seconds, short, size
from reports.text.inline import Words

OPEN = 8  # up to so many panels are open

Named = list[tuple[str, "Measured"]]


@hookimpl
def register_report_sections(register: Callable[[Section], None]) -> None:
    """Register the section."""
    register(Section("datasets", "Datasets", 30, build))


def build(page: Page) -> Fragment | None:
    """Return a panel for each dataset, in the order of their names."""
    if not page.by_dataset:
        return None
    folded = len(page.by_dataset) > OPEN
    panels = [
        Panel(
            short(dataset),
            _panel(page, dataset, cells),
            page.anchor("dataset", dataset),
            folded=folded,
            note=_shape(page, dataset, cells),
        )
        for dataset, cells in sorted(page.by_dataset.items())
    ]
    return Fragment(panels, badge=count(len(panels)))


def _panel(page: Page, dataset: str, cells: Named) -> list[Block]:
    blocks: list[Block] = []
    facts = page.view.datasets.get(dataset, {})
    if facts.get("summary"):
        blocks.append(Paragraph(short(facts["summary"], 400)))
    blocks.append(Facts(_facts(facts, cells)))
    if notes := _notes(cells):
        blocks.append(Items(notes))
    if any(o.status is Status.DONE for _, cell in cells for o in cell.outcomes):
        blocks.append(_figure(page, dataset, cells))
    else:
        blocks.append(Paragraph("No algorithm has a result on this dataset."))
    again = [(name, cell_again(page.view.run, cell.outcomes[0].trial.id)) for name, cell in cells]
    if commands := "\n".join(
        f"# {short(name)}\n{commands_block}" for name, commands_block in again if commands_block
    ):
        commands_block = Verbatim(commands, f"Commands that measure {short(dataset)} again")
        blocks.append(Details("Measure one algorithm again", [commands_block]))
    return blocks


def _shape(page: Page, dataset: str, cells: Named) -> str:
    facts = page.view.datasets.get(dataset, {})
    parts = [short(cells[0][1].task)]
    if facts.get("rows"):
        parts.append(f"{count(facts['rows'])} {TIMES} {count(facts.get('columns'))}")
    return " · ".join(parts)


def _facts(facts: Any, cells: Named) -> list[tuple[str, Words]]:
    terms: list[tuple[str, Words]] = [("Task", short(cells[0][1].task))]
    for key, title in (
        ("rows", "Rows"),
        ("columns", "Columns"),
        ("n_classes", "Classes"),
        ("categorical", "Categorical"),
    ):
        if facts.get(key):
            terms.append((title, count(facts[key])))
    flags = ("missing", "sparse", "weighted", "grouped")
    if has := [flag for flag in flags if facts.get(flag)]:
        terms.append(("Has", listing(has)))
    prepared = sorted({cell.preparation for _, cell in cells})
    terms.append(("Preparation", listing(short(p) for p in prepared)))
    if repeated := _duplicates(cells):
        terms.append(("Duplicates", repeated))
    terms += [
        (title, short(facts[key], 120))
        for key, title in (
            ("source", "Source"),
            ("license", "License"),
            ("licence", "License"),  # its name in older runs
            ("digest", "Digest"),
        )
        if facts.get(key)
    ]
    return terms


def _duplicates(cells: Named) -> Words:
    """Return the number of test rows that repeat a training row, over the splits, or ""."""
    counts_of = {
        outcome.trial.split: (outcome.facts["duplicates"], outcome.facts.get("test_rows", 0))
        for _, cell in cells
        for outcome in cell.outcomes
        if "duplicates" in outcome.facts
    }
    repeated, tested = (sum(pair[i] for pair in counts_of.values()) for i in (0, 1))
    if not tested:
        return ""
    return f"{count(repeated)} of {count(tested)} test rows repeat the features of a training row"


def _notes(cells: Named) -> list[Words]:
    """Return the notes of reading and splitting the data, each once."""
    notes: dict[str, None] = {}
    for _, cell in cells:
        for outcome in cell.outcomes:
            for note in outcome.facts.get("notes") or ():
                notes[str(note)] = None
    return [short(note, 240) for note in list(notes)[:12]]


# ------------------------------------------------------------------ the figure


def _figure(page: Page, dataset: str, cells: Named) -> Figure:
    metric = page.metric(cells[0][1])
    rows = [row for name, cell in cells for row in _dots(page, name, cell)]
    timed = {key for row in rows for key in ("fit", "predict") if row[key] is not None}
    direction = "" if page.lower_is_better(metric) else " (more is better)"
    panels = [("score", f"{short(metric)}{direction}", "loss")]
    panels += [("fit", "fit time", "seconds")] if "fit" in timed else []
    panels += [("predict", "predict time", "seconds")] if "predict" in timed else []
    return Figure(
        spec=strips(rows, panels),
        title=(
            f"{metric}, fit time and predict time of each algorithm on {dataset}, one dot for "
            "each split"
        ),
        finding=_finding(page, cells),
        table=_table(page, dataset, cells),
        points=_splits(rows, panels, dataset),
        keys=keys(ORIGINS, (row["kind"] for row in rows)),
        again=page.again(datasets=[dataset]),
    )


def _dots(page: Page, name: str, cell: Measured) -> list[dict[str, Any]]:
    """Return one row for each finished split: score, seconds of fit and of predict."""
    scores = cell.scores.get(page.metric(cell), ())
    kind = "reference library" if page.is_reference(cell.algorithm) else "from scratch"
    return [
        {
            "name": name,
            "kind": kind,
            "split": _split(outcome),
            "score": score if math.isfinite(score) else None,
            **{
                phase: _seconds(outcome, phase) if counts(outcome, page.view.machines) else None
                for phase in ("fit", "predict")
            },
        }
        for outcome, score in zip(cell.outcomes, scores, strict=False)
        if outcome.status is Status.DONE
    ]


def _split(outcome: Outcome) -> str:
    """Return the split and the seed of an outcome as text."""
    trial = outcome.trial
    return f"{trial.split.label}, seed {trial.seed}"


def _splits(rows: list[dict[str, Any]], panels: list[tuple[str, str, str]], dataset: str) -> Table:
    """Return one row for each split, which is a dot in each panel."""
    columns = texts("Algorithm", "Split")
    columns += [Column(title, numeric=True, unit="s" * (unit == "seconds"))
                for _, title, unit in panels]  # fmt: skip
    split_rows: list[Row] = [
        [row["name"], row["split"], *(Cell.of(row[key], digits) for key, _, _ in panels)]
        for row in rows
    ]
    return Table(columns, split_rows, "Each split in the chart", f"splits-{dataset}")


def _seconds(outcome: Outcome, phase: str) -> float | None:
    """Return the median wall seconds of a phase in one trial."""
    walls = [s.wall for s in outcome.samples if s.phase == phase and s.wall > 0]
    return statistics.median(walls) if walls else None


def _finding(page: Page, cells: Named) -> str:
    """Return a sentence with the best score and the shortest fit."""
    scored = [(n, c) for n, c in cells if math.isfinite(page.badness(c))]
    if not scored:
        return "No algorithm has a score on every split of this dataset."
    best, cell = scored[0]
    metric = page.metric(cell)
    sentence = f"{short(best)} has the best mean {short(metric)}, {loss(page.score(cell))}"
    timed = [(c.seconds["fit"], n) for n, c in scored if c.seconds.get("fit", 0) > 0]
    if not timed:
        return f"{sentence}."
    least, fastest = min(timed)
    if fastest == best:
        return f"{sentence}, and the shortest fit, {seconds(least)} (rough, from single runs)."
    return (
        f"{sentence}; {short(fastest)} has the shortest fit, {seconds(least)} (rough, from "
        "single runs)."
    )


def _table(page: Page, dataset: str, cells: Named) -> Table:
    primary = page.metric(cells[0][1])
    others = sorted({m for _, c in cells for m in c.scores} - {primary})
    columns = [
        Column("Algorithm"),
        *numeric(short(primary) or "score", "± sd", *(short(m) for m in others)),
        *numeric("Prepare", "Fit", "Predict", "One row", unit="s"),
        Column("Peak memory", numeric=True, unit="bytes"),
        Column("Trials"),
    ]
    rows = [_table_row(page, name, cell, primary, others) for name, cell in cells]
    caption = f"Means over splits on {short(dataset)}; times are medians of single runs, rough"
    return Table(columns, rows, caption, f"dataset-{dataset}")


def _table_row(page: Page, name: str, cell: Measured, primary: str, others: list[str]) -> Row:
    finite = [s for s in cell.scores.get(primary, ()) if math.isfinite(s)]
    spread = statistics.stdev(finite) if len(finite) > 1 else math.nan
    prepare = sum(cell.seconds.get(p, 0.0) for p in ("preparation", "native"))
    times = [
        prepare or math.nan,
        *(cell.seconds.get(p, math.nan) for p in ("fit", "predict", "predict_one")),
    ]
    return [
        Cell.named(name, short(cell.preparation)),
        Cell.of(page.score(cell, primary), loss),
        Cell.of(spread, loss),
        *(Cell.of(page.score(cell, m), loss) for m in others),
        *(Cell.of(t, seconds) for t in times),
        Cell.of(cell.peak or None, size),
        _trials(cell),
    ]


def _trials(cell: Measured) -> Cell:
    """Return the numbers of trials done, failed and skipped."""
    done = sum(o.status is Status.DONE for o in cell.outcomes)
    failed = sum(o.status in FAILURES for o in cell.outcomes)
    skipped = len(cell.outcomes) - done - failed
    words = [f"{done} done"]
    words += [f"{failed} failed"] if failed else []
    words += [f"{skipped} skipped"] if skipped else []
    return Cell(", ".join(words), tone="bad" if failed else "")
