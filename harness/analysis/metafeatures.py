"""Metafeatures of datasets, and a small decision tree that predicts the winner from them.

The winner of a dataset is the algorithm with the lowest mean primary loss. The tree is compared,
leaving out one dataset at a time, with the rule that predicts the most frequent winner of the other
datasets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.all_pairs import Field
from harness.analysis.run_view import Cell

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

MIN_DATASETS = 10  # datasets below which no tree is fitted
DEPTH = 3
MIN_LEAF = 2  # minimum number of datasets of a leaf


@dataclass(frozen=True)
class WinnerTree:
    """A tree that predicts the winner of a dataset, and how often it is right.

    Attributes
    ----------
    text
        The tree in scikit-learn's text form.
    winners
        Dataset → the algorithm with the lowest loss.
    importances
        Metafeature → share of the tree's impurity decrease; only those that the tree uses, the
        largest first.
    hits
        Number of datasets whose winner is predicted by a tree of the other datasets.
    frequent_hits
        Number of datasets whose winner is the most frequent winner of the other datasets.
    p
        Exact McNemar test of equal hits, two-sided.
    """

    text: str
    winners: Mapping[str, str]
    importances: Mapping[str, float]
    hits: int
    frequent_hits: int
    p: float


def metafeatures_of(facts: Mapping[str, Any], cells: Iterable[Cell]) -> dict[str, float]:
    """Return the metafeatures of a dataset.

    Parameters
    ----------
    facts
        Declared facts of the dataset: rows, columns, classes and so on; unknown ones count as 0.
    cells
        Results on it; their outcomes have the class frequencies of the training rows.
    """
    rows, columns, n_categorical, n_classes = (
        float(facts.get(name) or 0) for name in ("rows", "columns", "categorical", "n_classes")
    )
    priors = [
        min(outcome.facts["train_prior"])
        for cell in cells
        for outcome in cell.outcomes
        if outcome.facts.get("train_prior")
    ]
    return {
        "rows": rows,
        "columns": columns,
        "rows per column": rows / max(columns, 1.0),
        "share of categorical columns": n_categorical / max(columns, 1.0),
        "missing values (0 or 1)": float(bool(facts.get("missing"))),
        "sparse (0 or 1)": float(bool(facts.get("sparse"))),
        "classes (0: regression)": n_classes,
        "share of the rarest class": float(np.mean(priors)) if priors else 0.0,
    }


def winner_tree(field: Field, metafeatures: Mapping[str, Mapping[str, float]]) -> WinnerTree | None:
    """Return the tree for the datasets of a field.

    None if there are fewer than ten datasets, if one algorithm wins on all of them, or if there
    are more winners than half of the datasets, so that a tree would only list them.

    Parameters
    ----------
    metafeatures
        Dataset → its metafeatures, with the same names for each dataset.
    """
    from scipy.stats import binomtest
    from sklearn.tree import export_text

    if len(field.datasets) < MIN_DATASETS or not field.names:
        return None
    X = np.array([list(metafeatures[dataset].values()) for dataset in field.datasets])
    winners = [field.names[i] for i in field.losses.argmin(axis=1)]
    if not 2 <= len(set(winners)) <= (len(winners) - 1) / 2:  # one dataset is left out at a time
        return None
    tree = _fitted(X, winners)
    names = list(next(iter(metafeatures.values())))
    used = sorted(zip(tree.feature_importances_, names, strict=True), reverse=True)
    tree_right, frequent_right = _left_out_hits(X, winners)
    gained = int((tree_right & ~frequent_right).sum())
    lost = int((frequent_right & ~tree_right).sum())
    return WinnerTree(
        text=export_text(tree, feature_names=names, show_weights=False).rstrip(),
        winners=dict(zip(field.datasets, winners, strict=True)),
        importances={name: float(share) for share, name in used if share > 0},
        hits=int(tree_right.sum()),
        frequent_hits=int(frequent_right.sum()),
        p=float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0,
    )


def _fitted(X: np.ndarray, winners: Sequence[str]) -> DecisionTreeClassifier:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=MIN_LEAF, random_state=0)
    return tree.fit(X, winners)


def _left_out_hits(X: np.ndarray, winners: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return for each dataset whether the tree and the most frequent winner are right.

    Both are computed from the other datasets only. Of equally frequent winners the first in
    alphabetical order is predicted.
    """
    tree_right, frequent_right = [], []
    for i, winner in enumerate(winners):
        others = [*winners[:i], *winners[i + 1 :]]
        tree = _fitted(np.delete(X, i, axis=0), others)
        tree_right.append(tree.predict(X[i : i + 1])[0] == winner)
        counts = Counter(sorted(others))
        frequent_right.append(counts.most_common(1)[0][0] == winner)
    return np.array(tree_right), np.array(frequent_right)
