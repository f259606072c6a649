"""Base class of the two AdaBoost estimators: trains the models in sequence and combines them."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metadata_routing import _RoutingNotSupportedMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
)

from algorithms.boosting.weak_learners import AnyLearner, TreeLearner
from algorithms.estimator.bootstrap import SEEDS
from algorithms.estimator.estimator_sequence import EstimatorSequence
from algorithms.estimator.fast_validation import plain_rows
from algorithms.estimator.frames import as_numbers, validate_data
from algorithms.estimator.library_versions import AS_SKLEARN, warn_of_other_version
from algorithms.estimator.validation import check_array
from algorithms.trees.base_tree import BaseDecisionTree
from algorithms.trees.category_encoder import encoder_of
from algorithms.trees.presorted_table import check_sparse

TWO = 2
ROWS_OF_PART = 1 << 16  # rows predicted per block
BOOSTING_CONSTRAINTS = {
    "estimator": [HasMethods(["fit", "predict"]), None],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
    "parity": AS_SKLEARN,
}


class BaseAdaBoost(EstimatorSequence, _RoutingNotSupportedMixin, MetaEstimatorMixin, BaseEstimator):
    """Base class of models trained in sequence on weighted rows.

    A subclass defines its tree class, the depth of the default tree, and a round.
    """

    _parameter_constraints: ClassVar = BOOSTING_CONSTRAINTS

    def _read(self, X, y, sample_weight, *, numeric):
        """Return X, y and weights of sum 1, checked as in scikit-learn; set ``estimator_``."""
        self._encoder = encoder_of(self.estimator)
        X = X if self._encoder is None else self._encoder.fit_transform(X)
        given = X
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csr", "csc"],
            dtype=None,
            allow_nd=True,
            y_numeric=numeric,
            ensure_all_finite=self._finite,
        )
        weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, copy=True, ensure_non_negative=True
        )
        weight = weight / weight.sum()  # pandas may make its arrays read-only
        self.estimator_ = self._choose_model()
        warn_of_other_version(self.parity, stacklevel=3)
        if self._is_ours:
            X = as_numbers(X, given)
        if issparse(X) and self._is_ours:
            check_sparse(X, type(self).__name__)
            X = X.toarray()
        if type(self.estimator_) is self._own_tree:
            self.estimator_._validate_params()  # noqa: SLF001 - scikit-learn's convention
        return X, y, weight

    @property
    def _finite(self):
        """Return scikit-learn's ``ensure_all_finite``: NaN is allowed if the model allows it."""
        return "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True

    def _choose_model(self):
        """Return the model to train; our own trees get the ensemble's ``parity``."""
        model = self._default_tree() if self.estimator is None else self.estimator
        if self.parity is not None and isinstance(model, BaseDecisionTree):
            model = clone(model).set_params(parity=self.parity)
        return model if self._encoder is None else self._encoder.set_columns(clone(model))

    def _learner(self, X, y, labels, workers):
        """Return the learner that trains a model of this fit.

        Parameters
        ----------
        X, y : as `_read` returns them
        labels : (n_classes,) array, or None for regression
        workers : Workers
        """
        if self._takes_our_trees(X):
            return TreeLearner(self.estimator_, X, y, labels, workers, type(self).__name__)
        return AnyLearner(X, y)

    def _takes_our_trees(self, X):
        """Return whether the models are our own trees, of the right kind, on a numeric array."""
        plain = isinstance(X, np.ndarray) and X.ndim == TWO and X.dtype.kind in "biuf"
        return plain and self._is_ours

    @property
    def _is_ours(self):
        """Return whether the model is one of our trees and can share a table with others."""
        return self._is_own(self.estimator_)

    def _is_own(self, model):
        """Return whether a model is our tree class itself; a subclass may predict differently."""
        return type(model) is self._own_tree and model._shares_tables  # noqa: SLF001 - the package's own

    def _begin(self):
        """Reset the results of an earlier fit."""
        self.estimators_ = []
        self._walker = None
        self.estimator_weights_ = np.zeros(self.n_estimators)
        self.estimator_errors_ = np.ones(self.n_estimators)

    def _next_model(self, random):
        """Return a clone of the model, with random states drawn as in scikit-learn."""
        model = clone(self.estimator_)
        names = [n for n in model.get_params() if n.split("__")[-1] == "random_state"]
        if names == ["random_state"]:
            model.random_state = random.randint(SEEDS)  # set_params is slower than growing a stump
        elif names:
            model.set_params(**{name: random.randint(SEEDS) for name in sorted(names)})
        return model

    def _append_model(self, model, vote, error):
        """Add a model to the ensemble."""
        t = len(self.estimators_)
        self.estimators_.append(model)
        self.estimator_weights_[t] = vote
        self.estimator_errors_[t] = error

    def _read_rows(self, X):
        """Return X as the models accept it: C-contiguous float32 if all are our own trees."""
        check_is_fitted(self)
        X = X if self._encoder is None else self._encoder.transform(X)
        options = {"accept_sparse": ["csr", "csc"], "allow_nd": not self._is_trees}
        options["ensure_all_finite"] = self._finite
        X = validate_data(self, X, **options, dtype=None, reset=False)
        return as_float32_rows(X) if self._is_trees else X

    def _parts(self, X):
        """Yield X as float32 in blocks of rows: one copy of all rows would be large."""
        check_is_fitted(self)
        X = X if self._encoder is None else self._encoder.transform(X)
        if (few := plain_rows(self, X, np.float32)) is not None:
            yield few
            return
        X = validate_data(
            self, X, accept_sparse="csr", dtype=None, reset=False, ensure_all_finite=self._finite
        )
        for start in range(0, X.shape[0], ROWS_OF_PART):
            yield as_float32_rows(X[start : start + ROWS_OF_PART])

    def _trees_and_votes(self):
        """Return the trees, if all models are our own trees, and the votes of all models."""
        trees = [model.tree_ for model in self.estimators_] if self._is_trees else []
        return trees, self.estimator_weights_[: len(self.estimators_)]

    def _each(self, X):
        """Yield the predictions of each model; our own trees get X as float32."""
        X = self._read_rows(X)
        checked = {"check_input": False} if self._is_trees else {}
        for model in self.estimators_:
            yield model.predict(X, **checked)

    @property
    def _is_trees(self):
        """Return whether all models are our own trees and know all classes."""
        n_classes = getattr(self, "n_classes_", 0)
        return all(
            self._is_own(model) and len(getattr(model, "classes_", ())) == n_classes
            for model in self.estimators_
        )

    @property
    def feature_importances_(self):
        """Return the models' mean importances, weighted by their votes, float64 (n_features,).

        Raises
        ------
        AttributeError
            If the models have no importances.
        """
        check_is_fitted(self)
        if not hasattr(self.estimators_[0], "feature_importances_"):
            raise AttributeError(
                "Unable to compute feature importances since estimator does not have a "
                "feature_importances_ attribute"
            )
        votes = self.estimator_weights_[: len(self.estimators_)]
        importances = [model.feature_importances_ for model in self.estimators_]
        return votes @ np.array(importances) / votes.sum()

    def _export(self, classes, **rest):
        """Return the trees as a `harness.TreeEnsemble`; raise AttributeError for other models."""
        from harness import TreeEnsemble

        check_is_fitted(self)
        if not self._is_trees:
            raise AttributeError("ensemble_ needs models that are trees of this package")
        return TreeEnsemble.join(
            [model.tree_.common() for model in self.estimators_],
            n_features=self.n_features_in_,
            weight=self.estimator_weights_[: len(self.estimators_)],
            classes=classes,
            input_dtype="float32",
            cover_kind="weight",
            library="tree-harness",
            **rest,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        model = self._default_tree() if self.estimator is None else self.estimator
        tags.input_tags.sparse = get_tags(model).input_tags.sparse
        tags.input_tags.allow_nan = get_tags(model).input_tags.allow_nan
        return tags


def as_float32_rows(X):
    """Return X as C-contiguous float32; raise the same errors as scikit-learn."""
    return check_array(
        X.toarray() if issparse(X) else X,
        dtype=np.float32,
        order="C",
        ensure_all_finite="allow-nan",
    )
