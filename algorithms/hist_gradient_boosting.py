"""Histogram gradient boosting with the names of scikit-learn's HistGradientBoosting.

The algorithm is that of `histogram_boosting`, which has LightGBM's names. With
``parity="scikit-learn"`` the trees are those of scikit-learn, bit for bit.

A round adds trees grown on the derivatives of the loss at the current scores. With early stopping
the loss or a scorer is computed after each round, on rows that are not used for training
(`sklearn_hgb/scores.py`).
"""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn._loss.loss import BaseLoss
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from algorithms.histogram_boosting import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.sklearn_hgb.base import BaseHistGradientBoosting
from algorithms.sklearn_hgb.params import CONSTRAINTS, LOSSES


class CodedClassifier(HistogramBoostingClassifier):
    """Classifier that is trained on class codes, also if y has only one class.

    ``n_codes`` is the number of classes.
    """

    n_codes = 2

    def _read_y(self, y, _labels=None):
        """Return the class codes of y, which are numbers from 0."""
        self.n_classes_ = self.n_codes
        self.classes_ = np.arange(self.n_codes)
        return y.astype(np.int64)


class HistGradientBoostingClassifier(ClassifierMixin, BaseHistGradientBoosting):
    """Histogram gradient boosting classifier with scikit-learn's parameter names and defaults.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        The loss.
    learning_rate : float, default=0.1
        Shrinkage of each tree's leaf values.
    max_iter : int, default=100
        Maximum number of rounds.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves of a tree. None means no limit.
    max_depth : int or None, default=None
        Maximum number of splits between the root and a leaf. None means no limit.
    min_samples_leaf : int, default=20
        Minimum number of rows of a leaf. Without ``parity`` the number is estimated from Σh.
    l2_regularization : float, default=0.0
        L2 regularization of leaf values.
    max_features : float, default=1.0
        Fraction of the features that each tree may use. scikit-learn draws them for each node.
    max_bins : int, default=255
        Maximum number of bins of a feature, without that of missing values.
    categorical_features : array-like of bool, int or str, "from_dtype" or None
        Categorical columns: a mask, numbers or names. "from_dtype" (the default) selects the
        columns of a frame that have a categorical dtype.
    monotonic_cst : array-like of {-1, 0, 1} or dict, default=None
        Direction of each feature's effect, by position or by name.
    interaction_cst : {"pairwise", "no_interactions"} or list of groups, default=None
        Groups of features that may occur together on the path to a leaf. Features in no group form
        a group of their own.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those of the previous call.
    early_stopping : "auto" or bool, default="auto"
        Whether training stops early. "auto" means with more than 10 000 rows.
    scoring : str, callable or None, default="loss"
        Score for early stopping. None is the score of the estimator.
    validation_fraction : int, float or None, default=0.1
        Number or fraction of rows for validation. None scores the training rows.
    n_iter_no_change : int, default=10
        Number of rounds without improvement after which training stops.
    tol : float, default=1e-7
        An improvement counts only if it is larger than this.
    verbose : int, default=0
        Whether `fit` prints a summary.
    random_state : int, RandomState or None, default=None
        Seed of validation rows, of the sample of rows for bins, and of gradient rounding.
    class_weight : dict or "balanced", default=None
        Weight of each class. It is multiplied with the sample weights.
    parity : {"scikit-learn"}, default=None
        "scikit-learn" gives scikit-learn's trees, bit for bit. This mode uses one thread and has
        no constraints and no ``max_features``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Number of rounds.
    n_trees_per_iteration_ : int
        Number of trees of a round.
    do_early_stopping_ : bool
        Whether early stopping was used.
    train_score_, validation_score_ : ndarray
        Scores before the first round and after each round. Empty without early stopping.
    is_categorical_ : ndarray of bool or None
        Whether each feature is categorical; None if no feature is.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.
    ensemble_ : harness.TreeEnsemble
        The fitted trees. Categories are numbered in ascending order.
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "loss": [StrOptions({"log_loss"}), BaseLoss],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss="log_loss",
        *,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        class_weight=None,
        parity=None,
    ):
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight
        self.parity = parity

    def _encode_y(self, y):
        check_classification_targets(y)
        self._label_encoder = LabelEncoder()
        codes = self._label_encoder.fit_transform(y)
        self.classes_ = self._label_encoder.classes_
        n_classes = len(self.classes_)
        self.n_trees_per_iteration_ = 1 if n_classes <= 2 else n_classes
        return codes.astype(np.float64)

    def _encode_validation_y(self, y):
        return self._label_encoder.transform(y).astype(np.float64)

    def _weigh_classes(self, y, weight):
        if self.class_weight is None:
            return weight
        by_class = compute_sample_weight(self.class_weight, self.classes_[y.astype(int)])
        return by_class if weight is None else weight * by_class

    def _make_model(self, options):
        model = CodedClassifier(**options)
        model.n_codes = max(len(self.classes_), 2)
        return model

    def predict(self, X):
        """Return the most probable label of each row."""
        return self._choose_labels(self._raw_predict(X))

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for raw in self._staged_raw_predict(X):
            yield self._choose_labels(raw)

    def predict_proba(self, X):
        """Return the class probabilities, float64 (n_rows, n_classes)."""
        raw = np.asfortranarray(self._raw_predict(X))
        return self._loss.predict_proba(raw)

    def staged_predict_proba(self, X):
        """Yield `predict_proba` after each round."""
        for raw in self._staged_raw_predict(X):
            yield self._loss.predict_proba(np.asfortranarray(raw))

    def decision_function(self, X):
        """Return the raw scores: (n_rows,) for two classes, otherwise (n_rows, n_classes)."""
        raw = self._raw_predict(X)
        return raw.ravel() if raw.shape[1] == 1 else raw

    def staged_decision_function(self, X):
        """Yield `decision_function` after each round."""
        for raw in self._staged_raw_predict(X):
            yield raw.ravel() if raw.shape[1] == 1 else raw

    def _choose_labels(self, raw):
        """Return the labels with the highest raw scores; the first one in a tie."""
        codes = (raw.ravel() > 0).astype(int) if raw.shape[1] == 1 else raw.argmax(axis=1)
        return self.classes_[codes]


class HistGradientBoostingRegressor(RegressorMixin, BaseHistGradientBoosting):
    """Histogram gradient boosting regressor with scikit-learn's parameter names and defaults.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "gamma", "poisson", "quantile"}
        The loss, "squared_error" by default. "gamma" needs y > 0 and "poisson" y >= 0.
    quantile : float, default=None
        The quantile of loss="quantile", between 0 and 1.
    learning_rate : float, default=0.1
        Shrinkage of each tree's leaf values.
    max_iter : int, default=100
        Maximum number of rounds.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves of a tree. None means no limit.
    max_depth : int or None, default=None
        Maximum number of splits between the root and a leaf. None means no limit.
    min_samples_leaf : int, default=20
        Minimum number of rows of a leaf. Without ``parity`` the number is estimated from Σh.
    l2_regularization : float, default=0.0
        L2 regularization of leaf values.
    max_features : float, default=1.0
        Fraction of the features that each tree may use. scikit-learn draws them for each node.
    max_bins : int, default=255
        Maximum number of bins of a feature, without that of missing values.
    categorical_features : array-like of bool, int or str, "from_dtype" or None
        Categorical columns: a mask, numbers or names. "from_dtype" (the default) selects the
        columns of a frame that have a categorical dtype.
    monotonic_cst : array-like of {-1, 0, 1} or dict, default=None
        Direction of each feature's effect, by position or by name.
    interaction_cst : {"pairwise", "no_interactions"} or list of groups, default=None
        Groups of features that may occur together on the path to a leaf. Features in no group form
        a group of their own.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those of the previous call.
    early_stopping : "auto" or bool, default="auto"
        Whether training stops early. "auto" means with more than 10 000 rows.
    scoring : str, callable or None, default="loss"
        Score for early stopping. None is the score of the estimator.
    validation_fraction : int, float or None, default=0.1
        Number or fraction of rows for validation. None scores the training rows.
    n_iter_no_change : int, default=10
        Number of rounds without improvement after which training stops.
    tol : float, default=1e-7
        An improvement counts only if it is larger than this.
    verbose : int, default=0
        Whether `fit` prints a summary.
    random_state : int, RandomState or None, default=None
        Seed of validation rows, of the sample of rows for bins, and of gradient rounding.
    parity : {"scikit-learn"}, default=None
        "scikit-learn" gives scikit-learn's trees, bit for bit. This mode uses one thread and has
        no constraints and no ``max_features``.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds.
    n_trees_per_iteration_ : int
        Number of trees of a round.
    do_early_stopping_ : bool
        Whether early stopping was used.
    train_score_, validation_score_ : ndarray
        Scores before the first round and after each round. Empty without early stopping.
    is_categorical_ : ndarray of bool or None
        Whether each feature is categorical; None if no feature is.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.
    ensemble_ : harness.TreeEnsemble
        The fitted trees. Categories are numbered in ascending order.
    """

    _parameter_constraints: ClassVar = {
        **CONSTRAINTS,
        "loss": [StrOptions(set(LOSSES)), BaseLoss],
        "quantile": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(
        self,
        loss="squared_error",
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        parity=None,
    ):
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.parity = parity

    def _encode_y(self, y):
        self.n_trees_per_iteration_ = 1
        y = y.astype(np.float64, copy=False)
        if self.loss == "gamma" and not np.all(y > 0):
            raise ValueError("loss='gamma' requires strictly positive y.")
        if self.loss == "poisson" and not (np.all(y >= 0) and np.sum(y) > 0):
            raise ValueError("loss='poisson' requires non-negative y and sum(y) > 0.")
        return y

    def _encode_validation_y(self, y):
        return self._encode_y(y)

    def _make_model(self, options):
        return HistogramBoostingRegressor(**options)

    def predict(self, X):
        """Return the predicted values, float64 (n_rows,)."""
        raw = self._raw_predict(X).ravel()
        return self._loss.link.inverse(raw)

    def staged_predict(self, X):
        """Yield `predict` after each round."""
        for raw in self._staged_raw_predict(X):
            yield self._loss.link.inverse(raw.ravel())
