"""Scores of the training and validation rows after each round, and early stopping.

The rules are those of scikit-learn's HistGradientBoosting. The first score is that of the constant
before the first tree. Training stops if none of the last `n_iter_no_change` scores is better than
the one before them by more than `tol`.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import resample

MAX_SCORED_ROWS = 10_000  # of the training rows, if `scoring` is a scorer


class Rows(NamedTuple):
    """Encoded rows with their targets and weights."""

    X: np.ndarray  # float64 (n_rows, n_features)
    y: np.ndarray  # float64 (n_rows,): values, or class codes
    weight: np.ndarray | None  # float64 (n_rows,)

    def take(self, rows):
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])


def split_validation(rows, fraction, stratify, seed):
    """Return training rows and validation rows, drawn as scikit-learn draws them."""
    from sklearn.model_selection import train_test_split

    tables = [table for table in rows if table is not None]
    parts = train_test_split(
        *tables, test_size=fraction, stratify=rows.y if stratify else None, random_state=seed
    )
    train, validation = ([*parts[first::2], None][:3] for first in (0, 1))
    return Rows(*train), Rows(*validation)


def make_scorer(params):
    """Return the scorer that the parameter ``scoring`` names."""
    from sklearn.metrics import check_scoring

    return check_scoring(params, params.scoring)


class RoundScores:
    """Scores after each round.

    Parameters
    ----------
    params : the estimator; `train_score_` and `validation_score_` continue its lists
    loss : the loss object
    train : Rows
    validation : Rows or None
    seed : int, for the sample of training rows
    """

    def __init__(self, params, loss, train, validation, seed):
        self.params, self.loss = params, loss
        self.train, self.validation, self.rows = train, validation, slice(None)
        self.train_scores, self.validation_scores = [], []
        self.raw_validation = None
        self.scorer = None if params.scoring == "loss" else make_scorer(params)
        if self.scorer is not None and len(train.y) > MAX_SCORED_ROWS:
            self.rows = resample(
                np.arange(len(train.y)),
                n_samples=MAX_SCORED_ROWS,
                replace=False,
                random_state=seed,
                stratify=train.y if is_classifier(params) else None,
            )
        self.scored = train if self.scorer is None else train.take(self.rows)

    def begin(self, training, *, is_first):
        """Compute the raw scores of the validation rows; if ``is_first``, score the constant.

        Parameters
        ----------
        training : DefaultTraining or ParityTraining
        is_first : bool, whether there are no trees yet
        """
        if self.validation is not None:
            self.raw_validation = training.predict_start(self.validation.X)
        if is_first:
            self.evaluate(training)

    def is_over(self, training):
        """Add the last round to the validation scores and evaluate; return whether to stop."""
        if self.validation is not None:
            self.raw_validation = self.raw_validation + training.predict_last(self.validation.X)
        self.evaluate(training)
        scores = self.train_scores if self.validation is None else self.validation_scores
        return should_stop(scores, self.params.n_iter_no_change, self.params.tol)

    def evaluate(self, training):
        """Append the current scores."""
        raw = training.raw_of_training()[self.rows]
        self.train_scores.append(self.score(self.scored, raw, training))
        if self.validation is not None:
            score = self.score(self.validation, self.raw_validation, training)
            self.validation_scores.append(score)

    def score(self, rows, raw, training):
        """Return the score of rows; higher is better."""
        if self.scorer is None:
            raw = np.asfortranarray(raw)
            return -self.loss(y_true=rows.y, raw_prediction=raw, sample_weight=rows.weight)
        params, y = self.params, rows.y
        if is_classifier(params):
            y = params.classes_[y.astype(int)]
        weights = {} if rows.weight is None else {"sample_weight": rows.weight}
        params._in_fit = rows.X, raw, training  # noqa: SLF001 - its own part
        try:
            return self.scorer(params, rows.X, y, **weights)
        finally:
            del params._in_fit  # noqa: SLF001 - its own part


def should_stop(scores, n_iter_no_change, tol):
    """Return whether none of the last scores is better than the one before them."""
    if len(scores) <= n_iter_no_change:
        return False
    reference = scores[-n_iter_no_change - 1] + tol
    return not any(score > reference for score in scores[-n_iter_no_change:])
