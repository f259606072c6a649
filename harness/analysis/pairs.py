"""Combine the cells of a run into pairs, and judge each pair on every dataset."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from harness.analysis.pooling import pool
from harness.analysis.run_view import Accuracy, Cell
from harness.analysis.scores import Scorer, rows_of
from harness.analysis.verdicts import Evidence, judge, named
from harness.core.ids import canonical
from harness.core.model import Metric, Outcome, Split, Status, Task

Pair = tuple[str, str]
Place = tuple[str, int]  # split label and seed: the unit of pairing
LABELS = "returns only the probabilities 0 and 1: its log loss is 34.5 for each error; see brier"


def declared_pairs(declared: Mapping[str, Any], cells: Iterable[Cell]) -> list[Pair]:
    """Return each scratch algorithm with its reference, and the pairs that the run declares.

    Only pairs whose names both have cells in the run are returned.
    """
    present = {cell.algorithm for cell in cells}
    algorithms = declared.get("algorithms", {})
    answers = [
        (name, facts.get("reference"))
        for name, facts in algorithms.items()
        if facts.get("origin") == "scratch"
    ]
    every = [*answers, *(tuple(pair) for pair in declared.get("pairs", ()))]
    complete = [(a, b) for a, b in every if a in present and b in present]
    return list(dict.fromkeys(complete))


def judge_pairs(
    pairs: Iterable[Pair], cells: Sequence[Cell], scorer: Scorer, share: float
) -> tuple[Accuracy, ...]:
    """Return the verdicts of every pair: one per dataset, and then the pooled one.

    If an algorithm has several sets of params, each of its variants is judged against each of the
    reference's. Both sides have the same preparation.
    """
    sides = {id(cell): Losses.of(cell, scorer) for cell in cells}
    best = Best(sides.values())
    accuracies: list[Accuracy] = []
    for a, b in pairs:
        for track, matched in _matched(a, b, cells):
            verdicts = [
                judge(evidence_of(sides[id(x)], sides[id(y)], scorer, best), share)
                for x, y in matched
            ]
            together = [*verdicts, pool(verdicts, share)]
            accuracies += [replace(verdict, track=track) for verdict in together]
    return tuple(accuracies)


def _matched(
    a: str, b: str, cells: Iterable[Cell]
) -> Iterator[tuple[str, list[tuple[Cell, Cell]]]]:
    """Yield the paired cells of each two variants of a pair on one track."""
    variants: dict[tuple[str, str, str], dict[str, tuple[Cell, Cell]]] = defaultdict(dict)
    by_name: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_name[cell.algorithm].append(cell)
    for x in by_name[a]:
        for y in by_name[b]:
            same_data = x.dataset == y.dataset and x.preparation == y.preparation
            if x is y or not same_data or _skipped(x) or _skipped(y):
                continue
            for track in _common_tracks(x, y):
                same = variants[track, canonical(x.params), canonical(y.params)]
                known = same.get(x.dataset)
                first = known is None or (
                    _native_first(x.preparation) < _native_first(known[0].preparation)
                )
                if first:
                    same[x.dataset] = (x, y)
    for (track, _, _), matched in variants.items():
        yield track, list(matched.values())


def _common_tracks(x: Cell, y: Cell) -> list[str]:
    """Return the tracks of both; an empty name if the run has no tracks."""
    if not x.tracks and not y.tracks:
        return [""]
    return [track for track in x.tracks if track in y.tracks]


def _skipped(cell: Cell) -> bool:
    return all(outcome.status is Status.SKIPPED for outcome in cell.outcomes)


def _native_first(preparation: str) -> tuple[int, bool]:
    """Return the sort key of preparations: of several common ones the most native is judged."""
    base, _, imputed = preparation.partition("+")
    return ["native", "ordinal", "onehot", base].index(base), bool(imputed)


@dataclass(frozen=True)
class Losses:
    """The losses of one cell by one metric, by split and seed; lower is better."""

    cell: Cell
    metric: Metric | None
    losses: Mapping[Place, float]  # finite ones
    outcomes: Mapping[Place, Outcome]

    @classmethod
    def of(cls, cell: Cell, scorer: Scorer, metric: Metric | None = None) -> Losses:
        """Return a cell's losses by a metric, or by the primary one of its task."""
        metric = metric or scorer.primary(Task(cell.task))
        scores = cell.scores[metric.name] if metric else (math.nan,) * len(cell.outcomes)
        sign = 1.0 if metric is None or metric.lower_is_better else -1.0
        places = [(o.trial.split.label, o.trial.seed) for o in cell.outcomes]
        finite = [i for i, score in enumerate(scores) if math.isfinite(score)]
        return cls(
            cell,
            metric,
            {places[i]: sign * scores[i] for i in finite},
            {places[i]: cell.outcomes[i] for i in finite},
        )

    def by_split(self, places: Iterable[Place]) -> dict[str, float]:
        """Return the mean loss over the seeds of each split."""
        grouped: dict[str, list[float]] = defaultdict(list)
        for place in places:
            grouped[place[0]].append(self.losses[place])
        return {split: fmean(values) for split, values in grouped.items()}

    @property
    def missing(self) -> int:
        """Return the number of trials that ran without a score."""
        ran = sum(o.status is not Status.SKIPPED for o in self.cell.outcomes)
        return ran - len(self.losses)


