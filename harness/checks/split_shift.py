"""Find a shift between training and test rows, by adversarial validation.

A small model predicts from the features whether a row is a test row. If it can, the test rows are
from another population, and scores measure how models extrapolate.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.checks.check import Check, Report
from harness.checks.table_sample import Column, TableSample
from harness.core.model import Severity
from harness.data.safe_names import listed

AREA = 0.65  # area under the ROC curve of the small model; 0.5 is no shift
MIN_ROWS = 50  # on each side
MAX_ROWS = 3_000
MAX_COLUMNS = 200
COLUMN_SHIFT = 0.1  # least difference of a column's two distributions for a mention


def find(sample: TableSample) -> Iterator[Report]:
    """Report given test rows that a small model can distinguish from the training rows."""
    if sample.table.test_rows is None or sample.is_sparse:
        return
    is_test = sample.table.test_rows[sample.rows]
    if min(is_test.sum(), (~is_test).sum()) < MIN_ROWS:
        return
    area = separation(sample.features[:MAX_COLUMNS], is_test)
    if area < AREA:
        return
    shifts = {c.name: column_shift(c.groups, c.numbers, is_test) for c in sample.features}
    largest = sorted(shifts, key=lambda name: -shifts[name])
    names = [name for name in largest[:3] if shifts[name] >= COLUMN_SHIFT]
    most = f", most of all in {listed(names)}" if names else ""
    yield Report(
        Severity.WARNING,
        f"the test rows differ from the training rows{most}: a small model distinguishes them "
        f"(area under the ROC curve {area:.2f}; 0.50 is no difference), so scores on them measure "
        "how well models extrapolate",
        {"area": round(area, 4), "shifts": {name: round(shifts[name], 4) for name in names}},
    )


def separation(columns: list[Column], is_test: np.ndarray) -> float:
    """Return the area under the ROC curve of a small forest that predicts ``is_test``.

    The model is trained on one half of the rows and scored on the other, each way.
    """
    from sklearn.ensemble import ExtraTreesClassifier

    random = np.random.default_rng(2)
    rows = random.permutation(len(is_test))[:MAX_ROWS]
    X = np.column_stack([_ranked(c)[rows] for c in columns])
    y = is_test[rows]
    halves = np.arange(len(rows)) % 2 == 0
    areas = []
    for train in (halves, ~halves):
        model = ExtraTreesClassifier(40, min_samples_leaf=5, random_state=0)
        if len({*y[train].tolist()}) < 2 or len({*y[~train].tolist()}) < 2:
            return 0.5
        model.fit(X[train], y[train])
        areas.append(area_under_roc(y[~train], model.predict_proba(X[~train])[:, 1]))
    return float(np.mean(areas))


def area_under_roc(positive: np.ndarray, scores: np.ndarray) -> float:
    """Return the share of pairs of a positive and a negative row in the right order of scores."""
    from scipy.stats import rankdata

    n = int(positive.sum())
    above = float(rankdata(scores)[positive].sum()) - n * (n + 1) / 2
    return above / (n * (len(positive) - n))


def column_shift(groups: np.ndarray, numbers: np.ndarray | None, is_test: np.ndarray) -> float:
    """Return the distance between the distributions of two parts of a column, from 0 to 1.

    For numbers it is the Kolmogorov-Smirnov distance, for categories the total variation.
    """
    if numbers is not None:
        order = np.argsort(numbers, kind="stable")
        test, train = is_test[order], ~is_test[order]
        gaps = np.abs(np.cumsum(test) / test.sum() - np.cumsum(train) / train.sum())
        ends = np.append(numbers[order][1:] != numbers[order][:-1], True)
        return float(gaps[ends].max())
    size = int(groups.max()) + 1
    test = np.bincount(groups[is_test], minlength=size) / is_test.sum()
    train = np.bincount(groups[~is_test], minlength=size) / (~is_test).sum()
    return float(np.abs(test - train).sum() / 2)


def _ranked(column: Column) -> np.ndarray:
    """Return the ranks of numbers, or of categories by their frequency."""
    if column.numbers is not None:
        order = np.unique(column.numbers, return_inverse=True, equal_nan=True)[1].astype(float)
        return np.where(column.missing, -1.0, order)
    sizes = np.bincount(column.groups)
    place = np.empty(len(sizes))
    place[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return np.asarray(place[column.groups])


CHECK = Check("DATA012", "Test rows that differ from the training rows", find)
