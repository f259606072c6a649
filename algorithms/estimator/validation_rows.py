"""Validation split of the training rows for early stopping in the harness.

The params ``early_stopping_rounds`` and ``validation_fraction`` are the harness's names for
libraries whose estimators take an evaluation set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from harness import EstimatorAdapter

ROUNDS = 1000  # maximum number of rounds with early stopping, unless a library's default is larger


class Parts(NamedTuple):
    """Training rows and validation rows."""

    train: tuple
    valid: tuple


def stops_early(rounds, share):
    """Return the params for early stopping after ``rounds`` rounds without improvement."""
    return {
        "n_estimators": ROUNDS,
        "early_stopping_rounds": rounds,
        "validation_fraction": share,
    }


def split_rows(X, y, weight, share, seed, *, is_classification):
    """Return training and validation rows, each (X, y, weight), stratified by class."""
    rng = np.random.default_rng([seed, len(y)])
    order = rng.permutation(len(y))
    if is_classification:
        order = order[np.argsort(y[order], kind="stable")]
    step = max(2, round(1 / share))
    held_out = np.zeros(len(y), bool)
    held_out[order[:: min(step, len(y))]] = True
    if is_classification:  # the only row of a class is a training row
        alone = np.bincount(y)[y] == 1
        held_out &= ~alone
    return Parts(_part(X, y, weight, ~held_out), _part(X, y, weight, held_out))


def _part(X, y, weight, rows):
    rows = np.flatnonzero(rows)
    chosen = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    return chosen, y[rows], None if weight is None else weight[rows]


class WatchedAdapter(EstimatorAdapter):
    """Adapter of an estimator with early stopping on an ``eval_set``.

    ``build(spec)`` returns the unfitted estimator; its parameter ``parameter`` is the number of
    rounds without improvement after which training stops.
    """

    def __init__(self, build, spec, parameter="early_stopping_rounds"):
        params = dict(spec.params)
        self.rounds = params.pop("early_stopping_rounds")
        self.share = params.pop("validation_fraction", 0.1)
        self.parameter = parameter
        super().__init__(build, replace(spec, params=params))

    def prepare(self, X, y, weight):
        """Split the rows into training and validation rows."""
        labeled = self.spec.task.is_classification
        return split_rows(X, y, weight, self.share, self.spec.seed, is_classification=labeled)

    def fit(self, native):
        """Build an estimator and train it until the validation loss stops improving."""
        (X, y, weight), (X_valid, y_valid, _) = native
        self.model = self.build(self.spec).set_params(**{self.parameter: self.rounds})
        self.model.fit(X, y, sample_weight=weight, eval_set=[(X_valid, y_valid)])
