"""Fitted gradient boosting model: scores, stages, leaves, importances, export."""

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from algorithms.boosting.boosted_trees import has_missing
from algorithms.estimator.fast_validation import read_float32
from algorithms.estimator.labels import codes_among
from algorithms.runtime.threads import count_threads
from algorithms.trees.ensemble_export import export_boosted


class BoostedModel(BaseEstimator):
    """Base class of a fitted model: an initial constant or model plus the members' steps.

    ``learning_rate_`` is the learning rate of the last fit. ``_has_trees`` is whether its members
    are our own trees. Parameters changed after the fit do not change predictions.
    """

    _encoder = None  # `CategoryEncoder` of the categorical columns

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        models = [model for model in (self.estimator, self.init) if hasattr(model, "fit")]
        tags.input_tags.allow_nan = all(get_tags(model).input_tags.allow_nan for model in models)
        return tags

    def _start_scores(self, X):
        """Return the scores before the first round, float64 (n_rows, n_outputs), Fortran order."""
        raw = np.zeros((len(X), self.n_trees_per_iteration_), order="F")
        if isinstance(self.init_, str):
            raw += self._constant
        elif is_classifier(self):
            raw[:] = self._loss.link(self.init_.predict_proba(X))
        else:
            raw[:, 0] = self.init_.predict(X)
        return raw

    def _raw(self, X, rounds=None):
        """Return the scores after all rounds, or after ``rounds`` rounds."""
        raw = self._start_scores(X)
        self._add(0, len(self.estimators_) if rounds is None else rounds, X, raw)
        return raw

    def _add(self, first, last, X, raw, *, missing=None):
        """Add the predictions of the rounds first … last − 1; see `BoostedWalker.add`."""
        stages = self.estimators_[first:last]
        if self._has_trees:
            threads = count_threads(self.n_jobs, X.shape[0])
            self._walker.add(stages, self.learning_rate_, X, raw, threads, missing=missing)
            return
        for stage, steps in zip(stages, self.steps_[first:last], strict=True):
            for k, (member, step) in enumerate(zip(stage, steps, strict=True)):
                raw[:, k] += self.learning_rate_ * step * member.predict(X)

    def _read_rows(self, X):
        """Return X as C-contiguous float32; raise the same errors as scikit-learn."""
        check_is_fitted(self)
        X = X if self._encoder is None else self._encoder.transform(X)
        X = read_float32(self, X)
        return X.toarray() if issparse(X) else X

    def _staged_raw(self, X):
        """Yield the scores after each round."""
        X = self._read_rows(X)
        raw, missing = self._start_scores(X), has_missing(X)
        for i in range(len(self.estimators_)):
            self._add(i, i + 1, X, raw, missing=missing)
            yield raw.copy(order="F")

    def staged_loss(self, X, y, sample_weight=None):
        """Yield the loss after each round, on the scale of ``train_score_``."""
        if is_classifier(self):
            y = codes_among(self.classes_, y, "y has labels that the model was not trained on")
        y = np.ascontiguousarray(y, np.float64)
        for raw in self._staged_raw(X):
            yield self._loss(y, raw, sample_weight)

    def apply(self, X):
        """Return the leaf of each row in each tree: float64 (n_rows, n_estimators, n_outputs)."""
        X = self._read_rows(X)
        leaves = np.zeros((len(X), *self.estimators_.shape))
        for i, stage in enumerate(self.estimators_):
            for k, member in enumerate(stage):
                leaves[:, i, k] = member.apply(X, check_input=False)
        return leaves

    @property
    def feature_importances_(self):
        """Return each feature's mean decrease of the squared error, float64, summing to 1."""
        check_is_fitted(self)
        trees = [member.tree_ for member in self.estimators_.ravel()]
        importances = [
            t.compute_feature_importances(normalize=False) for t in trees if t.node_count > 1
        ]
        if not importances:
            return np.zeros(self.n_features_in_)
        mean = np.mean(importances, axis=0)
        return mean / mean.sum()

    @property
    def ensemble_(self):
        """Return the trees as a `harness.TreeEnsemble`."""
        check_is_fitted(self)
        loss = self._loss
        if not self._has_trees or not isinstance(self.init_, str):
            raise AttributeError("ensemble_ needs trees that start from a constant")
        if not hasattr(loss, "inverse"):
            raise AttributeError("ensemble_ requires a built-in loss")
        return export_boosted(self, self._constant, loss.inverse, loss.temperature)
