"""Tables with one column for each run: scores, duel ratios, failures, parity levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.analysis.trends import Level, RunPoint
from reports.blocks.tables import Cell, Row, Table, numeric, texts
from reports.text.format import DASH, count, loss, ratio, short
from reports.words.claim_words import mode_of
from reports.words.verdict_words import PHASE_NAMES

LevelKey = tuple[str, str, str, str]  # algorithm, params, preparation, dataset


def levels_of(points: Sequence[RunPoint]) -> dict[LevelKey, dict[int, Level]]:
    """Return each measured value by run position."""
    by_key: dict[LevelKey, dict[int, Level]] = {}
    for i, point in enumerate(points):
        for level in point.levels:
            by_key.setdefault(level.key, {})[i] = level
    return by_key


def scores_table(points: Sequence[RunPoint], name: str, *, compare: bool = False) -> Table:
    """Return mean scores: one row for each algorithm and dataset, one column for each run."""
    levels = levels_of(points)
    several = _several(levels)
    rows: list[Row] = []
    for (algorithm, params, _, dataset), by_run in levels.items():
        metric = next(iter(by_run.values())).metric
        note = short(params, 60) if (algorithm, dataset) in several else ""
        scores = [by_run[i].score if i in by_run else math.nan for i in range(len(points))]
        named = [Cell.named(algorithm, note), short(dataset), short(metric)]
        rows.append([*named, *(Cell.of(score, loss) for score in scores)])
    heads = ("Algorithm", "Dataset", "Metric")
    return _table(points, heads, rows, "Mean score of each run", name, compare=compare)


def _table(
    points: Sequence[RunPoint],
    heads: Sequence[str],
    rows: list[Row],
    caption: str,
    name: str,
    *,
    compare: bool,
) -> Table:
    columns = [*texts(*heads), *numeric(*(short(point.id) for point in points))]
    return Table(columns, rows, caption, name, compare=compare)


def other_tables(points: Sequence[RunPoint], name: str) -> list[Table]:
    """Return tables of duel ratios, failures and parity levels, without empty ones."""
    tables = [_ratios(points, name), _failures(points, name), _parity_levels(points, name)]
    return [table for table in tables if table.rows]


def _ratios(points: Sequence[RunPoint], name: str) -> Table:
    ratios: dict[tuple[str, ...], dict[int, float]] = {}
    for i, point in enumerate(points):
        for s in point.speeds:
            if s.algorithm != s.reference:
                place = (s.algorithm, s.reference, s.dataset, s.phase, s.subject)
                ratios.setdefault(place, {})[i] = s.ratio.value
    rows: list[Row] = [
        [
            Cell.named(algorithm, f"against {short(reference)}"),
            short(dataset),
            PHASE_NAMES.get(phase, short(phase)),
            *(Cell.of(by_run.get(i, math.nan), ratio) for i in range(len(points))),
        ]
        for (algorithm, reference, dataset, phase, _), by_run in ratios.items()
    ]
    caption = "Ratios of the duels of each run: time of the reference over ours"
    heads = ("Algorithm", "Dataset", "Phase")
    return _table(points, heads, rows, caption, f"ratios-{name}", compare=True)


def _failures(points: Sequence[RunPoint], name: str) -> Table:
    failures: dict[tuple[str, str], dict[int, int]] = {}
    for (algorithm, _, _, dataset), by_run in levels_of(points).items():
        for i, level in by_run.items():
            counts = failures.setdefault((algorithm, dataset), {})
            counts[i] = counts.get(i, 0) + level.failed
    rows: list[Row] = [
        [
            Cell.named(algorithm),
            short(dataset),
            *(Cell.of(counts.get(i), count) for i in range(len(points))),
        ]
        for (algorithm, dataset), counts in failures.items()
        if any(counts.values())
    ]
    caption = "Failed trials of each run"
    heads = ("Algorithm", "Dataset")
    return _table(points, heads, rows, caption, f"failures-{name}", compare=True)


def _parity_levels(points: Sequence[RunPoint], name: str) -> Table:
    levels: dict[tuple[str, ...], dict[int, str]] = {}
    for i, point in enumerate(points):
        for p in point.parity:
            place = (p.algorithm, p.reference, p.dataset, mode_of(p))
            levels.setdefault(place, {})[i] = p.parity_level or "none"
    rows: list[Row] = [
        [
            Cell.named(algorithm, f"against {short(reference)}"),
            short(dataset),
            short(mode) or "default",
            *(Cell(by_run.get(i, DASH), by_run.get(i, "")) for i in range(len(points))),
        ]
        for (algorithm, reference, dataset, mode), by_run in levels.items()
    ]
    caption = "Parity level of each pair in each run"
    heads = ("Algorithm", "Dataset", "Mode")
    return _table(points, heads, rows, caption, f"parity-levels-{name}", compare=True)


def _several(levels: Mapping[LevelKey, object]) -> set[tuple[str, str]]:
    """Return the (algorithm, dataset) with several sets of params."""
    seen: dict[tuple[str, str], int] = {}
    for algorithm, _, _, dataset in levels:
        seen[algorithm, dataset] = seen.get((algorithm, dataset), 0) + 1
    return {key for key, number in seen.items() if number > 1}