class Best:
    """The best mean loss on a dataset, over any of its splits."""

    def __init__(self, sides: Iterable[Losses]) -> None:
        self._by_dataset: dict[str, list[dict[str, float]]] = defaultdict(list)
        for side in sides:
            self._by_dataset[side.cell.dataset].append(side.by_split(side.losses))

    def over(self, dataset: str, splits: Sequence[str]) -> float:
        """Return the least mean loss over these splits, of the cells that have all of them."""
        whole = [c for c in self._by_dataset[dataset] if all(split in c for split in splits)]
        return min(fmean(cell[split] for split in splits) for cell in whole)


def _labels_only(side: Losses, scorer: Scorer) -> tuple[str, ...]:
    """Return the note on a side whose outcomes are all labels without probabilities."""
    trials = {o.trial.id for o in side.outcomes.values()}
    alone = bool(side.losses) and trials <= scorer.labels_only
    return (f"{side.cell.algorithm} {LABELS}",) if alone else ()


def evidence_of(ours: Losses, theirs: Losses, scorer: Scorer, best: Best) -> Evidence:
    """Return the evidence for a verdict on two cells of one dataset."""
    a, b = ours.cell, theirs.cell
    metric = ours.metric.name if ours.metric else ""
    pair = replace(
        named(a.algorithm, b.algorithm, a.dataset, metric),
        failed=(ours.missing, theirs.missing),
        preparation=a.preparation,
        params=(a.params, b.params),
        notes=tuple(dict.fromkeys(_labels_only(ours, scorer) + _labels_only(theirs, scorer))),
    )
    places = [place for place in ours.losses if place in theirs.losses]
    if not places:
        return Evidence(pair, (), (), ratio=0.0, test_rows=0, repeat=0, gap=0.0)
    one, other = ours.by_split(places), theirs.by_split(places)
    splits = list(one)
    used = [ours.outcomes[place] for place in places]
    sign = 1.0 if ours.metric is None or ours.metric.lower_is_better else -1.0
    rows = {rows_of(outcome) for outcome in used}
    constant = fmean(sign * scorer.constants[key][metric] for key in rows)
    close = all(math.isclose(one[s], other[s], rel_tol=1e-7, abs_tol=1e-12) for s in splits)
    return Evidence(
        pair,
        [one[split] for split in splits],
        [other[split] for split in splits],
        ratio=fmean(_ratio(outcome, scorer.rows[outcome.trial.id]) for outcome in used),
        test_rows=fmean(scorer.rows[outcome.trial.id] for outcome in used),
        repeat=_splits_of_a_repeat(used[0].trial.split),
        gap=constant - best.over(a.dataset, splits),
        identical=close and scorer.agree(used, [theirs.outcomes[place] for place in places]),
    )


def _ratio(outcome: Outcome, test_rows: int) -> float:
    """Return n_test / n_train, from the worker's count or else from the split."""
    split = outcome.trial.split
    if train_rows := outcome.facts.get("train_rows"):
        return float(test_rows / train_rows)
    share = 1 / split.folds if split.scheme in ("kfold", "ordered") else split.test_share
    return share / (1 - share)


def _splits_of_a_repeat(split: Split) -> int:
    return {"kfold": split.folds, "openml": split.folds, "holdout": 1, "draw": 1}.get(
        split.scheme, 0
    )
