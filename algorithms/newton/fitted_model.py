"""Fitted second-order booster: scores, staged predictions, leaves, importances."""

from copy import copy
from dataclasses import replace
from operator import index
from types import SimpleNamespace

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from algorithms.compat.parameters import constructor_defaults
from algorithms.model_io.model_files import format_of, write_text
from algorithms.model_io.objectives import MANY, XGBOOST, name_for
from algorithms.model_io.saved_model import SavedModel
from algorithms.model_io.xgboost_writer import details
from algorithms.newton.base_margin import read_margin
from algorithms.newton.input_table import missing_of, read_rows
from algorithms.newton.linear_model import write_linear
from algorithms.newton.model import importances, join_trees, rounds_from
from algorithms.newton.objectives import BINARY, CLASSES, REGRESSION
from algorithms.newton.tree import have_vectors
from algorithms.prediction.predictor import FastPredictor
from algorithms.prediction.shap_values import Contributions
from algorithms.runtime.threads import AllThreads


class NewtonModel(AllThreads, SavedModel, Contributions, BaseEstimator):
    """A fitted model: ``_rounds`` of trees, ``_base``, and ``ensemble_`` of the rounds in use."""

    _json_format = "xgboost"
    _objective_names = frozenset({*BINARY, *CLASSES, *REGRESSION})
    _saved_facts = (
        "best_iteration",
        "best_score",
        "_history",
        "_stopped",
        "_n_parallel",
        "_n_targets",
    )
    _n_parallel = 1  # number of trees of a score in each round
    _n_targets = 1  # number of columns of y
    _linear = None  # `LinearModel` of booster="gblinear", which has no trees

    @property
    def _trees_a_round(self):
        """Number of trees of each round."""
        return self._n_parallel * (1 if have_vectors(self._rounds) else len(self._base))

    def _join(self, rounds, *, first=True, outputs=None):
        """Return rounds as a `harness.TreeEnsemble`, with the base score or zeros.

        ``outputs`` is the score of each tree, if its place in the round does not say it.
        """
        base = self._base if first else np.zeros_like(self._base)
        labels = getattr(self, "classes_", None) if self._n_targets == 1 else None
        options = labels, self.n_features_in_, missing_of(self)
        return join_trees(rounds, base, self._objective.link, *options, outputs)

    def _whole_model(self):
        """Return all trained rounds, and XGBoost's attributes about the best one."""
        if not self._stopped:
            return self.ensemble_, {}
        attributes = {name: getattr(self, name, None) for name in ("best_iteration", "best_score")}
        return self._join(self._rounds), {k: str(v) for k, v in attributes.items() if v is not None}

    def _take_model(self, ensemble):
        """Set the fitted attributes from a model read from a file.

        XGBoost's files do not store the value read as missing; then the parameter is used.
        """
        if np.isnan(ensemble.missing_value):
            ensemble = replace(ensemble, missing_value=float(self.missing))
        self._missing = ensemble.missing_value
        self._rounds = rounds_from(ensemble, self._n_parallel)
        self._base = ensemble.base.astype(np.float32)
        self._objective = SimpleNamespace(link=ensemble.link, n_scores=ensemble.n_outputs)
        self.n_iter_ = len(self._rounds)
        self.__dict__.setdefault("_history", {})
        self.__dict__.setdefault("_stopped", False)
        best = getattr(self, "best_iteration", None) if self._stopped else None
        stops = isinstance(best, int) and 0 <= best < self.n_iter_ - 1
        self.ensemble_ = self._join(self._rounds[: best + 1]) if stops else ensemble
        self._walker = FastPredictor(self.ensemble_)

    def _read_rows(self, X):
        """Return X as the trees read it; raise ValueError if the model is linear."""
        self._check_trees()
        return read_rows(self, X, reset=False)

    def _check_trees(self):
        """Raise ValueError if the model is linear."""
        if self._linear is not None:
            raise ValueError("booster='gblinear' has no trees: this method is not supported")

    def save_model(self, path, *, format=None):  # noqa: A002 - the name that users look for
        """Write the fitted model to a file; see `SavedModel.save_model`.

        A linear model is written as XGBoost's JSON, which XGBoost reads.
        """
        if self._linear is None:
            return super().save_model(path, format=format)
        if format_of(path, format, self._json_format) != "xgboost":
            raise ValueError("booster='gblinear' can only be saved as XGBoost's JSON")
        name = name_for(self.ensemble_, self._saved_objective(), XGBOOST)
        names = [str(one) for one in getattr(self, "feature_names_in_", ())]
        n_classes = self._linear.weights.shape[1] if name in MANY else 0
        about = {"name": name, **details(name, n_classes)}
        write_text(path, write_linear(self._linear, about, n_classes, self.n_iter_, names))
        return None

    def evals_result(self):
        """Return the metrics of the evaluation sets: dict, set → metric → list."""
        check_is_fitted(self, "ensemble_")
        return self._history

    def _raw(self, X, iteration_range=None, margin=None, *, checks_names=True):
        """Return raw scores, float32 (n_rows, n_scores); the parameters are as in ``predict``."""
        if not hasattr(self, "ensemble_"):  # check_is_fitted takes as long as twenty trees
            check_is_fitted(self, "ensemble_")
        if self._linear is not None:
            return self._linear_raw(X, iteration_range, margin)
        k = len(self._base)
        trees, past_best = self._trees_of(iteration_range)
        walker = FastPredictor(self._join(self._rounds)) if past_best else self._walker
        if not checks_names and hasattr(X, "columns") and hasattr(self, "feature_names_in_"):
            X = copy(X)  # a shallow copy of a pandas or polars frame
            X.columns = list(self.feature_names_in_)
        if margin is not None:
            X = read_rows(self, X, reset=False)
            out = read_margin(margin, X.shape[0], k)
            walker.add(X, out, self._threads(X.shape[0]), trees)
            return out.astype(np.float32)
        found = walker.raw_at_once(self, X, trees) if np.isnan(missing_of(self)) else None
        if found is not None:
            return found
        X = read_rows(self, X, reset=False)
        return walker.raw(X, self._threads(X.shape[0]), trees)

    def _linear_raw(self, X, iteration_range, margin):
        """Return the raw scores of a linear model, float32 (n_rows, n_scores)."""
        if iteration_range is not None and tuple(iteration_range) != (0, 0):
            raise ValueError("booster='gblinear' does not support iteration_range")
        X = read_rows(self, X, reset=False)
        out = np.tile(self._base.astype(np.float64), (X.shape[0], 1))
        if margin is not None:
            out = read_margin(margin, X.shape[0], len(self._base))
        self._linear.add(X, out)
        return out.astype(np.float32)

    def _trees_of(self, iteration_range):
        """Return the slice of trees of ``iteration_range``, and whether it passes the best round.

        As in XGBoost, 0 as the last round means all rounds up to the best one.
        """
        k = self._trees_a_round
        if iteration_range is None:
            return slice(None), False
        first, last = read_range(iteration_range, len(self._rounds))
        if last == 0:
            return slice(None), False
        return slice(first * k, last * k), last * k > self.ensemble_.n_trees

    def _predict_scores(self, raw):
        """Return predictions from raw scores: values or class probabilities; float64."""
        return self._arrange(self.ensemble_.from_raw(raw))

    def _arrange(self, predictions):
        """Return predictions in the order of their quantiles; a regressor may sort them."""
        return predictions

    def _staged_raw(self, X):
        """Yield raw scores after each round."""
        check_is_fitted(self, "ensemble_")
        self._check_trees()
        X = self._read_rows(X)
        k, threads = self._trees_a_round, self._threads(X.shape[0])
        out = np.empty((X.shape[0], len(self._base)))
        out[:] = self._base
        for done in range(self.ensemble_.n_trees // k):
            trees = slice(done * k, (done + 1) * k)
            self._walker.add(X, out, threads, trees)
            yield out.astype(np.float32)

    def apply(self, X, iteration_range=None):
        """Return the leaf of each row in each tree, int32 (n_rows, n_trees)."""
        check_is_fitted(self, "ensemble_")
        self._check_trees()
        X = read_rows(self, X, reset=False)
        trees, past_best = self._trees_of(iteration_range)
        ensemble = self._join(self._rounds) if past_best else self.ensemble_
        found = ensemble.leaves(X) - ensemble.offsets[:-1].astype(np.int32)
        return found[:, trees]

    @property
    def intercept_(self):
        """Base score, float32 (n_scores,): a prediction; for more than two classes, raw scores.

        Of a linear model: the bias, which is added to the base score.
        """
        check_is_fitted(self, "ensemble_")
        if self._linear is not None:
            return self._linear.weights[-1].astype(np.float32)
        if self.ensemble_.link == "ascending":
            return self.ensemble_.from_raw(self._base[None])[0].astype(np.float32)
        if self.ensemble_.link == "sigmoid":
            return expit(self._base)
        return np.exp(self._base) if self.ensemble_.link == "exp" else self._base

    @property
    def coef_(self):
        """Coefficients of a linear model, (n_features,) or (n_scores, n_features)."""
        if self._linear is None:
            raise AttributeError("coef_ is only defined for booster='gblinear'")
        found = self._linear.weights[:-1].T
        return found[0] if len(found) == 1 else found

    @property
    def feature_importances_(self):
        """Importance of each feature by ``importance_type``, summing to 1; (n_features,).

        As in XGBoost, all trained rounds count, including those after the best one. Of a linear
        model: the coefficients divided by their sum, (n_features,) or (n_features, n_scores).
        """
        check_is_fitted(self, "ensemble_")
        if self._linear is not None:
            default = constructor_defaults(type(self))["importance_type"]
            if self.importance_type not in (default, "weight"):
                raise ValueError("booster='gblinear' only supports importance_type='weight'")
            return self.coef_.T / self.coef_.sum()
        found = importances(self._rounds, self.importance_type or "gain", self.n_features_in_)
        total = found.sum()
        return found / total if total > 0.0 else found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def read_range(given, n_rounds):
    """Return the first round and one past the last; a last of 0 means all rounds in use.

    Raises
    ------
    ValueError
        If these are not two integers, or the rounds do not exist.
    """
    try:
        first, last = map(index, given)
    except (TypeError, ValueError):
        first = last = -1
    if last and not 0 <= first < last <= n_rounds:
        raise ValueError(
            f"iteration_range={given!r} is not (first, last) with 0 <= first < last <= {n_rounds}, "
            "the number of trained rounds; (0, 0) or None uses all rounds up to the best one"
        )
    return first, last
