"""Losses and times of the algorithms of a run by task, for charts of both."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from harness.analysis.all_pairs import Field, field_of, gaps_of
from reports.page.page import Page
from reports.text.means import geometric_mean


def task_fields(page: Page) -> dict[str, Field]:
    """Return task → losses of the algorithms with all results, if at least two."""
    tasks: dict[str, list[str]] = defaultdict(list)
    for dataset, cells in page.by_dataset.items():
        tasks[cells[0][1].task].append(dataset)
    gaps = gaps_of(page.view.accuracy)
    fields = {
        task: field_of(page.losses(datasets), gaps) for task, datasets in sorted(tasks.items())
    }
    return {t: field for t, field in fields.items() if len(field.names) > 1 and field.datasets}


def shares_behind(field: Field) -> np.ndarray:
    """Return the mean excess of each algorithm's loss over the best, as a share of the gap.

    The gap comes from verdicts; without them the worst loss replaces the constant model's.
    """
    above = field.losses - field.losses.min(axis=1, keepdims=True)
    shares: np.ndarray = (above / gaps(field)[:, None]).mean(axis=0)
    return shares - shares.min()


def gaps(field: Field) -> np.ndarray:
    """Return the gap of each dataset, or the range of its losses if the gap is unknown."""
    spread = np.ptp(field.losses, axis=1)
    known: np.ndarray = np.where(field.gaps > 0, field.gaps, np.where(spread > 0, spread, 1.0))
    return known


def training_seconds(page: Page, name: str, datasets: Sequence[str]) -> float:
    """Return the geometric mean of native form and fit, in seconds, not interleaved."""
    times = _times(page, name, datasets)
    return geometric_mean(s.get("fit", math.nan) + s.get("native", 0.0) for s in times)


def phase_seconds(page: Page, name: str, datasets: Sequence[str], phase: str) -> float:
    """Return the geometric mean of a phase, in seconds, not interleaved."""
    return geometric_mean(s.get(phase, math.nan) for s in _times(page, name, datasets))


def _times(page: Page, name: str, datasets: Sequence[str]) -> list[Mapping[str, float]]:
    return [cell.seconds for d in datasets for n, cell in page.by_dataset[d] if n == name]
