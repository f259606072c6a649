"""Which algorithm to take for data like these: the most accurate, and the fastest beside it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.all_pairs import Field, field_of, gaps_of
from reports.page.page import Page
from reports.text.format import digits, loss, plural, short
from reports.text.inline import Code, Words
from reports.text.means import geometric_mean


@dataclass(frozen=True)
class Choice:
    """What a run suggests for one task; means of its splits, and no verdict."""

    task: str
    datasets: tuple[str, ...]
    best: str  # least mean loss, as a share of each dataset's gap
    score: str  # of the best, in words, where there is one dataset
    fastest: str  # to train, of those within the margin of the best
    ratio: float  # time of the best over that of the fastest, not interleaved
    near: int  # algorithms within the margin, the best itself among them


def choices(page: Page) -> list[Choice]:
    """Return a choice for each task with two algorithms that finished everywhere."""
    return [_choice(page, task, field) for task, field in task_fields(page).items()]


def task_fields(page: Page) -> dict[str, Field]:
    """Return task → the losses of those who finished everywhere, where they are two at least."""
    tasks: dict[str, list[str]] = defaultdict(list)
    for dataset, cells in page.by_dataset.items():
        tasks[cells[0][1].task].append(dataset)
    gaps = gaps_of(page.view.accuracy)
    fields = {
        task: field_of(page.losses(datasets), gaps) for task, datasets in sorted(tasks.items())
    }
    return {t: field for t, field in fields.items() if len(field.names) > 1 and field.datasets}


def _choice(page: Page, task: str, field: Field) -> Choice:
    behind = shares_behind(field)
    best = field.names[int(np.argmin(behind))]
    near = [n for n, share in zip(field.names, behind, strict=True) if share <= page.margin]
    near = near or [best]
    times = {name: training_seconds(page, name, field.datasets) for name in near}
    timed = {name: t for name, t in times.items() if math.isfinite(t)}
    fastest = min(timed, key=timed.__getitem__) if timed else best
    alone = len(field.datasets) == 1
    return Choice(
        task=task,
        datasets=field.datasets,
        best=best,
        score=_score(page, best, field.datasets[0]) if alone else "",
        fastest=fastest,
        ratio=timed.get(best, math.nan) / timed.get(fastest, math.nan),
        near=len(near),
    )


def shares_behind(field: Field) -> np.ndarray:
    """Return by how much each algorithm's loss lies above the best, a mean share of the gap.

    Without verdicts a dataset tells no gap; then the worst algorithm stands in for the constant.
    """
    spread = np.ptp(field.losses, axis=1)
    gaps = np.where(field.gaps > 0, field.gaps, np.where(spread > 0, spread, 1.0))
    above = field.losses - field.losses.min(axis=1, keepdims=True)
    found: np.ndarray = (above / gaps[:, None]).mean(axis=0)
    return found - found.min()


def training_seconds(page: Page, name: str, datasets: Sequence[str]) -> float:
    """Return the geometric mean of native form and fit, in seconds, not interleaved."""
    times = _times(page, name, datasets)
    return geometric_mean(s.get("fit", math.nan) + s.get("native", 0.0) for s in times)


def phase_seconds(page: Page, name: str, datasets: Sequence[str], phase: str) -> float:
    """Return the geometric mean of a phase, in seconds, not interleaved."""
    return geometric_mean(s.get(phase, math.nan) for s in _times(page, name, datasets))


def _times(page: Page, name: str, datasets: Sequence[str]) -> list[Mapping[str, float]]:
    return [cell.seconds for d in datasets for n, cell in page.by_dataset[d] if n == name]


def _score(page: Page, name: str, dataset: str) -> str:
    cell = next(cell for n, cell in page.by_dataset[dataset] if n == name)
    return f"mean {short(page.metric(cell))} {loss(page.score(cell))}"


def choice_words(choice: Choice) -> Words:
    """Return a choice in one sentence."""
    where = f"on {short(choice.datasets[0])}" if len(choice.datasets) == 1 else ""
    where = where or f"over {plural(len(choice.datasets), 'dataset')}"
    score = f" ({choice.score})" if choice.score else ""
    said: list[str | Code] = [f"{short(choice.task).capitalize()}, {where}: "]
    said += [Code(short(choice.best)), f" has the least loss{score}"]
    if choice.near == 1:
        return [*said, "; none other lies within the margin of it."]
    if choice.fastest == choice.best:
        return [*said, f", and trains fastest of the {choice.near} within the margin."]
    times = "" if math.isnan(choice.ratio) else f", {digits(choice.ratio, 2)} times as fast"
    others = f"; of the {choice.near} within the margin "
    return [*said, others, Code(short(choice.fastest)), f" trains fastest{times}."]
