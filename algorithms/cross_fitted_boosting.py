"""Cross-fitted histogram boosting: defaults that are meant to be left alone.

    F = 1/T · (F₀ + 1/K Σ_k Σ_m η · tree_km)

Member k of K is a histogram booster (`algorithms/gbdt`) trained on all rows but fold k. It stops
when its loss on fold k stops improving. All members share the bins. Categorical columns get extra
columns of target statistics (Micci-Barreca, SIGKDD Explorations 2001), computed out of fold. Every
second member also uses columns of ridge regressions (`algorithms/gbdt/ridge_columns.py`). The
temperature T of a classifier minimizes the out-of-fold log loss.

One argument, ``effort``, says how much time training may take. Everything else follows from the
data (`algorithms/gbdt/effort.py`); docs/algorithms/cross-fitted-boosting.md has the measurements.
"""

from dataclasses import asdict
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from algorithms.estimator.fit_context import fit_context
from algorithms.estimator.sample_weight import drop_unweighted
from algorithms.estimator.seeds import draw_seed
from algorithms.estimator.target_statistics import TargetStatistics
from algorithms.gbdt.cross_fitting import (
    CrossFitTrainer,
    StoppingRule,
    is_better,
    stratified_folds,
)
from algorithms.gbdt.effort import EFFORTS, effort_of_budget, make_plan
from algorithms.gbdt.feature_pairs import FeaturePairs
from algorithms.gbdt.input_table import are_ordered, find_categorical, read_table
from algorithms.gbdt.ridge_columns import RidgeColumns
from algorithms.histogram_boosting import HistogramBoostingClassifier, HistogramBoostingRegressor
from algorithms.model_io.init_model import code_labels
from algorithms.runtime.threads import AllThreads
from harness import ALL_TASKS, Accepts, Algorithm, EstimatorAdapter, hookimpl

PRIOR = 10.0  # rows that the overall mean counts as in a target statistic
MIN_CATEGORIES = 13  # fewer categories of many rows each are split well without statistics
MANY_ROWS = 200  # of a category, on average
RIDGE_PENALTY = 10.0  # rows; of the squared slopes of standardized features
MAX_RIDGE_FEATURES = 300
STATISTIC_TARGETS = 8  # classes, the most frequent ones, that have target statistics


