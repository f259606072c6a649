"""Hold out a share of the training rows for early stopping, as the harness asks for it.

The params ``early_stopping_rounds`` and ``validation_fraction`` are the harness's own words for
libraries whose estimators are given the rows to watch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from harness import EstimatorAdapter

ROUNDS = 1000  # the most rounds of a model that stops early; a library's default where it is more


class Parts(NamedTuple):
    """Rows to train on, and rows to watch."""

    train: tuple
    valid: tuple


def stops_early(rounds, share):
    """Return the params with which an algorithm stops after so many rounds without improvement."""
    return {
        "n_estimators": ROUNDS,
        "early_stopping_rounds": rounds,
        "validation_fraction": share,
    }


def split_rows(X, y, weight, share, seed, *, is_classification):
    """Return rows to train on and rows to watch, each (X, y, weight), a share of every class."""
    rng = np.random.default_rng([seed, len(y)])
    order = rng.permutation(len(y))
    if is_classification:
        order = order[np.argsort(y[order], kind="stable")]
    step = max(2, round(1 / share))
    watched = np.zeros(len(y), bool)
    watched[order[:: min(step, len(y))]] = True
    if is_classification:  # a class with one row trains
        alone = np.bincount(y)[y] == 1
        watched &= ~alone
    return Parts(_part(X, y, weight, ~watched), _part(X, y, weight, watched))


def _part(X, y, weight, rows):
    rows = np.flatnonzero(rows)
    chosen = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    return chosen, y[rows], None if weight is None else weight[rows]


class WatchedAdapter(EstimatorAdapter):
    """Drive an estimator of ours that watches an ``eval_set``.

    ``build(spec, rounds)`` returns it unfitted, told to stop after so many rounds.
    """

    def __init__(self, build, spec):
        params = dict(spec.params)
        self.rounds = params.pop("early_stopping_rounds")
        self.share = params.pop("validation_fraction", 0.1)
        self.watched_build = build
        super().__init__(None, replace(spec, params=params))

    def __getstate__(self):
        """Return what is pickled: all but the functions that build estimators."""
        gone = ("build", "watched_build")
        return {key: value for key, value in vars(self).items() if key not in gone}

    def prepare(self, X, y, weight):
        """Hold out the rows to watch."""
        labelled = self.spec.task.is_classification
        return split_rows(X, y, weight, self.share, self.spec.seed, is_classification=labelled)

    def fit(self, native):
        """Build a new estimator and train it until the watched loss improves no more."""
        (X, y, weight), (X_valid, y_valid, _) = native
        self.model = self.watched_build(self.spec, self.rounds)
        self.model.fit(X, y, sample_weight=weight, eval_set=[(X_valid, y_valid)])
