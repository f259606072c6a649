"""Fitted histogram booster: raw scores, staged scores, feature importances, saved models."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from algorithms.gbdt.input_table import read_table
from algorithms.gbdt.model import OURS
from algorithms.gbdt.objectives import CLASSES, REGRESSION, Objective, to_probabilities
from algorithms.model_io.saved_model import SavedModel
from algorithms.prediction.predictor import FastPredictor
from algorithms.prediction.shap_values import Contributions
from algorithms.runtime.threads import AllThreads


class HistogramModel(AllThreads, SavedModel, Contributions, BaseEstimator):
    """Mixin of a fitted model with trees ``ensemble_`` and base score ``_base``.

    ``parity_`` names the library whose arithmetic converts scores to probabilities, or is None.
    """

    _objective_names = frozenset({*CLASSES, *REGRESSION})
    _saved_facts = ("n_iter_", "best_iteration_", "best_score_", "evals_result_")

    def _take_model(self, ensemble):
        """Set the fitted attributes from a model file's trees."""
        self.ensemble_, self._base = ensemble, ensemble.base
        self.parity_ = self.parity
        self._walker = FastPredictor(ensemble)
        self._objective = Objective("", None, 0.0, ensemble.n_outputs, ensemble.link)
        self.n_estimators_ = ensemble.n_trees // ensemble.n_outputs
        unknown = {"n_iter_": self.n_estimators_, "best_iteration_": 0}
        unknown |= {"best_score_": {}, "evals_result_": {}}
        for name, value in unknown.items():
            self.__dict__.setdefault(name, value)

    def _answer(self, score):
        """Return the predictions of raw scores, with the arithmetic of the model's library."""
        trees = self.ensemble_
        if trees.library == OURS:
            return self._predict_scores(score)
        as_ours = trees.library == "lightgbm" and trees.link in ("sigmoid", "softmax")
        if as_ours and trees.classes and trees.temperature == 1.0:
            return to_probabilities(score, trees.link)  # bitwise equal to before saving
        return trees.from_raw(score)

    def _read_rows(self, X):
        """Return validated X for prediction."""
        return read_table(self, X, reset=False)

    def _raw(self, X, rounds=None):
        """Return raw scores, float64 (n_rows, n_scores)."""
        if not hasattr(self, "ensemble_"):  # check_is_fitted takes as long as twenty trees
            check_is_fitted(self, "ensemble_")
        if rounds is not None and not isinstance(rounds, Integral):
            raise TypeError(f"num_iteration must be a whole number or None, not {rounds!r}")
        every = rounds is None or rounds <= 0
        trees = slice(None if every else rounds * len(self._base))
        if (raw := self._walker.raw_at_once(self, X, trees)) is not None:
            return raw
        X = self._read_rows(X)
        return self._walker.raw(X, self._threads(X.shape[0]), trees)

    def _staged_raw(self, X):
        """Yield raw scores after each round."""
        check_is_fitted(self, "ensemble_")
        X = self._read_rows(X)
        out = self._walker.raw(X, 1, slice(0))
        k, threads = len(self._base), self._threads(X.shape[0])
        for done in range(self.n_estimators_):
            self._walker.add(X, out, threads, slice(done * k, (done + 1) * k))
            yield out.copy()

    @property
    def feature_importances_(self):
        """Number of splits or sum of gains of each feature, (n_features,)."""
        check_is_fitted(self, "ensemble_")
        trees = self.ensemble_
        inner = trees.left >= 0
        if self.importance_type == "split":
            return np.bincount(trees.feature[inner], minlength=self.n_features_in_)
        return np.bincount(trees.feature[inner], trees.gain[inner], self.n_features_in_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