class BaseBoosting(AllThreads, BaseEstimator):
    """Base class of the classifier and the regressor."""

    pairs_ = None  # of models that were pickled before there were pairs of features
    ridge_ = None  # likewise
    fourier_ = None  # likewise
    _n_columns = None  # likewise; of the training rows, without the extra columns

    _parameter_constraints: ClassVar = {
        "effort": [StrOptions(set(EFFORTS)), Interval(Real, 0.0, None, closed="neither")],
        "time_budget": [None, Interval(Real, 0.0, None, closed="neither")],
        "categorical_features": [StrOptions({"auto"}), "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        effort="medium",
        *,
        time_budget=None,
        categorical_features="auto",
        random_state=None,
        n_jobs=None,
    ):
        self.effort = effort
        self.time_budget = time_budget
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Train the members.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            Columns of a frame with a categorical dtype are categorical. NaN is missing.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
            Rows of weight 0 are left out. Weights are divided by their mean.

        Returns
        -------
        The fitted estimator.
        """
        ordered = are_ordered(X)
        X, y = read_table(self, X, y=y, reset=True, **self._y_checks())
        if X.shape[0] < 2:
            raise ValueError("n_samples=1: training needs at least 2 rows")
        y = self._read_y(y)
        weight = sample_weight
        if weight is not None:
            weight = _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
            weight = weight / max(weight.max(), np.finfo(np.float64).tiny)
            weight, X, y = drop_unweighted(weight, X, y)  # quotients may be 0
            weight = weight / weight.mean()  # the unit of the weights does not matter
        is_categorical = find_categorical(self, self.categorical_features, ordered)
        n_scores = self._n_scores()
        self.effort_ = self._find_effort(X.shape, n_scores)
        self.plan_ = make_plan(self.effort_, X.shape[0], n_scores)
        seed = draw_seed(self.random_state)
        fold = stratified_folds(y, self.plan_.n_folds, seed, is_classifier=self._is_classifier)
        X, is_shared = self._add_columns(X, y, weight, fold, is_categorical, seed)
        given = y, weight, fold, is_categorical, is_shared, seed
        trainer = self._trainer(X, *given)
        self.pairs_ = None
        if self.plan_.try_pairs and not sparse.issparse(X):
            trainer = self._try_pairs(trainer, X, given)
        self.model_ = trainer.model
        result = trainer.train()
        self.rounds_ = list(result.rounds)
        self.out_of_fold_loss_, self.temperature_ = result.loss, result.temperature
        return self

    def _add_columns(self, X, y, weight, fold, is_categorical, seed):
        """Add the columns of target statistics and of ridge regressions.

        Returns
        -------
        X : (n_rows, n_columns)
        is_shared : bool (n_columns,), the columns that all members use: not those of regressions
        """
        self.statistics_ = self.ridge_ = self.fourier_ = None
        self._n_columns = X.shape[1]
        if sparse.issparse(X):
            return X, np.ones(X.shape[1], bool)
        columns = self._columns_with_statistics(X, is_categorical)
        if columns:
            self.statistics_ = TargetStatistics(PRIOR)
            targets = self._targets(y, STATISTIC_TARGETS)
            X = np.hstack([X, self.statistics_.fit(X, columns, targets, weight, fold)])
        n_shared, numeric = X.shape[1], np.flatnonzero(~np.asarray(is_categorical, bool))
        if self.plan_.adds_ridge and 0 < len(numeric) <= MAX_RIDGE_FEATURES:
            given = numeric, self._targets(y, self.plan_.ridge_targets), weight, fold
            self.ridge_ = RidgeColumns(RIDGE_PENALTY)
            columns = [self.ridge_.fit(X, *given)]
            if self.plan_.n_fourier:
                self.fourier_ = RidgeColumns(RIDGE_PENALTY, self.plan_.n_fourier, seed)
                columns.append(self.fourier_.fit(X, *given))
            X = np.hstack([X, *columns])
        return X, np.arange(X.shape[1]) < n_shared

    def _trainer(self, X, y, weight, fold, is_categorical, is_shared, seed):
        """Return the trainer of the members on X with its extra columns.

        Columns of X beyond ``len(is_shared)`` are used by all members.
        """
        model = self._booster(is_categorical, seed)
        rows = model._read_and_bin(X, self._decode(y), weight)  # noqa: SLF001 - our own model
        rule = StoppingRule(self.plan_.n_folds, self.plan_.max_rounds, self.plan_.patience)
        n_others = X.shape[1] - len(is_shared)
        is_shared = np.concatenate([is_shared, np.ones(n_others, bool)])
        return CrossFitTrainer(rows, fold, rule, seed, is_shared)

    def _try_pairs(self, trainer, X, given):
        """Return the trainer whose first member has the lower loss: with pairs or without.

        Set ``pairs_`` if the pairs of features decrease the loss clearly. Then columns of small
        gains are left out if that decreases the loss clearly, too. ``given`` holds the other
        arguments of `_trainer`.
        """
        losses = trainer.train_first_member()
        is_usable = np.zeros(X.shape[1], bool)
        is_usable[: self.n_features_in_] = ~np.asarray(given[3], bool)
        pairs = FeaturePairs.of_largest(trainer.gains(), is_usable)
        if not pairs.pairs:
            return trainer
        extended = np.hstack([X, pairs.transform(X)])
        other = self._trainer(extended, *given)
        losses_with_pairs = other.train_first_member(trainer.loss_curve)
        if not is_better(losses_with_pairs, losses):
            return trainer
        other.drop_columns(losses_with_pairs)
        self.pairs_ = pairs
        return other

    def _find_effort(self, shape, n_scores):
        """Return the effort as a number."""
        if self.time_budget is not None:
            return effort_of_budget(self.time_budget, *shape, n_scores)
        return float(EFFORTS.get(self.effort, self.effort))

    def _columns_with_statistics(self, X, is_categorical):
        """Return the categorical columns that get target statistics."""
        if sparse.issparse(X):
            return []
        chosen = []
        for column in np.flatnonzero(is_categorical).tolist():
            n_categories = len(np.unique(X[:, column]))
            has_few_rows = len(X) < MANY_ROWS * n_categories
            if n_categories >= MIN_CATEGORIES or (n_categories > 2 and has_few_rows):
                chosen.append(column)
        return chosen

    def _booster(self, is_categorical, seed):
        """Return the unfitted histogram booster."""
        named = np.flatnonzero(is_categorical).tolist()
        return self._boosting(
            n_estimators=self.plan_.max_rounds,
            categorical_feature=named or "auto",
            random_state=seed,
            n_jobs=self.n_jobs,
            **self.plan_.booster_params(),
        )

    def _extended(self, X):
        """Return validated X with the columns of target statistics and of pairs of features."""
        check_is_fitted(self, "model_")
        X = read_table(self, X, reset=False)
        extra = self._extra_columns()
        if not extra:
            return X
        if self._n_columns not in (None, X.shape[1]):
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self._n_columns} features as input"
            )
        X = X.toarray() if sparse.issparse(X) else X
        return np.hstack([X, *(part.transform(X) for part in extra)])

    def _extra_columns(self):
        """Return the fitted transformers of the extra columns, in column order."""
        every = self.statistics_, self.ridge_, self.fourier_, self.pairs_
        return [part for part in every if part is not None]

    @property
    def ensemble_(self):
        """The trees, a `harness.TreeEnsemble`.

        Its features are those of X, then the target statistics, the ridge regressions, those on
        random Fourier features, and the pairs of features.
        """
        check_is_fitted(self, "model_")
        return self.model_.ensemble_

    @property
    def feature_importances_(self):
        """Sum of gains of each feature, (n_features,).

        The gains of target statistics count for their column, those of a pair half for each of its
        two features, those of a regression by the absolute values of its standardized slopes.
        """
        check_is_fitted(self, "model_")
        trees = self.model_.ensemble_
        inner = trees.left >= 0
        gains = np.bincount(trees.feature[inner], trees.gain[inner], trees.n_features)
        return self.column_shares() @ gains

    def column_shares(self):
        """Return the share of each feature of X in each column of the trees.

        Returns
        -------
        float64 (n_features, columns of the trees), whose columns sum to 1
        """
        check_is_fitted(self, "model_")
        n = self.n_features_in_
        return np.hstack([np.eye(n), *(part.shares(n) for part in self._extra_columns())])

    def describe(self):
        """Return the chosen parameters as text."""
        check_is_fitted(self, "model_")
        lines = [f"effort: {self.effort_:g} (1 is the time of 100 trees of 31 leaves)"]
        lines += [f"{name}: {value}" for name, value in asdict(self.plan_).items()]
        lines.append(f"rounds of each member: {', '.join(map(str, self.rounds_))}")
        lines.append(f"out-of-fold loss: {self.out_of_fold_loss_:.6g}")
        lines.append(f"temperature: {self.temperature_:.3f}")
        n_ridge = sum(part.slopes.shape[1] for part in (self.ridge_, self.fourier_) if part)
        lines.append(f"ridge regression columns (every second member): {n_ridge}")
        columns = [] if self.statistics_ is None else self.statistics_.columns
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        named = ", ".join(str(names[j]) for j in columns) or "none"
        lines.append(f"columns with target statistics: {named}")
        pairs = [] if self.pairs_ is None else self.pairs_.pairs
        named = ", ".join(f"{names[a]} and {names[b]}" for a, b in pairs) or "none"
        return "\n".join([*lines, f"differences and products of: {named}"])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class BoostingClassifier(ClassifierMixin, BaseBoosting):
    """Cross-fitted histogram boosting classifier.

    Parameters
    ----------
    effort : {"low", "medium", "high"} or float, default="medium"
        Time that training may take. A number is in units of LightGBM's default, 100 rounds of
        trees with 31 leaves.
    time_budget : float, default=None
        Seconds on one thread. A fixed cost model turns them into an effort, stored as ``effort_``.
        ``effort`` is then not used.
    categorical_features : "auto", list of int or str, or bool mask, default="auto"
        Categorical columns. "auto" selects the columns of a frame with a categorical dtype.
    random_state : int, RandomState or None, default=None
        Seed of folds and sampling. None means 0.
    n_jobs : int, default=None
        Number of threads. None uses all. The model does not depend on it.

    Attributes
    ----------
    classes_ : (n_classes,)
    effort_ : float
    plan_ : Plan
        Parameters that were chosen.
    rounds_ : list of int
        Rounds of each member.
    out_of_fold_loss_ : float
    temperature_ : float
    model_ : HistogramBoostingClassifier
        All members as one model.
    """

    _boosting = HistogramBoostingClassifier
    _is_classifier = True

    def _y_checks(self):
        """Return the keyword arguments of scikit-learn's check of y."""
        return {}

    def _read_y(self, y):
        """Return the class codes and store the labels."""
        self.classes_, codes = code_labels(y, None)
        self.n_classes_ = len(self.classes_)
        return codes.astype(np.int64, copy=False)

    def _decode(self, codes):
        """Return the labels of class codes."""
        return self.classes_[codes]

    def _n_scores(self):
        """Return the number of trees of a round."""
        return self.n_classes_ if self.n_classes_ > 2 else 1

    def _targets(self, codes, most):
        """Return the indicators of the most frequent classes, at most ``most``; one of two."""
        counts = np.bincount(codes, minlength=self.n_classes_)
        chosen = [1] if self.n_classes_ == 2 else np.argsort(-counts, kind="stable")[:most]
        return (codes[:, None] == np.asarray(chosen)).astype(np.float64)

    def decision_function(self, X):
        """Return the raw scores: (n_rows,) for two classes, otherwise (n_rows, n_classes)."""
        X = self._extended(X)
        return self.model_.decision_function(X)

    def predict_proba(self, X):
        """Return the class probabilities, float64 (n_rows, n_classes)."""
        X = self._extended(X)
        return self.model_.predict_proba(X)

    def predict(self, X):
        """Return the most probable label of each row; the first one in a tie."""
        proba = self.predict_proba(X)
        return self.classes_.take(proba.argmax(axis=1))


class BoostingRegressor(RegressorMixin, BaseBoosting):
    """Cross-fitted histogram boosting regressor of the squared error.

    Parameters and attributes are as in `BoostingClassifier`, without those of classes.
    """

    _boosting = HistogramBoostingRegressor
    _is_classifier = False

    def _y_checks(self):
        """Return the keyword arguments of scikit-learn's check of y."""
        return {"y_numeric": True}

    def _read_y(self, y):
        """Return y as float64."""
        return y.astype(np.float64, copy=False)

    def _decode(self, y):
        """Return y."""
        return y

    def _n_scores(self):
        """Return the number of trees of a round."""
        return 1

    def _targets(self, y, _most):
        """Return y as a column."""
        return y[:, None]

    def predict(self, X):
        """Return the predicted values, float64 (n_rows,)."""
        X = self._extended(X)
        return self.model_.predict(X)


def build(spec):
    """Return the unfitted estimator of a harness spec."""
    boosting = BoostingClassifier if spec.task.is_classification else BoostingRegressor
    model = boosting(random_state=spec.seed, n_jobs=spec.threads)
    if spec.categorical:
        model.categorical_features = list(spec.categorical)
    return model.set_params(**spec.params)


class BoostingAdapter(EstimatorAdapter):
    """Adapter that refuses to export trees that use extra columns."""

    def export_trees(self):
        """Return the estimator's ``ensemble_``."""
        if self.model._extra_columns():  # noqa: SLF001 - our own model
            name = type(self.model).__name__
            raise TypeError(
                f"{name} cannot export its trees: they use columns computed from X (target "
                "statistics, ridge regressions or pairs of features)"
            )
        return super().export_trees()


@hookimpl
def register_algorithms(register):
    """Register cross-fitted boosting with the harness."""
    register(
        Algorithm(
            "cross_fitted_boosting",
            lambda spec: BoostingAdapter(build, spec),
            ALL_TASKS,
            accepts=Accepts(missing=True, categorical=True, sparse=True),
            estimators=("algorithms.BoostingClassifier", "algorithms.BoostingRegressor"),
            libraries=("numpy", "numba", "scikit-learn"),
            paper="https://proceedings.neurips.cc/paper/2017/hash/6449f44a102fde848669bdd9eb6b76fa-Abstract.html",
            summary="cross-fitted members on shared bins, stopped out of fold",
        )
    )
