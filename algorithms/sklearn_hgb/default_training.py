"""Boosting of the front end with our histogram booster.

It calls the steps of `BaseHistogramBoosting._train` one by one, to score each round.
"""
# ruff: noqa: SLF001

from types import SimpleNamespace

import numpy as np

from algorithms.estimator.sample_weight import drop_unweighted
from algorithms.gbdt.base import make_trainer
from algorithms.gbdt.init_score import Start
from algorithms.gbdt.model import join_trees
from algorithms.model_io.init_model import load_init_model
from algorithms.prediction.predictor import FastPredictor
from algorithms.runtime.threads import Workers
from algorithms.sklearn_hgb.scores import Rows

NO_LOOP = SimpleNamespace(  # our early stopping is not used
    best_round=0, best_score={}, history={}, model=SimpleNamespace(attributes=dict)
)


def drop_unweighted_rows(rows):
    """Return the rows whose weight is above 0."""
    if rows.weight is None:
        return rows
    weight, X, y = drop_unweighted(rows.weight, rows.X, rows.y)
    return Rows(X, y, weight)


class DefaultTraining:
    """Training of a histogram booster, round by round.

    Parameters
    ----------
    model : HistogramBoosting estimator, unfitted
    rows : Rows
    earlier : fitted HistogramBoosting estimator to continue from, or None
    """

    def __init__(self, model, rows, earlier):
        self.model, self.rows, self.earlier = model, rows, earlier

    def run(self, n_rounds, scores):
        """Add rounds until all are done or the scores stop training; return the fitted model."""
        model, scored = self.model, scores is not None
        model._validate_params()
        model.parity_ = None
        before = None if self.earlier is None else load_init_model(self.earlier)
        X, y, weight = model._read_training(*self.rows, before)
        start = Start(model, before, None, None)
        with Workers(model._threads()) as workers:
            binned = model._bin_rows(X, y, weight, workers)
            self.booster = model._booster(binned, X, y, weight, workers, start)
            self.order = binned.order[0]
            if scored:
                scores.begin(self, is_first=self.earlier is None)
            trainer = make_trainer(self.booster, X)
            for _ in range(n_rounds):
                trainer.boost()
                if scored and scores.is_over(self):
                    break
            rounds = self.booster.rounds
        if rounds:
            model._keep(rounds, NO_LOOP, start)
        del self.booster
        return model if rounds else self.earlier

    def raw_of_training(self):
        """Return the raw scores of the training rows, float64 (n_rows, n_scores)."""
        raw = self.booster.score.T
        if not len(self.order):
            return raw.copy()
        result = np.empty(raw.shape)
        result[self.order] = raw
        return result

    def predict_start(self, X):
        """Return the raw scores of rows before the first new round."""
        if self.earlier is not None:
            return FastPredictor(self.earlier.ensemble_).raw(X)
        return np.tile(self.model._base, (len(X), 1))

    def predict_last(self, X):
        """Return the contribution of the last round to the raw scores of rows."""
        return self._predict_rounds(self.booster.rounds[-1:], X)

    def predict_current(self, X):
        """Return the raw scores of rows with all rounds so far."""
        return self.predict_start(X) + self._predict_rounds(self.booster.rounds, X)

    def _predict_rounds(self, rounds, X):
        zeros = np.zeros(len(self.model._base))
        if not rounds:
            return np.zeros((len(X), len(zeros)))
        return FastPredictor(join_trees(rounds, self.model._binner, zeros)).raw(X)
